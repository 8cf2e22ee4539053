// The job object of the interface: one line per field, in its order.

#include "base/json_put.h"
#include "base/time_text.h"
#include "model/job.h"
#include "model/json_field.h"

enum { MEMBERS_BYTES = 1600 };  // what a job takes besides its payload, about

static struct str error_type(enum error_class class)
{
    if (class == ERROR_NONE)
        return S("");
    return error_class_retryable(class) ? S("RETRYABLE") : S("TERMINAL");
}

void job_put(struct buf *out, const struct job *job)
{
    const struct contract *c = &job->contract;
    struct str wait = c->max_wait_us ? duration_text(out->arena, c->max_wait_us) : S("");
    buf_expect(out, c->payload.n + MEMBERS_BYTES);
    json_put_id(out, "job_id", job->id);
    json_put_text(out, "job_type", c->job_type);
    json_put_text(out, "org_id", c->org_id);
    json_put_text(out, "project_id", c->project_id);
    json_put_text(out, "actor_type", str_of(actor_type_name(c->actor_type)));
    json_put_text(out, "actor_id", c->actor_id);
    json_put_text(out, "request_id", c->request_id);
    json_put_text(out, "correlation_id", c->correlation_id);
    json_put_text(out, "idempotency_key", c->idempotency_key);
    json_put_time(out, "created_at", job->created_at);
    json_put_raw(out, "payload", c->payload);
    json_put_time(out, "scheduled_for", c->scheduled_for);
    json_put_text(out, "traceparent", c->traceparent);
    json_put_text(out, "category", c->policy.category);
    json_put_text(out, "queue", job->queue);
    json_put_text(out, "origin_queue", job->dead_in.n ? job->dead_in : c->queue);
    json_put_int(out, "priority", job->priority);
    json_put_text(out, "serial_key", c->serial_key);
    json_put_text(out, "limit_key", c->limit_key);
    json_put_text(out, "policy", c->policy.name);
    json_put_text(out, "max_wait", wait);
    json_put_raw(out, "after", job->after);
    json_put_id(out, "batch_id", job->batch);
    json_put_id(out, "parent_job_id", c->parent);
    json_put_text(out, "origin", c->origin);
    json_put_text(out, "state", str_of(job_state_name(job->state)));
    json_put_text(out, "coarse_state", str_of(job_coarse_state_name(job->state)));
    json_put_text(out, "phase", str_of(job_phase_name(job->phase)));
    json_put_int(out, "attempt", job->attempt);
    json_put_int(out, "attempts_used", job->attempts_used);
    json_put_int(out, "max_attempts", c->policy.max_attempts);
    json_put_int(out, "retry_count", job->retry_count);
    json_put_int(out, "max_retries", c->policy.max_attempts - 1);
    json_put_time(out, "run_at", job->run_at);
    json_put_time(out, "updated_at", job->updated_at);
    json_put_time(out, "started_at", job->started_at);
    json_put_time(out, "completed_at", job->completed_at);
    json_put_text(out, "last_error", job->last_error);
    json_put_text(out, "error_type", error_type(job->error_class));
    json_put_text(out, "failure_type", str_of(failure_type_name(job->failure_type)));
    json_put_time(out, "cancel_requested_at", job->cancel_requested_at);
    json_put_progress(out, "progress", job->progress_percent, job->progress_message);
    json_put_raw(out, "result", job->result);
    json_put_bool(out, "authoritative", c->policy.authoritative);
    json_put_text(out, "dead_letter", job->dead_letter);
}

struct str job_text(struct arena *arena, const struct job *job)
{
    struct buf text = buf_new(arena, SIZE_MAX);
    json_put_open(&text, NULL, '{');
    job_put(&text, job);
    json_put_close(&text, '}');
    return text.full ? S("") : buf_str(&text);
}

json_t *job_json(struct arena *arena, const struct job *job)
{
    return json_of(job_text(arena, job));
}
