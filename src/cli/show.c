// pawl show: one job and everything on record about it.
#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/value.h"

enum { VALUE_COLUMNS = 200 };  // of payloads and results; --json shows them whole

struct record {
    struct arena *arena;
    pawl_time now;
    const json_t *job, *executions, *steps, *audit, *artifacts;
};

static void line(const struct record *r, const char *name, struct str text)
{
    if (text.n)
        printf("  %-12s %.*s\n", name, STR(safe(r->arena, text)));
}

static void line_text(const struct record *r, const char *name, const char *field)
{
    line(r, name, object_text(r->job, field));
}

static void line_time(const struct record *r, const char *name, const char *field)
{
    pawl_time time = object_time(r->job, field);
    struct str when = object_text(r->job, field), distance = ago(r->arena, time, r->now);
    if (time)
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

static struct str clipped_value(const struct record *r, const json_t *object, const char *field)
{
    return clipped(r, object_value(r->arena, object, field));
}

static struct str attempts(const struct record *r)
{
    return str_format(r->arena, "%lld of %lld (policy %.*s, retries: %lld)",
                      (long long)object_number(r->job, "attempts_used"),
                      (long long)object_number(r->job, "max_attempts"),
                      STR(object_text(r->job, "policy")),
                      (long long)object_number(r->job, "retry_count"));
}

static struct str made_by(const struct record *r)
{
    return str_format(r->arena, "%.*s %.*s, request %.*s", STR(object_text(r->job, "actor_type")),
                      STR(object_text(r->job, "actor_id")),
                      STR(object_text(r->job, "request_id")));
}

static struct str made_from(const struct record *r)
{
    struct str parent = object_text(r->job, "parent_job_id");
    return parent.n ? str_format(r->arena, "%.*s (%.*s)", STR(parent),
                                 STR(object_text(r->job, "origin")))
                    : S("");
}

static struct str progress(const struct record *r)
{
    const json_t *progress = json_object_get(r->job, "progress");
    if (!json_is_object(progress))
        return S("");
    return str_format(r->arena, "%lld%% %.*s", (long long)object_number(progress, "percent"),
                      STR(object_text(progress, "message")));
}

// The text of a field, or nothing when it is as usual.
static struct str unusual(const struct record *r, const char *field, struct str usual)
{
    struct str text = object_text(r->job, field);
    return str_eq(text, usual) ? S("") : text;
}

static void print_job(const struct record *r)
{
    bool ended = object_text(r->job, "completed_at").n > 0;
    bool first = object_number(r->job, "priority") != 0;
    print_job_line(r->arena, r->job, "");
    line_text(r, "phase", "phase");
    line(r, "attempts", attempts(r));
    line(r, "priority", first ? object_value(r->arena, r->job, "priority") : S(""));
    line_text(r, "key", "idempotency_key");
    line_text(r, "serial key", "serial_key");
    line_text(r, "limit key", "limit_key");
    line(r, "org", unusual(r, "org_id", DEFAULT_ORG));
    line_text(r, "project", "project_id");
    line(r, "made by", made_by(r));
    line(r, "correlation", unusual(r, "correlation_id", object_text(r->job, "request_id")));
    line(r, "made from", made_from(r));
    line_text(r, "max wait", "max_wait");
    line_time(r, "created", "created_at");
    if (!ended)
        line_time(r, "due", "run_at");
    line_time(r, "started", "started_at");
    line_time(r, "ended", "completed_at");
    line_time(r, "stop asked", "cancel_requested_at");
    line(r, "progress", progress(r));
    line_text(r, "failure", "failure_type");
    line_text(r, "last error", "last_error");
    line_text(r, "dead letter", "dead_letter");
    line(r, "payload", clipped_value(r, r->job, "payload"));
    line(r, "result", clipped_value(r, r->job, "result"));
}

static void add_execution(const struct record *r, struct table *table, const json_t *execution)
{
    (void)r;
    table_add_number(table, object_number(execution, "attempt"));
    table_add(table, object_text(execution, "status"));
    table_add(table, object_text(execution, "lease_owner"));
    table_add(table, object_text(execution, "leased_at"));
    table_add(table, object_text(execution, "finished_at"));
    table_add(table, object_text(execution, "end_reason"));
    table_add(table, object_text(json_object_get(execution, "error"), "message"));
}

static void add_step(const struct record *r, struct table *table, const json_t *step)
{
    bool done = object_flag(step, "done");
    table_add(table, object_text(step, "name"));
    table_add(table, done ? S("yes") : S("no"));
    table_add_number(table, object_number(step, "attempt"));
    table_add_number(table, object_number(step, "tries"));
    table_add(table, object_text(step, "updated_at"));
    table_add(table, done ? clipped_value(r, step, "result")
                          : clipped(r, object_text(step, "error_message")));
}

static void add_artifact(const struct record *r, struct table *table, const json_t *artifact)
{
    (void)r;
    table_add(table, object_text(artifact, "artifact_id"));
    table_add(table, object_text(artifact, "name"));
    table_add_number(table, object_number(artifact, "bytes"));
    table_add(table, object_text(artifact, "content_type"));
    table_add(table, object_flag(artifact, "authoritative") ? S("authoritative") : S("derived"));
    table_add(table, object_text(artifact, "sha256"));
}

static void add_event(const struct record *r, struct table *table, const json_t *event)
{
    table_add(table, object_text(event, "at"));
    table_add(table, object_text(event, "event"));
    table_add_number(table, object_number(event, "attempt"));
    table_add(table, str_format(r->arena, "%.*s %.*s", STR(object_text(event, "actor_type")),
                                STR(object_text(event, "actor_id"))));
    table_add(table, clipped_value(r, event, "detail"));
}

typedef void add_row(const struct record *r, struct table *table, const json_t *item);

static void print_section(const struct record *r, const char *title, struct table table,
                          const json_t *items, add_row *add)
{
    for (size_t i = 0; i < json_array_size(items); i++)
        add(r, &table, json_array_get(items, i));
    print_title(title);
    table_print(&table, "  ");
}

static void print_record(const struct record *r)
{
    static const char *const runs[] = { "ATTEMPT", "STATUS", "WORKER", "LEASED", "FINISHED", "END",
                                        "ERROR" };
    static const char *const steps[] = { "STEP", "DONE", "ATTEMPT", "FAILED TRIES", "WRITTEN",
                                         "RESULT" };
    static const char *const artifacts[] = { "ARTIFACT", "NAME", "BYTES", "TYPE", "IS", "SHA-256" };
    static const char *const events[] = { "AT", "EVENT", "ATTEMPT", "BY", "DETAIL" };
    print_job(r);
    if (json_array_size(r->executions))
        print_section(r, "Executions", table_of(r->arena, runs, countof(runs)), r->executions,
                      add_execution);
    if (json_array_size(r->steps))
        print_section(r, "Steps", table_of(r->arena, steps, countof(steps)), r->steps, add_step);
    if (json_array_size(r->artifacts))
        print_section(r, "Artifacts", table_of(r->arena, artifacts, countof(artifacts)),
                      r->artifacts, add_artifact);
    print_section(r, "Audit trail", table_of(r->arena, events, countof(events)), r->audit,
                  add_event);
}

bool command_show(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    SCOPED(json) json_t *all = NULL;
    if (!value_job_id(cli, &id, err) || !cli->backend->record(cli, id, &all, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(all), err);
    struct record record = {
        .arena = &cli->arena,
        .now = world_wall(cli->world),
        .job = json_object_get(all, "job"),
        .executions = object_items(all, "executions"),
        .steps = object_items(all, "steps"),
        .audit = object_items(all, "audit"),
        .artifacts = object_items(all, "artifacts"),
    };
    print_record(&record);
    return true;
}
