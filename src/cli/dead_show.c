// pawl dead show: one letter, and what can be done about it.
#include "cli/dead.h"

#include <stdio.h>

#include "cli/object.h"
#include "cli/output.h"

struct showing {
    struct arena *arena;
    pawl_time now;
    const json_t *letter;
};

static void line(const struct showing *s, const char *name, struct str text)
{
    if (text.n)
        printf("  %-12s %.*s\n", name, STR(safe(s->arena, text)));
}

static void line_text(const struct showing *s, const char *name, const char *field)
{
    line(s, name, object_text(s->letter, field));
}

static void line_time(const struct showing *s, const char *name, const char *field)
{
    pawl_time time = object_time(s->letter, field);
    struct str when = object_text(s->letter, field), distance = ago(s->arena, time, s->now);
    if (time)
        line(s, name, str_format(s->arena, "%.*s (%.*s)", STR(when), STR(distance)));
}

static struct str value_or_nothing(struct arena *arena, const json_t *change, const char *field)
{
    struct str text = object_value(arena, change, field);
    return text.n ? safe(arena, text) : S("(nothing)");
}

void changes_print(struct cli *cli, const json_t *changes)
{
    struct arena *arena = &cli->arena;
    if (!json_is_array(changes)) {
        puts("  what changes is not shown: this key may not see payloads");
        return;
    }
    if (json_array_size(changes) == 0)
        puts("  the payload stays as it is");
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        printf("  %.*s: %.*s -> %.*s\n", STR(safe(arena, object_text(change, "path"))),
               STR(value_or_nothing(arena, change, "before")),
               STR(value_or_nothing(arena, change, "after")));
    }
}

static void print_attempts(const struct showing *s)
{
    static const char *const headings[] = { "ATTEMPT", "WORKER", "STARTED", "FINISHED", "END",
                                            "CLASS", "ERROR" };
    struct table table = table_of(s->arena, headings, countof(headings));
    const json_t *items = object_items(s->letter, "executions");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *execution = json_array_get(items, i);
        const json_t *error = json_object_get(execution, "error");
        table_add_number(&table, object_number(execution, "attempt"));
        table_add(&table, object_text(execution, "lease_owner"));
        table_add(&table, object_text(execution, "started_at"));
        table_add(&table, object_text(execution, "finished_at"));
        table_add(&table, object_text(execution, "end_reason"));
        table_add(&table, object_text(error, "class"));
        table_add(&table, object_text(error, "message"));
    }
    print_title("Attempts");
    table_print(&table, "  ");
}

// The detail of the newest error that has one: an exception's trace, for example.
static void print_detail(const struct showing *s)
{
    const json_t *items = object_items(s->letter, "executions");
    for (size_t i = json_array_size(items); i > 0; i--) {
        const json_t *error = json_object_get(json_array_get(items, i - 1), "error");
        struct str detail = object_text(error, "detail");
        if (detail.n == 0)
            continue;
        print_title("Detail of the last error");
        printf("  %.*s\n", STR(safe(s->arena, detail)));
        return;
    }
}

static void print_what_to_do(const struct showing *s)
{
    struct str runbook = object_text(s->letter, "runbook"), id = object_text(s->letter, "job_id");
    print_title("What to do");
    if (runbook.n)
        printf("  %.*s\n", STR(safe(s->arena, runbook)));
    printf("  pawl dead replay %.*s\n", STR(safe(s->arena, id)));
    printf("  pawl dead fix %.*s --payload JSON\n", STR(safe(s->arena, id)));
    printf("  pawl dead discard %.*s --reason TEXT\n", STR(safe(s->arena, id)));
}

static void print_closing(struct cli *cli, const struct showing *s)
{
    const json_t *changes = json_object_get(s->letter, "changes");
    line_time(s, "closed", "closed_at");
    line_text(s, "closed by", "closed_by");
    line_text(s, "reason", "closed_reason");
    line_text(s, "new job", "replaced_by");
    if (json_array_size(changes) == 0)
        return;
    print_title("What was changed");
    changes_print(cli, changes);
}

void letter_print(struct cli *cli, const json_t *letter)
{
    struct showing s = { &cli->arena, world_wall(cli->world), letter };
    bool open = str_eq(object_text(letter, "dead_letter"), S("open"));
    print_job_line(s.arena, letter, "");
    line_text(&s, "dead letter", "dead_letter");
    line_text(&s, "error", "fingerprint");
    line_text(&s, "kind", "error_kind");
    line_text(&s, "failure", "failure_type");
    line_text(&s, "last error", "last_error");
    line_text(&s, "came from", "origin_queue");
    line_time(&s, "created", "created_at");
    line_time(&s, "died", "completed_at");
    line_text(&s, "key", "idempotency_key");
    line_text(&s, "project", "project_id");
    line(&s, "payload", object_value(s.arena, letter, "payload"));
    if (!open)
        print_closing(cli, &s);
    print_attempts(&s);
    print_detail(&s);
    if (open)
        print_what_to_do(&s);
}
