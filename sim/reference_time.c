// What time and a new boot do to jobs and executions in the model.
#include "reference_inside.h"

enum chore { EXPIRE,
             GIVE_UP,
             BECOME_DUE };

// When this chore is to be done for the job or, with EXPIRE, the execution of this index; 0: never.
static pawl_time moment(const struct reference *r, enum chore chore, size_t index)
{
    const struct ref_execution *e = &r->executions[index];
    const struct ref_job *job = &r->jobs[index];
    bool waits = job->where == REF_DELAYED || job->where == REF_BACKOFF;
    if (chore == EXPIRE)
        return live(e) && !e->free ? e->lease_expires_at : 0;
    return chore == GIVE_UP ? job->wait_until : waits ? job->due.min
                                                      : 0;
}

static void expire(struct reference *r, struct ref_execution *e, struct swept *swept)
{
    bool late = e->status == EXECUTION_IN_PROGRESS && e->lease_expires_at >= e->deadline_at;
    if (past_commit(e) && r->flaw != FLAW_SWEEP_ABORTS_COMMITTED) {
        swept->finished++;
        ref_reconcile(r, e);
        return;
    }
    *(late ? &swept->timed_out : &swept->expired) += 1;
    struct work_error timeout = { .class = ERROR_TIMEOUT,
                                  .message = S("the run passed its deadline") };
    struct work_error crash = { .class = ERROR_CRASH, .message = S("its worker fell silent") };
    ref_abort(r, e, late ? END_TIMEOUT : END_LEASE_EXPIRED, late ? &timeout : &crash);
}

static void act(struct reference *r, enum chore chore, size_t index, struct swept *swept)
{
    struct ref_job *job = &r->jobs[index];
    if (chore == EXPIRE) {
        expire(r, &r->executions[index], swept);
        return;
    }
    if (chore == BECOME_DUE) {
        swept->due++;
        if (job->where == REF_BACKOFF)
            tell(job, EVENT_JOB_ENQUEUED);
        job->where = REF_QUEUED;
        return;
    }
    job->wait_until = 0;
    if (job->attempt > 0 || (job->where != REF_DELAYED && job->where != REF_QUEUED))
        return;
    swept->gave_up++;
    job->last_error = S("it waited longer than its max_wait");
    ref_end_job(r, job, JOB_FAILED, FAILURE_RESOURCE_EXHAUSTED);
}

// The longest overdue of a kind, the oldest of these; false when nothing is.
static bool overdue(const struct reference *r, enum chore chore, size_t *index)
{
    size_t count = chore == EXPIRE ? r->execution_count : r->job_count;
    pawl_time first = r->now + 1;
    for (size_t i = 0; i < count; i++) {
        pawl_time at = moment(r, chore, i);
        if (at && at < first) {
            first = at;
            *index = i;
        }
    }
    return first <= r->now;
}

struct swept ref_sweep(struct reference *r, size_t limit)
{
    struct swept swept = {0};
    for (enum chore chore = EXPIRE; chore <= BECOME_DUE; chore++) {
        size_t count = 0, index = 0;
        for (; count < limit && overdue(r, chore, &index); count++)
            act(r, chore, index, &swept);
        swept.more = swept.more || count == limit;
    }
    return swept;
}

// A dead boot of the same instance: another name of the boot, the same of the instance.
static bool orphaned(const struct ref_execution *e, const struct instance *instance)
{
    return live(e) && !e->free && str_eq(e->owner.instance, instance->name)
        && !str_eq(e->owner.boot_id, instance->boot_id);
}

static struct ref_execution *oldest_orphan(struct reference *r, const struct instance *instance)
{
    struct ref_execution *oldest = NULL;
    for (struct ref_execution *e = r->executions; e < r->executions + r->execution_count; e++)
        if (orphaned(e, instance) && (!oldest || e->job < oldest->job))
            oldest = e;
    return oldest;
}

struct recovered ref_recover(struct reference *r, const struct instance *instance, size_t limit)
{
    struct recovered recovered = {0};
    struct ref_execution *e;
    size_t count = 0;
    for (; count < limit && (e = oldest_orphan(r, instance)); count++) {
        if (past_commit(e)) {
            recovered.finished++;
            ref_reconcile(r, e);
            continue;
        }
        recovered.ended++;
        ref_abort(r, e, END_PROCESS_TERMINATED,
                  &(struct work_error){ .class = ERROR_CRASH,
                                        .message = S("its process was terminated") });
    }
    recovered.more = count == limit;
    return recovered;
}
