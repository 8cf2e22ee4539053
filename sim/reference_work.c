// What a worker does in the model.
#include "reference_inside.h"

#include <stdlib.h>

// ----- the end of an execution

static struct ref_span delay(const struct reference *r, const struct policy *policy, int64_t n,
                             int64_t retry_after_us)
{
    int64_t us = policy->base_us;
    while (policy->exponential && --n > 0 && us < policy->delay_us_max)
        us *= 2;
    us = min_of(us, policy->delay_us_max);
    int64_t asked = min_of(retry_after_us, HOURS(24));
    return (struct ref_span){ r->now + max_of(policy->jitter ? us / 2 : us, asked),
                              r->now + max_of(us, asked) };
}

static bool terminal(enum error_class class)
{
    return class == ERROR_INVALID_INPUT || class == ERROR_VALIDATION
        || class == ERROR_AUTHORIZATION || class == ERROR_BUSINESS_RULE
        || class == ERROR_CONFIGURATION || class == ERROR_RESOURCE_LIMIT
        || class == ERROR_TIMEOUT_PERMANENT;
}

// Why no other attempt follows; FAILURE_NONE when one does.
static enum failure_type verdict_of(const struct ref_job *job, const struct ref_execution *e,
                                    bool crashed)
{
    const struct policy *policy = &job->contract.policy;
    if (e->cancel_requested || e->error_class == ERROR_CANCELLED)
        return FAILURE_CANCELLED;
    if (crashed && (policy->on_crash == ON_CRASH_FAIL || job->crashes == 3))
        return e->end_reason == END_LEASE_EXPIRED ? FAILURE_LEASE_EXPIRED
                                                  : FAILURE_PROCESS_TERMINATED;
    if (e->end_reason == END_TIMEOUT && policy->on_timeout != ON_TIMEOUT_RETRY)
        return FAILURE_TIMEOUT;
    if (terminal(e->error_class))
        return FAILURE_HANDLER_ERROR;
    return job->attempts_used >= policy->max_attempts ? FAILURE_ATTEMPTS_EXHAUSTED : FAILURE_NONE;
}

static void give_back(const struct reference *r, struct ref_job *job)
{
    if (r->flaw != FLAW_ATTEMPT_COUNTED_AT_FAILURE)
        job->attempts_used--;
    job->retry_count += r->flaw == FLAW_RELEASE_COUNTS_AS_RETRY;
    job->where = REF_QUEUED;
    tell(job, EVENT_JOB_RELEASED);
    tell(job, EVENT_JOB_ENQUEUED);
}

void ref_abort(struct reference *r, struct ref_execution *e, enum end_reason reason,
               const struct work_error *error)
{
    struct ref_job *job = job_of(r, e);
    bool crashed = reason == END_LEASE_EXPIRED || reason == END_PROCESS_TERMINATED
                || error->class == ERROR_CRASH;
    e->status = EXECUTION_ABORTED;
    e->end_reason = reason;
    e->error_class = error->class;
    if (reason == END_RELEASED && !e->cancel_requested) {
        give_back(r, job);
        return;
    }
    job->attempts_used += r->flaw == FLAW_ATTEMPT_COUNTED_AT_FAILURE;
    job->crashes = crashed ? job->crashes + 1 : 0;
    if (reason != END_RELEASED) {
        job->last_error = error->message;
        job->error_class = error->class;
    }
    enum failure_type type = verdict_of(job, e, crashed);
    if (type == FAILURE_CANCELLED && (reason == END_ERROR || reason == END_RELEASED))
        e->end_reason = END_CANCELLED;
    bool timed_out = type == FAILURE_TIMEOUT
                  && job->contract.policy.on_timeout == ON_TIMEOUT_TIMED_OUT;
    if (type != FAILURE_NONE) {
        ref_end_job(r, job, timed_out ? JOB_TIMED_OUT : JOB_FAILED, type);
        return;
    }
    job->where = REF_BACKOFF;
    job->due = delay(r, &job->contract.policy, ++job->retry_count, error->retry_after_us);
    tell(job, EVENT_JOB_RETRIED);
}

void ref_succeed(struct reference *r, struct ref_execution *e)
{
    struct ref_job *job = job_of(r, e);
    e->status = EXECUTION_DONE;
    e->end_reason = END_DONE;
    e->free = false;
    job->where = REF_ENDED;
    job->outcome = JOB_SUCCEEDED;
    job->completed_at = r->now;
    job->last_error = S("");
    job->error_class = ERROR_NONE;
    tell(job, EVENT_JOB_SUCCEEDED);
    ref_tell(r, job);
}

// When a commit phase may be tried again after so many failures: at once, or a second later at
// least.
static struct ref_span finish_delay(const struct reference *r, struct ref_execution *e,
                                    int64_t failures, int64_t retry_after_us)
{
    if (failures == 0)
        return (struct ref_span){ r->now, r->now };
    const struct policy *policy = &r->jobs[e->job].contract.policy;
    struct ref_span at = delay(r, policy, failures, retry_after_us);
    return (struct ref_span){ max_of(at.min, r->now + SECONDS(1)),
                              max_of(at.max, r->now + SECONDS(1)) };
}

void ref_reconcile(struct reference *r, struct ref_execution *e)
{
    if (!e->finish) {
        ref_succeed(r, e);
        return;
    }
    e->free = true;
    e->finish_at = finish_delay(r, e, e->finish_failures++, 0);
    e->lease_expires_at = r->now;
    tell(job_of(r, e), EVENT_JOB_FINISH_FAILED);
}

// ----- claim

static bool named(const struct str *names, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(names[i], name))
            return true;
    return false;
}

static bool wanted(const struct reference *r, const struct claim *claim, struct str queue,
                   const struct ref_job *job)
{
    return str_eq(job->queue, queue) && (r->org.n == 0 || str_eq(r->org, job->contract.org_id))
        && (claim->job_type_count == 0
            || named(claim->job_types, claim->job_type_count, job->contract.job_type));
}

static int64_t lease_length(const struct claim *claim, const struct ref_job *job)
{
    int64_t us = claim->lease_us ? claim->lease_us : job->contract.policy.lease_us;
    return max_of(SECONDS(1), min_of(us, HOURS(1)));
}

static void start(struct reference *r, struct ref_execution *e)
{
    struct ref_job *job = job_of(r, e);
    e->status = EXECUTION_IN_PROGRESS;
    e->deadline_at = r->now + job->contract.policy.timeout_us;
    e->lease_expires_at = min_of(r->now + e->lease_us, e->deadline_at);
    job->started_at = job->started_at ? job->started_at : r->now;
    tell(job, EVENT_JOB_STARTED);
}

static size_t lease_work(struct reference *r, const struct claim *claim, struct ref_job *job)
{
    struct ref_execution *e = &r->executions[r->execution_count++];
    int64_t lease_us = lease_length(claim, job);
    job->where = REF_LEASED;
    job->attempt++;
    job->attempts_used += r->flaw != FLAW_ATTEMPT_COUNTED_AT_FAILURE;
    *e = (struct ref_execution){
        .job = (size_t)(job - r->jobs),
        .attempt = job->attempt,
        .owner_org = r->org,
        .owner = claim->worker,
        .lease_us = lease_us,
        .percent = -1,
        .lease_expires_at = r->now + lease_us,
    };
    if (claim->start)
        start(r, e);
    else
        tell(job, EVENT_JOB_LEASED);
    return (size_t)(e - r->executions);
}

static size_t lease_finish(struct reference *r, const struct claim *claim, struct ref_execution *e)
{
    e->free = false;
    e->owner_org = r->org;
    e->owner = claim->worker;
    e->lease_us = lease_length(claim, job_of(r, e));
    e->lease_expires_at = r->now + e->lease_us;
    tell(job_of(r, e), EVENT_JOB_FINISH_LEASED);
    return (size_t)(e - r->executions);
}

// Of a paused queue nothing is taken, of a paused share nothing of its org.
static bool not_paused(const struct reference *r, struct str queue, const struct ref_job *job)
{
    return !ref_paused(r, queue, S("")) && !ref_paused(r, queue, job->contract.org_id);
}

// What has waited longest to be finished.
static struct ref_execution *next_finish(struct reference *r, const struct claim *claim,
                                         struct str queue)
{
    struct ref_execution *next = NULL;
    for (struct ref_execution *e = r->executions; e < r->executions + r->execution_count; e++)
        if (live(e) && e->free && e->finish_at.min <= r->now
            && wanted(r, claim, queue, job_of(r, e)) && not_paused(r, queue, job_of(r, e))
            && (!next || e->finish_at.min < next->finish_at.min))
            next = e;
    return next;
}

// Orgs take turns in the order in which the store came to know them: that of the last digit of
// their id, in a sequence.
struct ref_turn {
    int org;  // 0: nobody's yet
    int left;
};

static int org_of(const struct ref_job *job)
{
    return job->contract.org_id.s[job->contract.org_id.n - 1];
}

static bool takeable(const struct reference *r, const struct claim *claim, struct str queue,
                     const struct ref_job *job)
{
    return wanted(r, claim, queue, job) && ref_ready(r, job) && job->run_at <= r->now
        && not_paused(r, queue, job);
}

static struct ref_job *first_of_org(struct reference *r, const struct claim *claim,
                                    struct str queue, int org)
{
    struct ref_job *next = NULL;
    for (struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++)
        if (takeable(r, claim, queue, job) && org_of(job) == org
            && (!next || job->priority > next->priority))
            next = job;
    return next;
}

// The next one after `after` that has something; 0: none.
static int org_after(const struct reference *r, const struct claim *claim, struct str queue,
                     int after)
{
    int found = 0;
    for (const struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++) {
        int org = takeable(r, claim, queue, job) ? org_of(job) : 0;
        if (org > after && (found == 0 || org < found))
            found = org;
    }
    return found;
}

static struct ref_job *next_ready(struct reference *r, const struct claim *claim, struct str queue,
                                  struct ref_turn *turn)
{
    enum { RUN = 16 };
    struct ref_job *next = turn->left > 0 ? first_of_org(r, claim, queue, turn->org) : NULL;
    if (!next) {
        int org = org_after(r, claim, queue, turn->org);
        *turn = (struct ref_turn){ org ? org : org_after(r, claim, queue, 0), RUN };
        next = first_of_org(r, claim, queue, turn->org);
    }
    turn->left--;
    return next;
}

enum pawl_code ref_claim(struct reference *r, const struct claim *claim, size_t *taken,
                         size_t *count)
{
    *count = 0;
    if (claim->limit < 1 || claim->limit > 1000 || claim->queue_count == 0
        || claim->worker.worker_id.n == 0
        || named(claim->queues, claim->queue_count, S("q:deadletter")))
        return PAWL_INVALID;
    for (size_t q = 0; q < claim->queue_count; q++) {
        struct ref_execution *e;
        struct ref_job *job;
        struct ref_turn turn = {0};
        while (*count < claim->limit && (e = next_finish(r, claim, claim->queues[q])))
            taken[(*count)++] = lease_finish(r, claim, e);
        while (*count < claim->limit && (job = next_ready(r, claim, claim->queues[q], &turn)))
            taken[(*count)++] = lease_work(r, claim, job);
    }
    return PAWL_OK;
}

// ----- work

struct ref_held {
    struct ref_execution *e;
    bool own, live;
};

static bool look(struct reference *r, const struct lease *lease, struct ref_held *held)
{
    *held = (struct ref_held){0};
    for (struct ref_execution *e = r->executions; e < r->executions + r->execution_count; e++)
        if (e->id.high == lease->execution.high && e->id.low == lease->execution.low
            && (r->org.n == 0 || str_eq(r->org, job_of(r, e)->contract.org_id)))
            held->e = e;
    if (!held->e)
        return false;
    const struct worker *a = &held->e->owner, *b = &lease->worker;
    held->own = str_eq(held->e->owner_org, r->org) && str_eq(a->worker_id, b->worker_id)
             && str_eq(a->instance, b->instance) && str_eq(a->boot_id, b->boot_id)
             && (held->e->attempt == lease->attempt || r->flaw == FLAW_FENCE_IGNORES_ATTEMPT);
    held->live = held->own && live(held->e) && held->e->lease_expires_at > r->now;
    return true;
}

// Refuses unless the lease is live and its work has started.
static enum pawl_code at_work(const struct ref_held *held)
{
    if (!held->live)
        return PAWL_FENCED;
    return held->e->status == EXECUTION_LEASED ? PAWL_NOT_STARTED : PAWL_OK;
}

enum pawl_code ref_start(struct reference *r, const struct lease *lease)
{
    struct ref_held held;
    if (!look(r, lease, &held))
        return PAWL_NOT_FOUND;
    if (held.own && past_commit(held.e))
        return PAWL_ALREADY_COMMITTED;
    if (!held.live)
        return PAWL_FENCED;
    if (held.e->status == EXECUTION_LEASED)
        start(r, held.e);
    return PAWL_OK;
}

enum pawl_code ref_heartbeat(struct reference *r, const struct lease *lease,
                             const struct progress *progress, bool renew)
{
    struct ref_held held;
    if (progress && (progress->percent < 0 || progress->percent > 100))
        return PAWL_INVALID;
    if (!look(r, lease, &held))
        return PAWL_NOT_FOUND;
    enum pawl_code code = at_work(&held);
    if (code != PAWL_OK && (progress || code != PAWL_NOT_STARTED))
        return code;
    if (progress)
        held.e->percent = progress->percent;
    if (!renew)
        return PAWL_OK;
    held.e->lease_expires_at = r->now + held.e->lease_us;
    if (held.e->status == EXECUTION_IN_PROGRESS)
        held.e->lease_expires_at = min_of(held.e->lease_expires_at, held.e->deadline_at);
    return PAWL_OK;
}

// A step may be written until the effect is committed.
static enum pawl_code step_of(struct reference *r, const struct lease *lease, size_t step,
                              struct ref_held *held, struct ref_step **found)
{
    if (!look(r, lease, held))
        return PAWL_NOT_FOUND;
    *found = &job_of(r, held->e)->steps[step];
    enum pawl_code code = at_work(held);
    return code == PAWL_OK && past_commit(held->e) ? PAWL_ALREADY_COMMITTED : code;
}

enum pawl_code ref_step_get(struct reference *r, const struct lease *lease)
{
    struct ref_held held;
    return look(r, lease, &held) ? at_work(&held) : PAWL_NOT_FOUND;
}

enum pawl_code ref_step_put(struct reference *r, const struct lease *lease, size_t step,
                            struct str result)
{
    struct ref_held held;
    struct ref_step *s = NULL;
    enum pawl_code code = step_of(r, lease, step, &held, &s);
    if (code != PAWL_OK)
        return code;
    if (s->done)
        return str_eq(s->result, result) ? PAWL_OK : PAWL_CONFLICT;
    int64_t tries = s->attempt == held.e->attempt ? s->tries : 0;
    *s = (struct ref_step){ true, result, held.e->attempt, tries };
    tell(job_of(r, held.e), EVENT_STEP_DONE);
    return PAWL_OK;
}

enum pawl_code ref_step_fail(struct reference *r, const struct lease *lease, size_t step)
{
    struct ref_held held;
    struct ref_step *s = NULL;
    enum pawl_code code = step_of(r, lease, step, &held, &s);
    if (code != PAWL_OK || s->done)
        return code != PAWL_OK ? code : PAWL_CONFLICT;
    int64_t tries_max = job_of(r, held.e)->contract.policy.step_attempts;
    int64_t tries = s->attempt == held.e->attempt ? s->tries + 1 : 1;
    if (tries > tries_max)
        return PAWL_CONFLICT;
    s->tries = tries;
    s->attempt = held.e->attempt;
    tell(job_of(r, held.e), tries < tries_max ? EVENT_STEP_RETRIED : EVENT_STEP_FAILED);
    return PAWL_OK;
}

// ----- the ends a worker may choose

// A notification that is refused is told in the trail and fails nothing (OPS-2).
static enum pawl_code follow_up(struct reference *r, const struct ref_execution *e,
                                const struct commit *commit)
{
    for (size_t i = 0; i < commit->follow_up_count; i++) {
        size_t found;
        bool deduplicated;
        const struct contract *contract = &commit->follow_ups[i];
        enum pawl_code code = ref_enqueue(r, contract, &found, &deduplicated);
        if (code != PAWL_OK && !str_eq(contract->policy.category, S("notification")))
            return code;
        if (code != PAWL_OK)
            tell(job_of(r, e), EVENT_JOB_ANNOTATED);
    }
    return PAWL_OK;
}

// An audit job appends annotations and does nothing else (OPS-22).
static bool only_annotates(const struct commit *commit)
{
    return commit->result.n == 0 && commit->follow_up_count == 0 && !commit->apply
        && !commit->finish;
}

enum pawl_code ref_commit(struct reference *r, const struct lease *lease,
                          const struct commit *commit, enum pawl_code apply)
{
    struct ref_held held;
    if (!look(r, lease, &held))
        return PAWL_NOT_FOUND;
    struct ref_job *job = job_of(r, held.e);
    if (held.own && past_commit(held.e)) {
        if (!str_eq(job->result, commit->result) || r->flaw == FLAW_REPEATED_COMMIT_REFUSED)
            return PAWL_ALREADY_COMMITTED;
        return commit->done && held.live ? ref_done(r, lease) : PAWL_OK;
    }
    enum pawl_code code = at_work(&held);
    if (code == PAWL_OK && str_eq(job->contract.policy.category, S("audit"))
        && !only_annotates(commit))
        return PAWL_EFFECT_NOT_ALLOWED;
    if (code != PAWL_OK || apply != PAWL_OK)
        return code != PAWL_OK ? code : apply;
    struct reference *before = malloc(sizeof *before);
    if (!before)
        abort();
    reference_copy(before, r);
    code = follow_up(r, held.e, commit);
    if (code != PAWL_OK)
        reference_copy(r, before);
    free(before);
    if (code != PAWL_OK)
        return code;
    job->result = commit->result;
    job->events[EVENT_JOB_ANNOTATED] += commit->annotation_count;
    held.e->status = EXECUTION_COMMITTED;
    held.e->finish = commit->finish;
    if (commit->done) {
        ref_succeed(r, held.e);
        return PAWL_OK;
    }
    held.e->lease_expires_at = r->now + held.e->lease_us;
    tell(job, EVENT_JOB_COMMITTED);
    return PAWL_OK;
}

enum pawl_code ref_done(struct reference *r, const struct lease *lease)
{
    struct ref_held held;
    if (!look(r, lease, &held))
        return PAWL_NOT_FOUND;
    if (held.own && held.e->status == EXECUTION_DONE)
        return PAWL_OK;
    enum pawl_code code = at_work(&held);
    if (code != PAWL_OK || held.e->status != EXECUTION_COMMITTED)
        return code != PAWL_OK ? code : PAWL_CONFLICT;
    ref_succeed(r, held.e);
    return PAWL_OK;
}

static void finish_failed(struct reference *r, struct ref_execution *e,
                          const struct work_error *error)
{
    struct ref_job *job = job_of(r, e);
    e->free = true;
    e->finish_at = finish_delay(r, e, ++e->finish_failures, error->retry_after_us);
    e->lease_expires_at = r->now;
    tell(job, EVENT_JOB_FINISH_FAILED);
}

enum pawl_code ref_fail(struct reference *r, const struct lease *lease,
                        const struct work_error *error)
{
    struct ref_held held;
    if (error->class == ERROR_NONE)
        return PAWL_INVALID;
    if (!look(r, lease, &held))
        return PAWL_NOT_FOUND;
    bool finishing = held.e->status == EXECUTION_COMMITTED && held.e->finish;
    bool told = held.e->end_reason == END_ERROR || held.e->end_reason == END_CANCELLED;
    if (held.own && past_commit(held.e) && !finishing)
        return PAWL_ALREADY_COMMITTED;
    if (held.own && (held.e->free || (told && held.e->error_class == error->class)))
        return PAWL_OK;
    if (!held.live)
        return PAWL_FENCED;
    if (finishing)
        finish_failed(r, held.e, error);
    else
        ref_abort(r, held.e, END_ERROR, error);
    return PAWL_OK;
}

enum pawl_code ref_release(struct reference *r, const struct lease *lease)
{
    struct ref_held held;
    if (!look(r, lease, &held))
        return PAWL_NOT_FOUND;
    struct ref_execution *e = held.e;
    bool finishing = e->status == EXECUTION_COMMITTED && e->finish;
    bool gave_back = e->end_reason == END_RELEASED
                  || (e->end_reason == END_CANCELLED && e->error_class == ERROR_NONE);
    if (held.own && past_commit(e) && !finishing)
        return PAWL_ALREADY_COMMITTED;
    if (held.own && (e->free || gave_back))
        return PAWL_OK;
    if (!held.live)
        return PAWL_FENCED;
    if (!finishing) {
        ref_abort(r, e, END_RELEASED, &(struct work_error){0});
        return PAWL_OK;
    }
    e->free = true;
    e->finish_at = (struct ref_span){ r->now, r->now };
    e->lease_expires_at = r->now;
    tell(job_of(r, e), EVENT_JOB_FINISH_RELEASED);
    return PAWL_OK;
}
