// pawl show: one job and everything on record about it, from one snapshot.
#include <stdio.h>

#include "base/time_text.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/value.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/step.h"
#include "model/json_field.h"

enum { VALUE_COLUMNS = 200 };  // of payloads and results; --json shows them whole

struct record {
    struct arena *arena;
    pawl_time now;
    struct job job;
    struct execution *executions;
    struct step *steps;
    struct audit_event *events;
    size_t execution_count, step_count, event_count;
};

static bool load(struct tx *tx, struct id id, struct record *r, struct pawl_error *err)
{
    *r = (struct record){ .arena = tx->arena, .now = tx->now };
    return job_load(tx, id, &r->job, err)
        && executions_of_job(tx, id.high, &r->executions, &r->execution_count, err)
        && steps_of_job(tx, id.high, &r->steps, &r->step_count, err)
        && events_of_job(tx, id.high, &r->events, &r->event_count, err);
}

// ----- as JSON

static json_t *json_or_null(struct str text)
{
    json_t *value = NULL;
    return text.n && json_parse(text, text.n, &value, NULL) ? value : json_null();
}

static json_t *step_json(struct arena *arena, const struct step *step)
{
    const struct json_field fields[] = {
        { "name", json_text_or_null(step->name) },
        { "done", json_boolean(step->done) },
        { "result", json_or_null(step->result) },
        { "attempt", json_integer(step->attempt) },
        { "tries", json_integer(step->tries) },
        { "error_message", json_text_or_null(step->error_message) },
        { "updated_at", json_time_or_null(arena, step->updated_at) },
    };
    return json_object_of(fields, countof(fields));
}

static json_t *event_json(const struct record *r, const struct audit_event *event)
{
    const struct contract *c = &r->job.contract;
    const struct json_field fields[] = {
        { "event", json_string(event_name(event->event)) },
        { "at", json_time_or_null(r->arena, event->at) },
        { "org_id", json_text_or_null(c->org_id) },
        { "project_id", json_text_or_null(c->project_id) },
        { "actor_type", json_string(actor_type_name(event->actor_type)) },
        { "actor_id", json_text_or_null(event->actor_id) },
        { "request_id", json_text_or_null(event->request_id) },
        { "correlation_id", json_text_or_null(event->correlation_id) },
        { "job_id", json_text_or_null(id_text(r->arena, r->job.id)) },
        { "job_type", json_text_or_null(c->job_type) },
        { "attempt", json_integer(event->attempt) },
        { "detail", json_or_null(event->detail) },
    };
    return json_object_of(fields, countof(fields));
}

// Adds to an array; NULL when there is no memory for one of the values.
static json_t *appended(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        json_end(&array);
    return array;
}

static json_t *record_json(const struct record *r)
{
    json_t *executions = json_array(), *steps = json_array(), *audit = json_array();
    for (size_t i = 0; i < r->execution_count; i++)
        executions = appended(executions, execution_json(r->arena, &r->executions[i]));
    for (size_t i = 0; i < r->step_count; i++)
        steps = appended(steps, step_json(r->arena, &r->steps[i]));
    for (size_t i = 0; i < r->event_count; i++)
        audit = appended(audit, event_json(r, &r->events[i]));
    const struct json_field fields[] = {
        { "job", job_json(r->arena, &r->job) },
        { "executions", executions },
        { "steps", steps },
        { "audit", audit },
    };
    return json_object_of(fields, countof(fields));
}

// ----- for people

static void line(const struct record *r, const char *name, struct str text)
{
    if (text.n)
        printf("  %-12s %.*s\n", name, STR(safe(r->arena, text)));
}

static void line_time(const struct record *r, const char *name, pawl_time time)
{
    if (time == 0)
        return;
    struct str when = time_text(r->arena, time), distance = ago(r->arena, time, r->now);
    line(r, name, str_format(r->arena, "%.*s (%.*s)", STR(when), STR(distance)));
}

// The beginning of a long value, whole characters.
static struct str clipped(const struct record *r, struct str text)
{
    size_t n = 0;
    while (n < text.n && n < VALUE_COLUMNS) {
        size_t step = utf8_step((struct str){ text.s + n, text.n - n });
        n += step ? step : 1;
    }
    return n == text.n ? text
                       : str_format(r->arena, "%.*s... (%zu bytes; --json shows all)", (int)n,
                                    text.s, text.n);
}

static struct str attempts(const struct record *r)
{
    const struct job *job = &r->job;
    const struct policy *policy = &job->contract.policy;
    return str_format(r->arena, "%lld of %lld (policy %.*s, retries: %lld)",
                      (long long)job->attempts_used, (long long)policy->max_attempts,
                      STR(policy->name), (long long)job->retry_count);
}

static struct str made_by(const struct record *r)
{
    const struct contract *c = &r->job.contract;
    return str_format(r->arena, "%s %.*s, request %.*s", actor_type_name(c->actor_type),
                      STR(c->actor_id), STR(c->request_id));
}

static struct str made_from(const struct record *r)
{
    const struct contract *c = &r->job.contract;
    if (c->parent.high == 0)
        return S("");
    return str_format(r->arena, "%.*s (%.*s)", STR(id_text(r->arena, c->parent)),
                      STR(c->origin));
}

static struct str progress(const struct record *r)
{
    const struct job *job = &r->job;
    if (job->progress_percent < 0)
        return S("");
    return str_format(r->arena, "%lld%% %.*s", (long long)job->progress_percent,
                      STR(job->progress_message));
}

static void print_job(const struct record *r)
{
    const struct job *job = &r->job;
    const struct contract *c = &job->contract;
    struct arena *a = r->arena;
    print_job_line(a, job, "");
    line(r, "phase", str_of(job_phase_name(job->phase)));
    line(r, "attempts", attempts(r));
    line(r, "priority", job->priority ? str_format(a, "%lld", (long long)job->priority) : S(""));
    line(r, "key", c->idempotency_key);
    line(r, "serial key", c->serial_key);
    line(r, "org", str_eq(c->org_id, DEFAULT_ORG) ? S("") : c->org_id);
    line(r, "project", c->project_id);
    line(r, "made by", made_by(r));
    line(r, "correlation", str_eq(c->correlation_id, c->request_id) ? S("") : c->correlation_id);
    line(r, "made from", made_from(r));
    line(r, "max wait", c->max_wait_us ? duration_text(a, c->max_wait_us) : S(""));
    line_time(r, "created", job->created_at);
    line_time(r, "due", job->completed_at ? 0 : job->run_at);
    line_time(r, "started", job->started_at);
    line_time(r, "ended", job->completed_at);
    line_time(r, "stop asked", job->cancel_requested_at);
    line(r, "progress", progress(r));
    line(r, "failure", str_of(failure_type_name(job->failure_type)));
    line(r, "last error", job->last_error);
    line(r, "dead letter", job->dead_letter);
    line(r, "payload", clipped(r, c->payload));
    line(r, "result", clipped(r, job->result));
}

static void print_executions(const struct record *r)
{
    static const char *const headings[] = { "ATTEMPT", "STATUS", "WORKER", "LEASED", "FINISHED",
                                            "END", "ERROR" };
    struct table table = table_of(r->arena, headings, countof(headings));
    for (size_t i = 0; i < r->execution_count; i++) {
        const struct execution *e = &r->executions[i];
        table_add_number(&table, e->attempt);
        table_add(&table, str_of(execution_status_name(e->status)));
        table_add(&table, e->lease_owner);
        table_add_time(&table, e->leased_at);
        table_add_time(&table, e->finished_at);
        table_add(&table, str_of(end_reason_name(e->end_reason)));
        table_add(&table, e->error_message);
    }
    print_title("Executions");
    table_print(&table, "  ");
}

static void print_steps(const struct record *r)
{
    static const char *const headings[] = { "STEP", "DONE", "ATTEMPT", "FAILED TRIES", "WRITTEN",
                                            "RESULT" };
    struct table table = table_of(r->arena, headings, countof(headings));
    for (size_t i = 0; i < r->step_count; i++) {
        const struct step *step = &r->steps[i];
        table_add(&table, step->name);
        table_add(&table, step->done ? S("yes") : S("no"));
        table_add_number(&table, step->attempt);
        table_add_number(&table, step->tries);
        table_add_time(&table, step->updated_at);
        table_add(&table, clipped(r, step->done ? step->result : step->error_message));
    }
    print_title("Steps");
    table_print(&table, "  ");
}

static void print_events(const struct record *r)
{
    static const char *const headings[] = { "AT", "EVENT", "ATTEMPT", "BY", "DETAIL" };
    struct table table = table_of(r->arena, headings, countof(headings));
    for (size_t i = 0; i < r->event_count; i++) {
        const struct audit_event *event = &r->events[i];
        table_add_time(&table, event->at);
        table_add(&table, str_of(event_name(event->event)));
        table_add_number(&table, event->attempt);
        table_add(&table, str_format(r->arena, "%s %.*s", actor_type_name(event->actor_type),
                                     STR(event->actor_id)));
        table_add(&table, clipped(r, event->detail));
    }
    print_title("Audit trail");
    table_print(&table, "  ");
}

bool command_show(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    struct record record;
    SCOPED(tx) struct tx tx = {0};
    if (!value_job_id(cli, &id, err) || !session_open(cli, STORE_READ, err)
        || !session_begin(cli, TX_READ, &cli->arena, &tx, err) || !load(&tx, id, &record, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, record_json(&record), err);
    print_job(&record);
    if (record.execution_count)
        print_executions(&record);
    if (record.step_count)
        print_steps(&record);
    print_events(&record);
    return true;
}
