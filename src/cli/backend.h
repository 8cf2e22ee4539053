// The two ways to jobs, keys, queues and schedules: a store that is opened here, or a server that
// is asked.
//
// A command is written once. It asks the backend that was chosen for it and prints what that
// answers: the objects of the HTTP API, whoever made them. Objects that are given out belong to the
// caller.
#pragma once

#include "cli/annotate.h"
#include "cli/artifact.h"
#include "cli/batch.h"
#include "cli/command.h"
#include "cli/limits.h"
#include "engine/api_key.h"
#include "engine/job_bulk.h"
#include "engine/letter.h"
#include "engine/queue.h"
#include "server/schedule_json.h"

// Where the server is when nobody says so.
#define SERVER_DEFAULT "http://127.0.0.1:7319"

// One page of a list, newest first. Its objects are shown one by one, so that few are in memory.
struct page {
    int64_t limit;
    struct str cursor;  // where it begins; then where the next one does; empty: there is none
    size_t damaged;     // left out, because their records contradict each other
    bool (*show)(void *self, const json_t *object, struct pawl_error *err);
    void *self;
};

enum job_act { ACT_SUBMIT, ACT_CANCEL, ACT_RETRY, ACT_ERASE, JOB_ACTS };

// One piece of emptying a queue.
struct purging {
    bool dry_run;        // only say how many there are
    int64_t jobs;        // ended by this piece
    bool done;
    struct purge purge;  // where the store is with it
};

// What closes a dead letter.
struct letter_act {
    enum letter_end end;
    struct str reason;      // of a discard
    const json_t *payload;  // of a fix
    bool dry_run;           // of a fix: only say what it changes
};

enum schedule_act { SCHEDULE_SHOW, SCHEDULE_PAUSE, SCHEDULE_RESUME, SCHEDULE_ACTS };
enum schedule_rows { SCHEDULE_RUNS, SCHEDULE_SKIPS };

struct backend {
    // Stores jobs; each entry has its own answer. False: it is not known of any open entry.
    bool (*enqueue)(struct cli *cli, struct batch *batch, struct pawl_error *err);
    // Waits until the job has ended.
    bool (*wait)(struct cli *cli, struct id id, json_t **job, struct pawl_error *err);
    // The job with its executions, steps and audit.
    bool (*record)(struct cli *cli, struct id id, json_t **record, struct pawl_error *err);
    // Why it is where it is.
    bool (*explain)(struct cli *cli, struct id id, json_t **explanation, struct pawl_error *err);
    bool (*jobs)(struct cli *cli, const struct job_filter *filter, struct page *page,
                 struct pawl_error *err);
    bool (*act)(struct cli *cli, struct id id, enum job_act act, json_t **job,
                struct pawl_error *err);
    bool (*change)(struct cli *cli, struct id id, const struct job_change *change, json_t **job,
                   struct pawl_error *err);

    // One piece of changing many. The cursor is where it begins, then where the next one does.
    bool (*change_many)(struct cli *cli, struct job_bulk *bulk, struct str *cursor,
                        struct pawl_error *err);

    // A batch from an object as HTTP takes it; and how far one is.
    bool (*batch_create)(struct cli *cli, const json_t *object, json_t **batch,
                         struct pawl_error *err);
    bool (*batch)(struct cli *cli, struct id id, json_t **batch, struct pawl_error *err);

    // The key's text is in the answer, and nowhere else.
    bool (*key_create)(struct cli *cli, struct key_request *request, json_t **key,
                       struct pawl_error *err);
    bool (*keys)(struct cli *cli, struct page *page, struct pawl_error *err);
    bool (*key_revoke)(struct cli *cli, struct str key_id, json_t **key, struct pawl_error *err);

    bool (*queues)(struct cli *cli, json_t **list, struct pawl_error *err);
    bool (*queue_pause)(struct cli *cli, struct str queue, bool paused, struct pawl_error *err);
    bool (*queue_purge)(struct cli *cli, struct str queue, struct purging *purging,
                        struct pawl_error *err);

    bool (*limits)(struct cli *cli, json_t **limits, struct pawl_error *err);
    bool (*type_resume)(struct cli *cli, struct str job_type, struct pawl_error *err);

    bool (*letters)(struct cli *cli, const struct letter_filter *filter, struct page *page,
                    struct pawl_error *err);
    bool (*letter_groups)(struct cli *cli, const struct letter_filter *filter, json_t **groups,
                          struct pawl_error *err);
    bool (*letter)(struct cli *cli, struct id id, json_t **letter, struct pawl_error *err);
    bool (*letter_close)(struct cli *cli, struct id id, const struct letter_act *act,
                         json_t **answer, struct pawl_error *err);
    bool (*letters_close)(struct cli *cli, struct letter_sweep *sweep, json_t **answer,
                          struct pawl_error *err);

    bool (*events)(struct cli *cli, struct event_filter *filter, struct page *page,
                   struct pawl_error *err);
    bool (*annotate)(struct cli *cli, const struct annotation *annotation, json_t **event,
                     struct pawl_error *err);

    bool (*schedules)(struct cli *cli, struct page *page, struct pawl_error *err);
    bool (*schedule)(struct cli *cli, struct str name, enum schedule_act act, json_t **schedule,
                     struct pawl_error *err);
    bool (*schedule_rows)(struct cli *cli, struct str name, enum schedule_rows rows,
                          struct page *page, struct pawl_error *err);
    bool (*schedule_next)(struct cli *cli, struct str name, const struct slot_range *range,
                          json_t **slots, struct pawl_error *err);
    bool (*schedule_trigger)(struct cli *cli, struct str name, pawl_time slot, json_t **job,
                             struct pawl_error *err);
    bool (*schedule_backfill)(struct cli *cli, struct str name, struct backfill *backfill,
                              json_t **done, struct pawl_error *err);

    bool (*artifact_put)(struct cli *cli, struct put *put, json_t **artifact,
                         struct pawl_error *err);
    bool (*artifact)(struct cli *cli, struct id id, json_t **artifact, struct pawl_error *err);
    bool (*artifact_bytes)(struct cli *cli, struct id id, struct flow *flow,
                           struct pawl_error *err);
    bool (*artifact_remove)(struct cli *cli, struct id id, json_t **artifact,
                            struct pawl_error *err);
};

// Both have a function of the same name for each but the first, so that the table is written once;
// those of annotations, artifacts and limits begin with `of`.
#define BACKEND(enqueue_jobs, of)                                                                  \
    {                                                                                              \
        .enqueue = (enqueue_jobs),                                                                 \
        .wait = wait_for_end,                                                                      \
        .record = record_of,                                                                       \
        .explain = explain_job,                                                                    \
        .jobs = list_jobs,                                                                         \
        .act = act_on_job,                                                                         \
        .change = change_job,                                                                      \
        .change_many = change_many_jobs,                                                           \
        .batch_create = create_batch,                                                              \
        .batch = load_batch,                                                                       \
        .key_create = create_key,                                                                  \
        .keys = list_keys,                                                                         \
        .key_revoke = revoke_key,                                                                  \
        .queues = list_queues,                                                                     \
        .queue_pause = pause_queue,                                                                \
        .queue_purge = purge_queue,                                                                \
        .limits = of##_limits,                                                                     \
        .type_resume = of##_type_resume,                                                           \
        .letters = list_letters,                                                                   \
        .letter_groups = group_letters,                                                            \
        .letter = record_of_letter,                                                                \
        .letter_close = close_letter,                                                              \
        .letters_close = close_letters,                                                            \
        .events = list_events,                                                                     \
        .schedules = list_schedules,                                                               \
        .schedule = act_on_schedule,                                                               \
        .schedule_rows = list_schedule_rows,                                                       \
        .schedule_next = next_of_schedule,                                                         \
        .schedule_trigger = trigger_schedule,                                                      \
        .schedule_backfill = backfill_schedule,                                                    \
        .annotate = of##_annotate,                                                                 \
        .artifact_put = of##_artifact_put,                                                         \
        .artifact = of##_artifact,                                                                 \
        .artifact_bytes = of##_artifact_bytes,                                                     \
        .artifact_remove = of##_artifact_remove,                                                   \
    }

extern const struct backend backend_store, backend_server;

// The jobs that the options name.
struct job_filter wanted_jobs(const struct cli *cli);

// Chooses by options, then by the environment; with neither, the server at the default address if
// one answers, else the default store. Nothing is opened yet.
CHECKED bool backend_choose(struct cli *cli, struct pawl_error *err);

// Says on standard error that a command which knows no server works on the store, to whoever has
// $PAWL_SERVER set and may think otherwise.
void backend_say_store(struct cli *cli);
