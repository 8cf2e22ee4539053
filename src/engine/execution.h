// Executions: claiming jobs, and everything a worker may do with what it holds.
//
// The fence: a worker names the execution, the attempt and itself, and its lease must not have
// expired by the store's clock. A worker that stalls and wakes up finds every call refused with
// PAWL_FENCED (`lease_lost`), because the check is part of the statement that writes (EXEC-3).
// Repeating one's own call with the same outcome is not an error.
#pragma once

#include "engine/artifact.h"
#include "engine/event.h"
#include "model/execution.h"
#include "model/job.h"
#include "model/weight.h"
#include "store/names.h"

// What a worker shows with every call.
struct lease {
    struct id execution;
    int64_t attempt;
    struct worker worker;
};

struct lease lease_of(const struct execution *execution, const struct worker *worker);
struct subject execution_subject(const struct execution *execution);  // of its audit events

// ----- claim

struct claim {
    struct worker worker;
    const struct str *queues;     // by weight; see model/weight.h ...
    size_t queue_count;
    bool in_order;                // ... or an earlier one is emptied first
    bool every_queue;             // all there are, by weight
    struct turns *turns;          // what its earlier claims took; NULL: it made none
    const struct str *job_types;  // none: all
    size_t job_type_count;
    size_t limit;
    int64_t lease_us;             // 0: as the job's policy says
    bool start;                   // lease and start in one step ...
    int64_t start_us_min;         // ... unless its timeout is shorter than this
    pawl_time *more_at;           // where to say when a limit that kept it from taking more opens
                                  // by itself, 0 if none does; NULL: nobody asks
};

struct claimed {
    struct execution execution;
    struct job job;
    bool finish;  // only the commit phase is left (`phase: "finish"`)
};

enum { CLAIM_MAX = 1000 };
#define LEASE_US_MIN SECONDS(1)
#define LEASE_US_MAX HOURS(1)

// Everything that is wrong with what is asked for.
void claim_check(const struct claim *claim, struct problems *problems);

// Takes up to `limit` jobs, oldest due first within a priority. The attempt is counted here: a job
// that kills its worker cannot be handed out for ever.
CHECKED bool execution_claim(struct tx *tx, const struct claim *claim, struct claimed **claimed,
                             size_t *count, struct pawl_error *err);

// ----- work

CHECKED bool execution_load(struct tx *tx, struct id id, struct execution *execution,
                            struct pawl_error *err);
CHECKED bool execution_load_row(struct tx *tx, int64_t high, struct execution *execution,
                                struct pawl_error *err);

// LEASED -> IN_PROGRESS. The run's deadline counts from here.
CHECKED bool execution_start(struct tx *tx, const struct lease *lease, struct execution *execution,
                             struct pawl_error *err);

struct progress {
    int64_t percent;  // 0 to 100
    struct str message;
};

// Everything that is wrong with it, each under its field with `prefix` before it.
void progress_check(const struct progress *progress, const char *prefix,
                    struct problems *problems);

// Extends the lease, never past the run's deadline, and reports progress when there is some. The
// execution says the new expiry and whether somebody asked for the job to stop.
CHECKED bool execution_heartbeat(struct tx *tx, const struct lease *lease,
                                 const struct progress *progress, struct execution *execution,
                                 struct pawl_error *err);

// Extends everything a worker holds, in one statement, and answers what that is: a lease it thought
// it had and that is not among them is lost.
struct holding {
    struct id execution;
    int64_t attempt;
    pawl_time leased_at;
    bool cancel_requested;
};
CHECKED bool executions_renew(struct tx *tx, const struct worker *worker,
                              struct holding **holdings, size_t *count, struct pawl_error *err);

// The same without extending.
CHECKED bool executions_held(struct tx *tx, const struct worker *worker,
                             struct holding **holdings, size_t *count, struct pawl_error *err);

CHECKED bool execution_progress(struct tx *tx, const struct lease *lease,
                                const struct progress *progress, struct execution *execution,
                                struct pawl_error *err);

// What a commit carries. Everything is stored in the transaction that marks COMMITTED, or nothing
// is.
struct commit {
    struct str result;                   // JSON; empty: none
    const struct contract *follow_ups;   // checked contracts: jobs that exist because of this one
    size_t follow_up_count;
    const struct str *annotations;       // JSON, appended to the job's audit trail
    size_t annotation_count;
    struct outputs outputs;              // artifacts that come of it
    bool (*apply)(struct tx *tx, void *self, struct pawl_error *err);  // the caller's own SQL
    void *self;
    bool finish;                         // a commit phase follows before DONE
    bool done;                           // DONE in the same transaction
    const struct execution *known;       // as the claim that started it answered; NULL: look
};

// IN_PROGRESS -> COMMITTED: the effect, exactly once (EXEC-5, EXEC-6). Repeating one's own commit
// with the same result answers the same; if it says `done` and still holds the lease, it is one.
CHECKED bool execution_commit(struct tx *tx, const struct lease *lease,
                              const struct commit *commit, struct execution *execution,
                              struct pawl_error *err);

// COMMITTED -> DONE; the job has SUCCEEDED.
CHECKED bool execution_done(struct tx *tx, const struct lease *lease, struct execution *execution,
                            struct pawl_error *err);

struct work_error {
    enum error_class class;
    struct str message;
    struct str detail;
    int64_t retry_after_us;
};

// The work failed: the verdict decides between another attempt and the end. After COMMITTED only a
// commit phase can fail, and it is tried again later.
CHECKED bool execution_fail(struct tx *tx, const struct lease *lease,
                            const struct work_error *error, struct execution *execution,
                            struct pawl_error *err);

// Gives the job back unfinished. Burns no attempt.
CHECKED bool execution_release(struct tx *tx, const struct lease *lease,
                               struct execution *execution, struct pawl_error *err);

// ----- for the sweep and the boot

// Ends an execution that did not commit and does with its job what the verdict says.
CHECKED bool execution_end(struct tx *tx, struct execution *execution, enum end_reason reason,
                           const struct work_error *error, struct pawl_error *err);

// Finishes what a dead worker had committed: DONE, or free to be leased for its commit phase.
CHECKED bool execution_reconcile(struct tx *tx, struct execution *execution,
                                 struct pawl_error *err);

// COMMITTED -> DONE without a worker, and what follows from it.
CHECKED bool execution_settle(struct tx *tx, struct execution *execution, struct pawl_error *err);

// All executions of a job, oldest first.
CHECKED bool executions_of_job(struct tx *tx, int64_t job, struct execution **executions,
                               size_t *count, struct pawl_error *err);
