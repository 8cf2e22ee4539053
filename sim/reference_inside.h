// What the files of the reference model share with each other and with nobody else.
#pragma once

#include "reference.h"

static inline struct ref_job *job_of(struct reference *r, const struct ref_execution *e)
{
    return &r->jobs[e->job];
}

static inline void tell(struct ref_job *job, enum event event)
{
    job->events[event]++;
}

static inline pawl_time max_of(pawl_time a, pawl_time b)
{
    return a > b ? a : b;
}

static inline pawl_time min_of(pawl_time a, pawl_time b)
{
    return a < b ? a : b;
}

static inline bool live(const struct ref_execution *e)
{
    return e->status == EXECUTION_LEASED || e->status == EXECUTION_IN_PROGRESS
        || e->status == EXECUTION_COMMITTED;
}

static inline bool past_commit(const struct ref_execution *e)
{
    return e->status == EXECUTION_COMMITTED || e->status == EXECUTION_DONE;
}

// COMMITTED -> DONE, and the job has succeeded.
void ref_succeed(struct reference *r, struct ref_execution *e);

// Ends an execution that did not commit; the verdict decides about its job.
void ref_abort(struct reference *r, struct ref_execution *e, enum end_reason reason,
               const struct work_error *error);

// Its worker is gone: what was committed is finished, or waits for somebody to finish it.
void ref_reconcile(struct reference *r, struct ref_execution *e);

// A job has ended: those that wait for it go on, or end with it.
void ref_tell(struct reference *r, struct ref_job *ended);
void ref_doom(struct reference *r, struct ref_job *job);

// A job that nothing speaks against.
struct ref_job *ref_add_job(struct reference *r, const struct contract *contract);

struct ref_batch *ref_batch_of(struct reference *r, struct str org, struct id id);
void ref_member_ended(struct reference *r, const struct ref_job *job);

// What the contract's `after` comes to. False: it names a job that there is not.
bool ref_link(const struct reference *r, const struct contract *c, int64_t *pending, bool *doomed);
