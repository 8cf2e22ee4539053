// Schedules: what is defined, paused and shown. The slots they make are in slot.h.
//
// A caller of an org sees and changes its org's schedules; a caller that is limited to projects
// those of its projects. A schedule that was removed keeps its history, and its name can be
// used again.
#pragma once

#include "base/json.h"
#include "engine/event.h"
#include "model/schedule.h"

// Who defined it: a start or a reload takes away what the configuration does not have any more,
// and nothing else.
enum schedule_source { SCHEDULE_FROM_API,
                       SCHEDULE_FROM_CONFIG,
                       SCHEDULE_FROM_PROGRAM,
                       SCHEDULE_SOURCES };
const char *schedule_source_name(enum schedule_source source);

struct schedule_view {
    struct schedule schedule;
    int64_t id, org;
    struct str org_id;
    enum schedule_source source;
    pawl_time created_at, updated_at;
    pawl_time paused_at;        // 0: it is not
    struct str paused_by;
    pawl_time removed_at;       // 0: it is there
    pawl_time considered_to;    // slots up to here have been run or skipped
    pawl_time next_at;          // the next slot; 0: there is none
    int64_t running;            // claimed slots that have not ended ...
    int64_t instances;          // ... whose time has come; those claimed together count once
    int64_t ahead;              // claimed by hand for a time that has not come
    bool org_disabled;          // then nothing of it runs
};

enum schedule_put { SCHEDULE_MADE, SCHEDULE_CHANGED, SCHEDULE_UNCHANGED };

// Makes a schedule, or changes the one of this name. Slots that were due by the old terms are dealt
// with by the old terms; the new ones count from now: none is lost and none comes twice. Checks
// everything, the time zone included. PAWL_CONFLICT for a schedule of another source, unless it was
// removed.
CHECKED bool schedule_put(struct tx *tx, const struct schedule *schedule,
                          enum schedule_source source, enum schedule_put *what,
                          struct pawl_error *err);

// PAWL_CONFLICT for one of another source: it would come back.
CHECKED bool schedule_remove(struct tx *tx, struct str name, enum schedule_source source,
                             struct pawl_error *err);

// Removes what came from this source and is not among these, of every org.
CHECKED bool schedules_keep_only(struct tx *tx, enum schedule_source source, const int64_t *ids,
                                 size_t count, size_t *removed, struct pawl_error *err);

// Slots that come while it is paused are skipped for that reason. Doing it twice is doing it once.
CHECKED bool schedule_pause(struct tx *tx, struct str name, struct pawl_error *err);
CHECKED bool schedule_resume(struct tx *tx, struct str name, struct pawl_error *err);

// The schedule of this name in the caller's org. PAWL_NOT_FOUND when there is none or it was
// removed.
CHECKED bool schedule_load(struct tx *tx, struct str name, struct schedule_view *view,
                           struct pawl_error *err);

enum { SCHEDULES_LISTED_MAX = 1000 };

struct schedule_list {
    struct schedule_view *schedules;
    size_t count;
    struct str next;  // `after` of the next page; empty: that was all
};

// By name, those after `after`.
CHECKED bool schedules_list(struct tx *tx, struct str after, size_t limit,
                            struct schedule_list *list, struct pawl_error *err);

// A slot that was claimed.
struct run_row {
    int64_t id;
    struct str job_name;
    pawl_time scheduled_for, started_at, finished_at;
    enum run_status status;
    struct str worker_instance, error_message;
    struct id job_id;
};

// One that was not run; or, after an outage, many in a row.
struct skip_row {
    int64_t id;
    struct str job_name;
    pawl_time scheduled_for;
    pawl_time until;   // the last of them
    int64_t slots;     // how many; 0: too many to count
    enum skip_reason reason;
    pawl_time recorded_at;
};

struct run_list {
    struct run_row *runs;
    size_t count;
    int64_t next;  // `before` of the next page; 0: that was all
};
struct skip_list {
    struct skip_row *skips;
    size_t count;
    int64_t next;
};

// Newest first; also of a schedule that was removed.
CHECKED bool schedule_runs(struct tx *tx, struct str name, int64_t before, size_t limit,
                           struct run_list *list, struct pawl_error *err);
CHECKED bool schedule_skips(struct tx *tx, struct str name, int64_t before, size_t limit,
                            struct skip_list *list, struct pawl_error *err);

// The coming slots after `after`: at most as many as `slots` has room for.
struct coming {
    pawl_time after;
    size_t room;
    pawl_time *slots;
    size_t count;
};
CHECKED bool schedule_next(const struct schedule *schedule, struct coming *coming,
                           struct pawl_error *err);

// When a schedule is due, with its zone read from the system's data.
CHECKED bool schedule_timetable(struct arena *arena, const struct schedule *schedule,
                                struct timetable *timetable, struct pawl_error *err);

json_t *schedule_json(struct arena *arena, const struct schedule_view *view);
json_t *run_json(struct arena *arena, const struct run_row *run);
json_t *skip_json(struct arena *arena, const struct skip_row *skip);

// ----- for the parts of it

// Removed ones too.
CHECKED bool schedule_load_any(struct tx *tx, struct str name, struct schedule_view *view,
                               struct pawl_error *err);
CHECKED bool schedule_load_row(struct tx *tx, int64_t id, struct schedule_view *view,
                               struct pawl_error *err);
