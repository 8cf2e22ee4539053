// A reference model of the engine: the requirements written a second time, over plain arrays.
//
// It uses the engine's words (enums and argument structs) and none of its functions. Each call
// takes what the engine's call takes, answers the code the engine must answer, and, when that is
// PAWL_OK, changes the model as the engine must change the store. What the engine is free to choose
// (ids, the dice of a delay) is told to the model afterwards.
#pragma once

#include "engine/batch.h"
#include "engine/event.h"
#include "engine/execution.h"
#include "engine/job.h"
#include "engine/step.h"
#include "engine/sweep.h"

enum { REF_JOBS_FULL = 184,  // no more are asked for then
       REF_BATCHES_MAX = 16,
       REF_JOBS_MAX = REF_JOBS_FULL + REF_BATCHES_MAX + 8,
       REF_EXECUTIONS_MAX = 1024,
       REF_STEPS = 2,
       REF_PAUSES_MAX = 16 };

// Rules the model can be told to get wrong, to show that the comparison would notice.
enum ref_flaw {
    FLAW_NONE,
    FLAW_ATTEMPT_COUNTED_AT_FAILURE,  // not at the claim
    FLAW_FENCE_IGNORES_ATTEMPT,
    FLAW_SWEEP_ABORTS_COMMITTED,
    FLAW_RELEASE_COUNTS_AS_RETRY,
    FLAW_RETRYING_HOLDS_SERIAL_KEY,
    FLAW_REPEATED_COMMIT_REFUSED,
    FLAWS
};

// A wait until a moment that dice decide: somewhere between the two.
struct ref_span {
    pawl_time min, max;
};

enum ref_where { REF_HELD,
                 REF_DELAYED,
                 REF_QUEUED,
                 REF_LEASED,
                 REF_BACKOFF,
                 REF_ENDED };

struct ref_step {
    bool done;
    struct str result;
    int64_t attempt, tries;
};

struct ref_job {
    struct id id;
    struct contract contract;  // as enqueued
    struct str stem;           // its key without the number a retry adds ...
    int64_t number;            // ... and that number
    bool holds_key;
    struct str queue;
    int64_t priority;
    enum ref_where where;
    struct ref_span due;   // REF_HELD, REF_DELAYED, REF_BACKOFF
    pawl_time run_at;      // not before, by its contract or a change
    pawl_time wait_until;  // 0: no limit, or its time has come
    pawl_time created_at, started_at, completed_at, cancel_requested_at;
    int64_t attempt, attempts_used, retry_count, crashes;
    enum job_state outcome;  // REF_ENDED
    enum failure_type failure_type;
    struct str dead_letter, result, last_error;
    enum error_class error_class;
    struct ref_step steps[REF_STEPS];
    int64_t pending;  // jobs it waits for that have not succeeded ...
    bool doomed;      // ... and one of them will not: it fails when it is submitted
    size_t batch;     // that it is in, counted from 1; 0: none
    bool untold;      // it has ended, and those that wait for it do not know yet
    size_t events[EVENTS];
};

struct ref_execution {
    struct id id;
    size_t job;
    int64_t attempt;
    enum execution_status status;
    struct str owner_org;  // of the caller that leased it; empty: Pawl itself
    struct worker owner;
    int64_t lease_us;
    pawl_time lease_expires_at, deadline_at;
    bool cancel_requested;
    enum end_reason end_reason;
    enum error_class error_class;
    int64_t percent;
    bool finish;
    bool free;                  // its commit phase waits for a worker ...
    struct ref_span finish_at;  // ... from then on
    int64_t finish_failures;
};

// An org's share of a queue, or of nobody in particular: all of it.
struct ref_pause {
    struct str queue, org;
};

struct ref_batch {
    struct id id;
    struct str org, key, content;
    bool has_callback;
    struct contract callback;
    int64_t jobs, succeeded, failed, timed_out;
    bool making;          // its first jobs are being stored: it cannot end yet
    bool ended;
    size_t callback_job;  // when it has ended and has one
};

struct reference {
    pawl_time now;   // the store's; set before each call
    struct str org;  // the caller's; empty: Pawl itself
    struct arena *arena;
    enum ref_flaw flaw;
    struct ref_job jobs[REF_JOBS_MAX];  // in the order of their creation
    size_t job_count;
    struct ref_execution executions[REF_EXECUTIONS_MAX];
    size_t execution_count;
    struct ref_pause pauses[REF_PAUSES_MAX];
    size_t pause_count;
    struct ref_batch batches[REF_BATCHES_MAX];
    size_t batch_count;
    size_t making;  // the batch, counted from 1, whose jobs are being stored; 0: none
    bool telling;  // jobs are being told of ends
};

void reference_copy(struct reference *to, const struct reference *from);

enum job_phase ref_phase(const struct reference *r, const struct ref_job *job);
enum job_state ref_state(const struct reference *r, const struct ref_job *job);
struct ref_execution *ref_newest(struct reference *r, size_t job);  // NULL: never leased
// When there will be something to sweep or to finish, with `finishes` also what could be finished
// now; 0: never again.
pawl_time ref_next(const struct reference *r, bool finishes);

// A new job is the last of `jobs`; a deduplicated one is at `*found`.
enum pawl_code ref_enqueue(struct reference *r, const struct contract *contract, size_t *found,
                           bool *deduplicated);
// A new batch is the last of `batches` and waits for its id; one that is `known` is at `*found`.
enum pawl_code ref_batch(struct reference *r, const struct batch_request *request, size_t *found,
                         bool *known);
size_t ref_callbacks_due(const struct reference *r);  // jobs that will be made by ends
bool ref_full(const struct reference *r);             // no other job may be asked for
enum pawl_code ref_submit(struct reference *r, struct id id);
enum pawl_code ref_cancel(struct reference *r, struct id id);
enum pawl_code ref_finish_end(struct reference *r, struct id id);
enum pawl_code ref_change(struct reference *r, struct id id, const struct job_change *change);
enum pawl_code ref_retry(struct reference *r, struct id id);

enum pawl_code ref_replay(struct reference *r, struct id id);
enum pawl_code ref_discard(struct reference *r, struct id id);
enum pawl_code ref_pause(struct reference *r, struct str queue);
enum pawl_code ref_resume(struct reference *r, struct str queue);
bool ref_paused(const struct reference *r, struct str queue, struct str org);
enum pawl_code ref_purge(struct reference *r, struct str queue, size_t *ended);

// The job of a slot. False: the slot was claimed before.
bool ref_slot(struct reference *r, const struct contract *contract);
bool ref_has_slot(const struct reference *r, pawl_time slot);

// Answers indexes of executions, at most `claim->limit`; new ones wait for their ids.
enum pawl_code ref_claim(struct reference *r, const struct claim *claim, size_t *taken,
                         size_t *count);
enum pawl_code ref_start(struct reference *r, const struct lease *lease);
enum pawl_code ref_heartbeat(struct reference *r, const struct lease *lease,
                             const struct progress *progress, bool renew);
enum pawl_code ref_step_get(struct reference *r, const struct lease *lease);
enum pawl_code ref_step_put(struct reference *r, const struct lease *lease, size_t step,
                            struct str result);
enum pawl_code ref_step_fail(struct reference *r, const struct lease *lease, size_t step);
// `apply` is what the commit's own SQL answers.
enum pawl_code ref_commit(struct reference *r, const struct lease *lease,
                          const struct commit *commit, enum pawl_code apply);
enum pawl_code ref_done(struct reference *r, const struct lease *lease);
enum pawl_code ref_fail(struct reference *r, const struct lease *lease,
                        const struct work_error *error);
enum pawl_code ref_release(struct reference *r, const struct lease *lease);

struct swept ref_sweep(struct reference *r, size_t limit);
struct recovered ref_recover(struct reference *r, const struct instance *instance, size_t limit);

// ----- shared by the model's two halves

bool ref_ready(const struct reference *r, const struct ref_job *job);
void ref_end_job(struct reference *r, struct ref_job *job, enum job_state state,
                 enum failure_type type);
