// What a caller may see of a job follows from its role.
#include "server/job_view.h"

#include "base/json_put.h"
#include "server/server.h"

void job_view(struct exchange *x, struct buf *out, const struct job *job)
{
    struct job shown = *job;
    if (!role_sees_payload(x->identity.role, x->config->auth.viewer_sees_payload))
        shown.contract.payload = shown.result = S("");
    job_put(out, &shown);
}

bool job_answer(struct exchange *x, int status, const struct job *job, struct pawl_error *err)
{
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    job_view(x, &out, job);
    json_put_close(&out, '}');
    return exchange_answer_text(x, status, &out, err);
}

bool one_job_prepare(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return exchange_id(x, 0, &o->id, err);
}

bool one_job_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return job_answer(x, 200, &o->job, err);
}

bool one_job_created(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    x->location = str_format(&x->arena, "/v1/jobs/%.*s", STR(id_text(&x->arena, o->job.id))).s;
    return job_answer(x, 201, &o->job, err);
}

void job_query_read(struct exchange *x, const struct job_query *q, int64_t limit_default,
                    struct job_filter *filter)
{
    *filter = (struct job_filter){
        .has_state = q->state.n > 0,
        .queue = q->queue,
        .job_type = q->job_type,
        .serial_key = q->serial_key,
        .correlation_id = q->correlation_id,
        .project_id = q->project_id,
        .limit = q->limit ? q->limit : limit_default,
    };
    if (q->batch_id.n && (!id_parse(q->batch_id, &filter->batch) || filter->batch.high == 0))
        problem_add(&x->problems, "batch_id", "must be the id of a batch");
    if (filter->has_state && !job_state_parse(q->state, &filter->state))
        problem_add(&x->problems, "state", "must be one of CREATED QUEUED RUNNING RETRYING "
                                           "SUCCEEDED FAILED TIMED_OUT");
}
