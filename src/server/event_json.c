// One row per field, in the order of OPS-11.
#include "server/event_json.h"

#include "model/json_field.h"
#include "server/server.h"

static json_t *value_or_null(struct str text)
{
    json_t *value = NULL;
    if (text.n && json_parse(text, text.n, &value, NULL))
        return value;
    return json_null();
}

json_t *event_json(struct arena *arena, const struct audit_event *e)
{
    bool of_job = e->job.high != 0;
    const struct json_field fields[] = {
        { "event_id", json_integer(e->id) },
        { "event", json_string(event_name(e->event)) },
        { "at", json_time_or_null(arena, e->at) },
        { "org_id", json_text_or_null(e->org_id) },
        { "project_id", json_text_or_null(e->project_id) },
        { "actor_type", json_string(actor_type_name(e->actor_type)) },
        { "actor_id", json_text_or_null(e->actor_id) },
        { "request_id", json_text_or_null(e->request_id) },
        { "correlation_id", json_text_or_null(e->correlation_id) },
        { "job_id", of_job ? json_text_or_null(id_text(arena, e->job)) : json_null() },
        { "job_type", json_text_or_null(e->job_type) },
        { "attempt", json_integer(e->attempt) },
        { "subject", json_text_or_null(e->subject) },
        { "detail", value_or_null(e->detail) },
    };
    return json_object_of(fields, countof(fields));
}

json_t *job_event_json(struct arena *arena, const struct job *job, const struct audit_event *e)
{
    struct audit_event event = *e;
    event.org_id = job->contract.org_id;
    event.project_id = job->contract.project_id;
    event.job = job->id;
    event.job_type = job->contract.job_type;
    return event_json(arena, &event);
}

json_t *step_json(struct arena *arena, const struct step *s, bool with_result)
{
    const struct json_field fields[] = {
        { "name", json_text_or_null(s->name) },
        { "done", json_boolean(s->done) },
        { "result", with_result ? value_or_null(s->result) : json_null() },
        { "attempt", json_integer(s->attempt) },
        { "tries", json_integer(s->tries) },
        { "error_message", json_text_or_null(s->error_message) },
        { "updated_at", json_time_or_null(arena, s->updated_at) },
    };
    return json_object_of(fields, countof(fields));
}

json_t *step_view(struct exchange *x, const struct step *s)
{
    bool sees = role_sees_payload(x->identity.role, x->config->auth.viewer_sees_payload);
    return step_json(&x->arena, s, sees);
}
