// Waiting jobs carry no order and no lock: who is ready follows, each time it is asked, from the
// sentence "the oldest due job of a serial key, while none of the key is RUNNING".
#include "reference_inside.h"

#include <stdlib.h>
#include <string.h>

void reference_copy(struct reference *to, const struct reference *from)
{
    memcpy(to->jobs, from->jobs, from->job_count * sizeof *to->jobs);
    memcpy(to->executions, from->executions, from->execution_count * sizeof *to->executions);
    to->job_count = from->job_count;
    to->execution_count = from->execution_count;
    memcpy(to->pauses, from->pauses, sizeof to->pauses);
    to->pause_count = from->pause_count;
    memcpy(to->batches, from->batches, from->batch_count * sizeof *to->batches);
    to->batch_count = from->batch_count;
    to->making = from->making;
    to->telling = from->telling;
    to->now = from->now;
    to->org = from->org;
    to->arena = from->arena;
    to->flaw = from->flaw;
}

// ----- who is where

static bool same_serial_key(const struct ref_job *a, const struct ref_job *b)
{
    return a->contract.serial_key.n && str_eq(a->contract.serial_key, b->contract.serial_key)
        && str_eq(a->contract.org_id, b->contract.org_id);
}

bool ref_ready(const struct reference *r, const struct ref_job *job)
{
    for (const struct ref_job *other = r->jobs; other < r->jobs + r->job_count; other++) {
        bool retrying = r->flaw == FLAW_RETRYING_HOLDS_SERIAL_KEY && other->where == REF_BACKOFF;
        bool first = other < job && other->where == REF_QUEUED && other->pending == 0;
        if (other != job && same_serial_key(job, other)
            && (other->where == REF_LEASED || first || retrying))
            return false;
    }
    return job->where == REF_QUEUED && job->pending == 0;
}

struct ref_execution *ref_newest(struct reference *r, size_t job)
{
    struct ref_execution *newest = NULL;
    for (size_t i = 0; i < r->execution_count; i++)
        if (r->executions[i].job == job)
            newest = &r->executions[i];
    return newest;
}

enum job_phase ref_phase(const struct reference *r, const struct ref_job *job)
{
    switch (job->where) {
    case REF_HELD:
        return PHASE_HELD;
    case REF_DELAYED:
        return PHASE_DELAYED;
    case REF_QUEUED:
        return ref_ready(r, job) ? PHASE_READY : PHASE_BLOCKED;
    case REF_BACKOFF:
        return PHASE_BACKOFF;
    case REF_ENDED:
        return PHASE_ENDED;
    case REF_LEASED:
        break;
    }
    for (size_t i = r->execution_count; i > 0; i--) {
        const struct ref_execution *e = &r->executions[i - 1];
        if (&r->jobs[e->job] == job)
            return e->status == EXECUTION_LEASED      ? PHASE_LEASED
                 : e->status == EXECUTION_IN_PROGRESS ? PHASE_RUNNING
                                                      : PHASE_FINISHING;
    }
    abort();
}

enum job_state ref_state(const struct reference *r, const struct ref_job *job)
{
    switch (ref_phase(r, job)) {
    case PHASE_HELD:
        return JOB_CREATED;
    case PHASE_LEASED:
    case PHASE_RUNNING:
    case PHASE_FINISHING:
        return JOB_RUNNING;
    case PHASE_BACKOFF:
        return JOB_RETRYING;
    case PHASE_ENDED:
        return job->outcome;
    default:
        return JOB_QUEUED;
    }
}

pawl_time ref_next(const struct reference *r, bool finishes)
{
    pawl_time next = INT64_MAX;
    for (const struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++) {
        if (job->where == REF_DELAYED || job->where == REF_BACKOFF)
            next = min_of(next, job->due.max);
        if (job->wait_until)
            next = min_of(next, job->wait_until);
    }
    for (const struct ref_execution *e = r->executions; e < r->executions + r->execution_count; e++)
        if (live(e) && (finishes || !e->free || e->finish_at.max > r->now))
            next = min_of(next, e->free ? e->finish_at.max : e->lease_expires_at);
    return next == INT64_MAX ? 0 : next;
}

// ----- jobs

// Another org's job is not there.
static struct ref_job *find_job(struct reference *r, struct id id)
{
    for (struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++)
        if (job->id.high == id.high && job->id.low == id.low)
            return r->org.n == 0 || str_eq(r->org, job->contract.org_id) ? job : NULL;
    return NULL;
}

// Whoever used this key last in this org and project, forgotten or not.
static struct ref_job *holder_of(struct reference *r, const struct contract *c, struct str key)
{
    for (struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++)
        if (job->holds_key && str_eq(job->contract.idempotency_key, key)
            && str_eq(job->contract.org_id, c->org_id)
            && str_eq(job->contract.project_id, c->project_id))
            return job;
    return NULL;
}

static void enter_queue(struct reference *r, struct ref_job *job)
{
    job->where = job->due.min > r->now ? REF_DELAYED : REF_QUEUED;
    if (job->contract.max_wait_us)
        job->wait_until = max_of(job->due.min, r->now) + job->contract.max_wait_us;
    tell(job, EVENT_JOB_ENQUEUED);
    if (job->doomed)
        ref_doom(r, job);
}

// In the batch that it names, or in the one that is being made.
static void join(struct reference *r, struct ref_job *job)
{
    const struct contract *c = &job->contract;
    struct ref_batch *b = r->making     ? &r->batches[r->making - 1]
                        : c->batch.high ? ref_batch_of(r, c->org_id, c->batch)
                                        : NULL;
    if (!b)
        return;
    job->batch = (size_t)(b - r->batches) + 1;
    b->jobs++;
}

struct ref_job *ref_add_job(struct reference *r, const struct contract *contract)
{
    struct ref_job *job = &r->jobs[r->job_count++];
    pawl_time due = max_of(contract->scheduled_for, r->now);
    *job = (struct ref_job){
        .contract = *contract,
        .stem = contract->idempotency_key,
        .holds_key = true,
        .queue = contract->queue,
        .priority = contract->priority,
        .due = { due, due },
        .run_at = due,
        .created_at = r->now,
    };
    (void)ref_link(r, contract, &job->pending, &job->doomed);  // whether it can was asked before
    join(r, job);
    tell(job, EVENT_JOB_CREATED);
    if (!contract->hold)
        enter_queue(r, job);
    return job;
}

bool ref_full(const struct reference *r)
{
    return r->job_count + ref_callbacks_due(r) >= REF_JOBS_FULL;
}

bool ref_has_slot(const struct reference *r, pawl_time slot)
{
    for (const struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++)
        if (job->contract.policy.slot && job->contract.scheduled_for == slot && job->number == 0)
            return true;
    return false;
}

bool ref_slot(struct reference *r, const struct contract *contract)
{
    if (ref_has_slot(r, contract->scheduled_for))
        return false;
    ref_add_job(r, contract);
    return true;
}

static bool same_content(const struct contract *a, const struct contract *b)
{
    return str_eq(a->job_type, b->job_type) && str_eq(a->payload, b->payload)
        && str_eq(a->serial_key, b->serial_key)
        && a->scheduled_for / 1000 == b->scheduled_for / 1000;
}

enum pawl_code ref_enqueue(struct reference *r, const struct contract *c, size_t *found,
                           bool *deduplicated)
{
    struct ref_job *holder = c->idempotency_key.n ? holder_of(r, c, c->idempotency_key) : NULL;
    bool forgotten = holder && holder->where == REF_ENDED
                  && holder->created_at + holder->contract.policy.key_ttl_us <= r->now;
    *deduplicated = holder && !forgotten;
    if (*deduplicated) {
        *found = (size_t)(holder - r->jobs);
        return same_content(c, &holder->contract) ? PAWL_OK : PAWL_KEY_REUSED;
    }
    int64_t pending;
    bool doomed;
    const struct ref_batch *batch = c->batch.high ? ref_batch_of(r, c->org_id, c->batch) : NULL;
    if (c->scheduled_for && c->scheduled_for < r->now - SECONDS(60))
        return PAWL_INVALID;
    if (batch && batch->ended)
        return PAWL_CONFLICT;
    if (!ref_link(r, c, &pending, &doomed) || (c->batch.high && !batch))
        return PAWL_INVALID;
    if (holder)
        holder->holds_key = false;
    *found = (size_t)(ref_add_job(r, c) - r->jobs);
    return PAWL_OK;
}

enum pawl_code ref_submit(struct reference *r, struct id id)
{
    struct ref_job *job = find_job(r, id);
    if (!job)
        return PAWL_NOT_FOUND;
    if (job->where != REF_HELD)
        return job->where == REF_ENDED ? PAWL_TERMINAL : PAWL_CONFLICT;
    enter_queue(r, job);
    return PAWL_OK;
}

void ref_end_job(struct reference *r, struct ref_job *job, enum job_state state,
                 enum failure_type type)
{
    bool cancelled = type == FAILURE_CANCELLED;
    job->where = REF_ENDED;
    job->outcome = state;
    job->failure_type = type;
    job->completed_at = r->now;
    tell(job, cancelled ? EVENT_JOB_CANCELLED : EVENT_JOB_FAILED);
    if (job->contract.policy.dead_letter && !cancelled) {
        job->dead_letter = S("open");
        tell(job, EVENT_JOB_DEADLETTERED);
    }
    ref_tell(r, job);
}

enum pawl_code ref_cancel(struct reference *r, struct id id)
{
    struct ref_job *job = find_job(r, id);
    if (!job)
        return PAWL_NOT_FOUND;
    if (job->where == REF_ENDED)
        return PAWL_TERMINAL;
    struct ref_execution *e = ref_newest(r, (size_t)(job - r->jobs));
    if (job->where == REF_LEASED && past_commit(e))
        return PAWL_ALREADY_COMMITTED;
    if (job->where == REF_LEASED && e->cancel_requested)
        return PAWL_OK;
    tell(job, EVENT_JOB_CANCEL_REQUESTED);
    if (job->where == REF_LEASED) {
        e->cancel_requested = true;
        job->cancel_requested_at = r->now;
        return PAWL_OK;
    }
    if (!job->last_error.n)
        job->last_error = S("cancelled before it started");
    ref_end_job(r, job, JOB_FAILED, FAILURE_CANCELLED);
    return PAWL_OK;
}

enum pawl_code ref_finish_end(struct reference *r, struct id id)
{
    struct ref_job *job = find_job(r, id);
    if (!job)
        return PAWL_NOT_FOUND;
    if (ref_phase(r, job) != PHASE_FINISHING)
        return PAWL_CONFLICT;
    tell(job, EVENT_JOB_FINISH_ENDED);
    ref_succeed(r, ref_newest(r, (size_t)(job - r->jobs)));
    return PAWL_OK;
}

enum pawl_code ref_change(struct reference *r, struct id id, const struct job_change *change)
{
    struct ref_job *job = find_job(r, id);
    if (!job)
        return PAWL_NOT_FOUND;
    if (job->where == REF_ENDED || job->where == REF_LEASED)
        return job->where == REF_ENDED ? PAWL_TERMINAL : PAWL_CONFLICT;
    if ((change->has_priority && (change->priority < -100 || change->priority > 100))
        || (change->has_queue && str_eq(change->queue, S("q:deadletter")))
        || (change->has_run_at && change->run_at < r->now - SECONDS(60)))
        return PAWL_INVALID;
    if (change->has_priority)
        job->priority = change->priority;
    if (change->has_queue)
        job->queue = change->queue;
    tell(job, EVENT_JOB_CHANGED);
    if (job->where != REF_QUEUED)
        job->run_at = job->due.min;
    if (change->has_run_at)
        job->run_at = max_of(change->run_at, r->now);
    pawl_time due = change->has_run_at ? max_of(change->run_at, r->now) : job->due.min;
    job->due = (struct ref_span){ due, due };
    if (job->where == REF_DELAYED || job->where == REF_QUEUED)
        job->where = due > r->now ? REF_DELAYED : REF_QUEUED;
    if (change->has_run_at && job->wait_until && job->attempt == 0)
        job->wait_until = due + job->contract.max_wait_us;
    return PAWL_OK;
}

enum pawl_code ref_retry(struct reference *r, struct id id)
{
    struct ref_job *old = find_job(r, id);
    if (!old || old->where != REF_ENDED)
        return old ? PAWL_CONFLICT : PAWL_NOT_FOUND;
    struct contract c = old->contract;
    int64_t number = old->number;
    do
        c.idempotency_key = str_format(r->arena, "%.*s#%lld", STR(old->stem), (long long)++number);
    while (holder_of(r, &c, c.idempotency_key));
    c.scheduled_for = 0;
    c.hold = false;
    c.after_count = 0;
    c.batch = (struct id){0};
    struct ref_job *job = ref_add_job(r, &c);
    job->stem = old->stem;
    job->number = number;
    if (str_eq(old->dead_letter, S("open"))) {
        old->dead_letter = S("replayed");
        tell(old, EVENT_JOB_LETTER_CLOSED);
    }
    return PAWL_OK;
}
