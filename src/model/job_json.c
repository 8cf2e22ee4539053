// The job object of the interface: one row per field, in its order.

#include "base/time_text.h"
#include "model/job.h"
#include "model/json_field.h"

static json_t *id_or_null(struct arena *arena, struct id id)
{
    return id.high || id.low ? json_text_or_null(id_text(arena, id)) : json_null();
}

static json_t *duration_or_null(struct arena *arena, int64_t microseconds)
{
    return microseconds ? json_text_or_null(duration_text(arena, microseconds)) : json_null();
}

static json_t *name_or_null(const char *text)
{
    return json_text_or_null(str_of(text));
}

// Stored JSON comes back as a value.
static json_t *json_or_null(struct str text)
{
    json_t *value = NULL;
    if (text.n && json_parse(text, text.n, &value, NULL))
        return value;
    return json_null();
}

static json_t *error_type(enum error_class class)
{
    if (class == ERROR_NONE)
        return json_null();
    return json_string(error_class_retryable(class) ? "RETRYABLE" : "TERMINAL");
}

json_t *job_json(struct arena *arena, const struct job *job)
{
    const struct contract *c = &job->contract;
    const struct json_field fields[] = {
        { "job_id", id_or_null(arena, job->id) },
        { "job_type", json_text_or_null(c->job_type) },
        { "org_id", json_text_or_null(c->org_id) },
        { "project_id", json_text_or_null(c->project_id) },
        { "actor_type", name_or_null(actor_type_name(c->actor_type)) },
        { "actor_id", json_text_or_null(c->actor_id) },
        { "request_id", json_text_or_null(c->request_id) },
        { "correlation_id", json_text_or_null(c->correlation_id) },
        { "idempotency_key", json_text_or_null(c->idempotency_key) },
        { "created_at", json_time_or_null(arena, job->created_at) },
        { "payload", json_or_null(c->payload) },
        { "scheduled_for", json_time_or_null(arena, c->scheduled_for) },
        { "traceparent", json_text_or_null(c->traceparent) },
        { "category", json_text_or_null(c->policy.category) },
        { "queue", json_text_or_null(job->queue) },
        { "origin_queue", json_text_or_null(c->queue) },
        { "priority", json_integer(job->priority) },
        { "serial_key", json_text_or_null(c->serial_key) },
        { "policy", json_text_or_null(c->policy.name) },
        { "max_wait", duration_or_null(arena, c->max_wait_us) },
        { "after", json_null() },
        { "batch_id", json_null() },
        { "parent_job_id", id_or_null(arena, c->parent) },
        { "origin", json_text_or_null(c->origin) },
        { "state", name_or_null(job_state_name(job->state)) },
        { "coarse_state", name_or_null(job_coarse_state_name(job->state)) },
        { "phase", name_or_null(job_phase_name(job->phase)) },
        { "attempt", json_integer(job->attempt) },
        { "attempts_used", json_integer(job->attempts_used) },
        { "max_attempts", json_integer(c->policy.max_attempts) },
        { "retry_count", json_integer(job->retry_count) },
        { "max_retries", json_integer(c->policy.max_attempts - 1) },
        { "run_at", json_time_or_null(arena, job->run_at) },
        { "updated_at", json_time_or_null(arena, job->updated_at) },
        { "started_at", json_time_or_null(arena, job->started_at) },
        { "completed_at", json_time_or_null(arena, job->completed_at) },
        { "last_error", json_text_or_null(job->last_error) },
        { "error_type", error_type(job->error_class) },
        { "failure_type", name_or_null(failure_type_name(job->failure_type)) },
        { "cancel_requested_at", json_time_or_null(arena, job->cancel_requested_at) },
        { "progress", json_progress_or_null(job->progress_percent, job->progress_message) },
        { "result", json_or_null(job->result) },
        { "dead_letter", json_text_or_null(job->dead_letter) },
    };
    return json_object_of(fields, countof(fields));
}
