// What a caller may see of a job follows from its role.
#include "server/job_view.h"

#include "server/server.h"

json_t *job_view(struct exchange *x, const struct job *job)
{
    json_t *object = job_json(&x->arena, job);
    bool sees = role_sees_payload(x->identity.role, x->config->auth.viewer_sees_payload);
    if (object && !sees) {
        json_object_set_new(object, "payload", json_null());
        json_object_set_new(object, "result", json_null());
    }
    return object;
}

bool one_job_prepare(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return exchange_id(x, 0, &o->id, err);
}

bool one_job_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return exchange_answer(x, 200, job_view(x, &o->job), err);
}

bool one_job_created(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    x->location = str_format(&x->arena, "/v1/jobs/%.*s", STR(id_text(&x->arena, o->job.id))).s;
    return exchange_answer(x, 201, job_view(x, &o->job), err);
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
    if (filter->has_state && !job_state_parse(q->state, &filter->state))
        problem_add(&x->problems, "state", "must be one of CREATED QUEUED RUNNING RETRYING "
                                           "SUCCEEDED FAILED TIMED_OUT");
}
