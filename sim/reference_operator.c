// What operators do in the model, and what the end of one job means to others.
#include "reference_inside.h"

// ----- links

static bool waits(const struct ref_job *job)
{
    bool placed = job->where == REF_HELD || job->where == REF_DELAYED || job->where == REF_QUEUED;
    return placed && job->pending > 0 && !job->doomed;
}

static bool waits_for(const struct ref_job *job, struct id id)
{
    for (size_t i = 0; i < job->contract.after_count; i++)
        if (job->contract.after[i].high == id.high && job->contract.after[i].low == id.low)
            return true;
    return false;
}

void ref_doom(struct reference *r, struct ref_job *job)
{
    if (!job->last_error.n)
        job->last_error = S("job ");  // and which one, and how it ended
    ref_end_job(r, job, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
}

static void tell_of(struct reference *r, const struct ref_job *ended)
{
    for (struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++) {
        if (!waits(job) || !waits_for(job, ended->id))
            continue;
        if (ended->outcome == JOB_SUCCEEDED)
            job->pending--;
        else if (job->where == REF_HELD)
            job->doomed = true;
        else
            ref_doom(r, job);
    }
}

static struct ref_job *oldest_untold(struct reference *r)
{
    for (struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++)
        if (job->untold)
            return job;
    return NULL;
}

// The oldest that ended first; those it takes with it come later, each in its turn.
void ref_tell(struct reference *r, struct ref_job *ended)
{
    ended->untold = true;
    if (ended->batch)
        ref_member_ended(r, ended);
    if (r->telling)
        return;
    r->telling = true;
    for (struct ref_job *job; (job = oldest_untold(r));) {
        job->untold = false;
        tell_of(r, job);
    }
    r->telling = false;
}

static const struct ref_job *job_by_id(const struct reference *r, struct id id)
{
    for (const struct ref_job *job = r->jobs; job < r->jobs + r->job_count; job++)
        if (job->id.high == id.high && job->id.low == id.low)
            return job;
    return NULL;
}

bool ref_link(const struct reference *r, const struct contract *c, int64_t *pending, bool *doomed)
{
    *pending = 0;
    *doomed = false;
    for (size_t i = 0; i < c->after_count; i++) {
        const struct ref_job *target = job_by_id(r, c->after[i]);
        if (!target || !str_eq(target->contract.org_id, c->org_id))
            return false;
        bool ended = target->where == REF_ENDED;
        *pending += !ended || target->outcome != JOB_SUCCEEDED;
        *doomed |= ended && target->outcome != JOB_SUCCEEDED;
    }
    return true;
}

// ----- letters

static enum pawl_code open_letter(const struct reference *r, struct id id)
{
    const struct ref_job *job = job_by_id(r, id);
    bool own = job && (r->org.n == 0 || str_eq(r->org, job->contract.org_id));
    if (!own || job->dead_letter.n == 0)
        return PAWL_NOT_FOUND;
    return str_eq(job->dead_letter, S("open")) ? PAWL_OK : PAWL_CLOSED;
}

enum pawl_code ref_replay(struct reference *r, struct id id)
{
    enum pawl_code code = open_letter(r, id);
    return code == PAWL_OK ? ref_retry(r, id) : code;
}

enum pawl_code ref_discard(struct reference *r, struct id id)
{
    enum pawl_code code = open_letter(r, id);
    for (struct ref_job *job = r->jobs; code == PAWL_OK && job < r->jobs + r->job_count; job++)
        if (job->id.high == id.high) {
            job->dead_letter = S("discarded");
            tell(job, EVENT_JOB_LETTER_CLOSED);
        }
    return code;
}

// ----- queues

bool ref_paused(const struct reference *r, struct str queue, struct str org)
{
    for (size_t i = 0; i < r->pause_count; i++)
        if (str_eq(r->pauses[i].queue, queue) && str_eq(r->pauses[i].org, org))
            return true;
    return false;
}

enum pawl_code ref_pause(struct reference *r, struct str queue)
{
    if (!ref_paused(r, queue, r->org) && r->pause_count < REF_PAUSES_MAX)
        r->pauses[r->pause_count++] = (struct ref_pause){ queue, r->org };
    return PAWL_OK;
}

enum pawl_code ref_resume(struct reference *r, struct str queue)
{
    for (size_t i = 0; i < r->pause_count; i++)
        if (str_eq(r->pauses[i].queue, queue) && str_eq(r->pauses[i].org, r->org))
            r->pauses[i] = r->pauses[--r->pause_count];
    return PAWL_OK;
}

static void purge_one(struct reference *r, struct ref_job *job)
{
    bool queued = job->where == REF_DELAYED || job->where == REF_QUEUED;
    if (!queued)
        tell(job, EVENT_JOB_CANCEL_REQUESTED);
    if (!job->last_error.n)
        job->last_error = S("its queue was purged by an operator");
    ref_end_job(r, job, JOB_FAILED, queued ? FAILURE_RESOURCE_EXHAUSTED : FAILURE_CANCELLED);
}

// First what could not be claimed, then what could; not what comes while it goes on, such as the
// callback of a batch whose last job it ends.
enum pawl_code ref_purge(struct reference *r, struct str queue, size_t *ended)
{
    bool listed[REF_JOBS_MAX] = {0};
    size_t count = r->job_count;
    for (int ready = 0; ready <= 1; ready++) {
        for (size_t i = 0; i < count; i++) {
            const struct ref_job *job = &r->jobs[i];
            bool there = job->where != REF_LEASED && job->where != REF_ENDED;
            listed[i] = there && str_eq(job->queue, queue) && ref_ready(r, job) == ready
                     && (r->org.n == 0 || str_eq(r->org, job->contract.org_id));
        }
        for (size_t i = 0; i < count; i++)
            if (listed[i] && r->jobs[i].where != REF_ENDED) {
                purge_one(r, &r->jobs[i]);
                ++*ended;
            }
    }
    return PAWL_OK;
}
