// Operations on jobs. Each is one function over a transaction it neither begins nor ends: it loads,
// decides, writes and records its audit events. A refusal changes nothing.
#pragma once

#include "engine/event.h"
#include "model/job.h"
#include "store/db.h"

struct subject job_subject(const struct job *job);  // of its audit events

// The job of this id, in the org and the projects of the transaction's caller: another's is not
// found.
CHECKED bool job_load(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// The same, but damage is reported instead of refused: `problem` is NULL, or what is wrong with the
// records, and then the job's state and what follows from it mean nothing.
CHECKED bool job_look(struct tx *tx, struct id id, struct job *job, const char **problem,
                      struct pawl_error *err);

// The job of this row key, in any org: for the engine's own use.
CHECKED bool job_load_row(struct tx *tx, int64_t high, struct job *job, struct pawl_error *err);

// The job of a row in `ready`, cheaper when it never ran: for the claim. job_read_new reads one
// that never ran from the columns of job_load_new.
struct waiting;
struct loaded;
CHECKED bool job_read_new(struct tx *tx, struct rows *rows, const struct waiting *place,
                          struct loaded *loaded, struct pawl_error *err);
CHECKED bool job_load_ready(struct tx *tx, const struct waiting *place, struct job *job,
                            struct pawl_error *err);

// The job of this row key, in any org, and what is wrong with its records: for verify.
CHECKED bool job_examine(struct tx *tx, int64_t high, struct job *job, const char **problem,
                         struct pawl_error *err);

// The number of the caller's org; 0 for Pawl itself, which works for every org; -1 for an org that
// has no rows yet and so finds nothing.
CHECKED bool caller_org(struct tx *tx, int64_t *org, struct pawl_error *err);

// Hides what is not of the caller's org from a transaction that reads: see tx_wall.
CHECKED bool caller_wall(struct tx *tx, struct pawl_error *err);

// Whether the transaction's caller is limited to projects; nobody, who is Pawl itself, is not.
bool caller_limited(const struct tx *tx);

// Whether the transaction's caller, which may be limited to projects, sees the job of this row key.
CHECKED bool caller_sees_job(struct tx *tx, int64_t job, bool *sees, struct pawl_error *err);

// The projects the caller is limited to, as statements take them: one text, or NONE for all.
struct value caller_projects(struct tx *tx);

// Stores a job and submits it, unless the contract says `hold`. A known idempotency key with the
// same content gives the job that has it, `deduplicated`; with other content PAWL_KEY_REUSED.
CHECKED bool job_enqueue(struct tx *tx, const struct contract *contract, struct job *job,
                         bool *deduplicated, struct pawl_error *err);

// CREATED -> QUEUED (JOB-9). Refuses any other state.
CHECKED bool job_submit(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// Ends a job that waits; asks a running one to stop. `job->state` says which it was: FAILED when it
// ended, RUNNING when it was asked. PAWL_TERMINAL and PAWL_ALREADY_COMMITTED when it is too late.
CHECKED bool job_cancel(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// Moves a job that waits. What is not set stays as it is.
struct job_change {
    bool has_run_at, has_priority, has_queue;
    pawl_time run_at;
    int64_t priority;
    struct str queue;
};
// Every value that no job may have.
void job_change_check(const struct job_change *change, pawl_time now, struct problems *problems);
CHECKED bool job_change(struct tx *tx, struct id id, const struct job_change *change,
                        struct job *job, struct pawl_error *err);

// Makes a new job from a finished one: same contract, key `<key>#<n>`, linked to its parent.
CHECKED bool job_retry(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// The same for any way to make one, and without a look at the old job's state or dead letter.
struct remake {
    struct str origin;   // see struct contract
    struct str payload;  // instead of its own; empty: the same. Checked by the caller
};
CHECKED bool job_remake(struct tx *tx, const struct job *old, const struct remake *how,
                        struct job *job, struct pawl_error *err);

// Why a job that waited was ended, as its outcome has it.
#define ENDED_CANCELLED S("cancelled before it started")
#define ENDED_PURGED S("its queue was purged by an operator")
#define ENDED_MAX_WAIT S("it waited longer than its max_wait")
#define ENDED_STALE S("its slot went stale before it began")
#define ENDED_INPUT_GONE S("its input artifact")  // ... which is told
#define ENDED_INVALID S("validation: ")           // of one that came in SQL, and what is wrong

// Ends a job that never ran or waits: leaves its place, writes the outcome, records the event.
CHECKED bool job_end_waiting(struct tx *tx, struct job *job, enum failure_type why,
                             struct str message, struct pawl_error *err);

// RETRYING -> QUEUED when the delay is over; a delayed job becomes ready. For the sweep.
CHECKED bool job_due(struct tx *tx, int64_t high, struct pawl_error *err);

struct job_filter {
    bool has_state;
    enum job_state state;
    struct str queue, job_type, serial_key, correlation_id, project_id;  // empty: any
    struct id batch;  // {0}: any
    int64_t limit;
    int64_t before;  // row key to go on from; 0: the newest
};

struct job_list {
    struct job *jobs;
    size_t count;
    size_t damaged;  // left out, because their records contradict each other: see verify
    int64_t next;    // `before` of the next page; 0: that was all
};

// The newest jobs first. Looks at a bounded number of rows and keeps a bounded number of bytes: a
// page may be short and still have a next one.
CHECKED bool job_find(struct tx *tx, const struct job_filter *filter, struct job_list *list,
                      struct pawl_error *err);
