// A schedule: jobs that come by the clock. What it says, checked whole before anything is stored.
//
// The three terms of SLOT-7 have no default: whoever makes a schedule says what happens when a slot
// is late, when several are due, and when the last one still runs.
#pragma once

#include "model/contract.h"
#include "model/timetable.h"

enum schedule_limits {
    SCHEDULE_NAME_BYTES_MAX = 128,
    INSTANCES_MAX = 1000,
    CATCH_UP_DEFAULT = 10,
    CATCH_UP_MAX = 100,
};

#define GRACE_US_MIN SECONDS(1)
#define GRACE_US_MAX DAYS(366)
#define RUNTIME_US_MIN SECONDS(1)
#define RUNTIME_US_MAX DAYS(15)  // a run is stale after twice this
#define JITTER_US_MAX HOURS(24)

// Zero and empty mean "not said".
struct schedule {
    struct str name;
    struct str job_type;
    struct str payload;        // a JSON object as text
    struct str cron;           // or ...
    int64_t every_us;          // ... every so often
    struct str timezone;       // of cron; UTC when it is not said
    bool coalesce_said, coalesce;
    int64_t misfire_grace_us;
    int64_t max_instances;
    int64_t expected_us;       // expected_max_runtime
    int64_t catch_up;          // slots made up for at once when `coalesce` is off
    int64_t jitter_us;         // by which those are spread
    struct str project_id;
    struct str queue;          // as the policy says when it is not said
    struct policy policy;      // `scheduled` or another, made to fit by schedule_policy
};

// A schedule's jobs end with their slot: the timeout is twice the expected runtime, and they are
// marked as a slot's.
struct policy schedule_policy(const struct policy *base, int64_t expected_us);

// Adds a problem for each term that is missing or out of bounds, with `prefix` before its field.
// The zone is only a name here: whether there is one is found when it is read.
void schedule_check(const struct schedule *schedule, const char *prefix,
                    struct problems *problems);

// Whether two schedules say the same.
bool schedule_eq(const struct schedule *a, const struct schedule *b);

// The statuses of a slot that was claimed, and the reasons of one that was not run.
enum run_status { RUN_RUNNING, RUN_SUCCESS, RUN_FAILED, RUN_SKIPPED_TIMEOUT, RUN_STATUSES };
enum skip_reason {
    SKIP_MISFIRE,        // found later than misfire_grace_time
    SKIP_COALESCED,      // a later one was due as well
    SKIP_MAX_INSTANCES,  // as many as may be still ran
    SKIP_PAUSED,
    SKIP_CATCH_UP_LIMIT, // more were due than are made up for
    SKIP_REASONS
};
const char *run_status_name(enum run_status status);
bool run_status_parse(struct str name, enum run_status *status);
const char *skip_reason_name(enum skip_reason reason);
bool skip_reason_parse(struct str name, enum skip_reason *reason);

// ----- which of the due slots run (SLOT-7)

struct due {
    const struct schedule *schedule;
    bool paused;
    int64_t instances;  // that run now
    pawl_time now;
};

// What becomes of the slots that are due, oldest first, as APScheduler 3 has it: with coalesce the
// last one counts; when max_instances run already none does; one that is found too late does not.
// Fills `verdicts`, one of enum skip_reason or SLOT_RUNS each.
enum { SLOT_RUNS = SKIP_REASONS };
void due_judge(const struct due *due, const pawl_time *slots, size_t count, int *verdicts);
