// pawl explain: why a job is where it is, and what to do about it.
#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/value.h"

enum { TEXT_COLUMNS = 88, INDENT = 8 };

// Words under one another, behind a heading; only at spaces is a line broken.
static void print_wrapped(struct arena *arena, const char *heading, struct str text)
{
    struct str word, rest = safe(arena, text);
    size_t column = 0;
    printf("  %-*s", INDENT - 2, heading);
    for (bool more = rest.n > 0; more;) {
        more = str_cut(rest, ' ', &word, &rest);
        if (column > 0 && column + 1 + word.n > TEXT_COLUMNS - INDENT) {
            printf("\n%*s", INDENT, "");
            column = 0;
        }
        printf("%s%.*s", column ? " " : "", STR(word));
        column += word.n + (column ? 1 : 0);
    }
    printf("\n");
}

static void print_reason(struct arena *arena, const char *heading, const json_t *reason)
{
    struct str advice = object_text(reason, "advice");
    print_wrapped(arena, heading, object_text(reason, "sentence"));
    if (advice.n)
        print_wrapped(arena, "do", advice);
}

static void print_explanation(struct arena *arena, const json_t *e)
{
    struct str phase = object_text(e, "phase");
    print_job_line(arena, e, phase.n ? str_cstr(arena, safe(arena, phase)) : "damaged");
    print_reason(arena, "why", e);
    const json_t *also = json_object_get(e, "also");
    for (size_t i = 0; i < json_array_size(also); i++)
        print_reason(arena, "also", json_array_get(also, i));
}

bool command_explain(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    SCOPED(json) json_t *explanation = NULL;
    if (!value_job_id(cli, &id, err) || !cli->backend->explain(cli, id, &explanation, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(explanation), err);
    print_explanation(&cli->arena, explanation);
    return true;
}
