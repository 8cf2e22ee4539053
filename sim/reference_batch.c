// Batches in the model: they count the ends of their jobs, and at the last one call back.
#include "reference_inside.h"

#include <stdlib.h>

struct ref_batch *ref_batch_of(struct reference *r, struct str org, struct id id)
{
    for (struct ref_batch *b = r->batches; b < r->batches + r->batch_count; b++)
        if (b->id.high == id.high && b->id.low == id.low && str_eq(b->org, org))
            return b;
    return NULL;
}

size_t ref_callbacks_due(const struct reference *r)
{
    size_t due = 0;
    for (size_t i = 0; i < r->batch_count; i++)
        due += !r->batches[i].ended && r->batches[i].has_callback;
    return due;
}

static void end_if_over(struct reference *r, struct ref_batch *b)
{
    if (b->making || b->succeeded + b->failed + b->timed_out < b->jobs)
        return;
    b->ended = true;
    b->callback_job = r->job_count;
    if (b->has_callback)
        ref_add_job(r, &b->callback);
}

void ref_member_ended(struct reference *r, const struct ref_job *job)
{
    struct ref_batch *b = &r->batches[job->batch - 1];
    b->succeeded += job->outcome == JOB_SUCCEEDED;
    b->failed += job->outcome == JOB_FAILED;
    b->timed_out += job->outcome == JOB_TIMED_OUT;
    end_if_over(r, b);
}

// The id is not known yet, so nobody can name it: its own jobs are told where they belong.
static enum pawl_code add_jobs(struct reference *r, const struct batch_request *request,
                               size_t number)
{
    for (size_t i = 0; i < request->count; i++) {
        size_t found;
        bool deduplicated;
        r->making = number;
        enum pawl_code code = ref_enqueue(r, &request->jobs[i], &found, &deduplicated);
        r->making = 0;
        if (code != PAWL_OK || deduplicated)
            return code != PAWL_OK ? code : PAWL_KEY_REUSED;
    }
    return PAWL_OK;
}

static enum pawl_code make(struct reference *r, const struct batch_request *request)
{
    size_t number = ++r->batch_count;
    struct ref_batch *b = &r->batches[number - 1];
    *b = (struct ref_batch){
        .org = request->org_id,
        .key = request->idempotency_key,
        .content = request->content,
        .has_callback = request->callback != NULL,
        .making = true,
    };
    if (request->callback)
        b->callback = *request->callback;
    enum pawl_code code = add_jobs(r, request, number);
    b->making = false;
    if (code == PAWL_OK)
        end_if_over(r, b);
    return code;
}

static bool links_exist(const struct reference *r, const struct batch_request *request)
{
    for (size_t i = 0; i < request->count; i++) {
        int64_t pending;
        bool doomed;
        if (!ref_link(r, &request->jobs[i], &pending, &doomed))
            return false;
    }
    return true;
}

// All of it, or nothing.
static enum pawl_code make_whole(struct reference *r, const struct batch_request *request)
{
    struct reference *before = malloc(sizeof *before);
    if (!before)
        abort();
    reference_copy(before, r);
    enum pawl_code code = make(r, request);
    if (code != PAWL_OK)
        reference_copy(r, before);
    free(before);
    return code;
}

enum pawl_code ref_batch(struct reference *r, const struct batch_request *request, size_t *found,
                         bool *known)
{
    *known = false;
    for (*found = 0; request->idempotency_key.n && *found < r->batch_count; ++*found) {
        const struct ref_batch *b = &r->batches[*found];
        if (!str_eq(b->key, request->idempotency_key) || !str_eq(b->org, request->org_id))
            continue;
        *known = true;
        return str_eq(b->content, request->content) ? PAWL_OK : PAWL_KEY_REUSED;
    }
    *found = r->batch_count;
    return links_exist(r, request) ? make_whole(r, request) : PAWL_INVALID;
}
