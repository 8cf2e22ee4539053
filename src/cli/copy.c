// pawl copy: from one database to another, on a machine that reaches both.
#include <stdio.h>

#include "cli/command.h"
#include "cli/following.h"
#include "cli/output.h"
#include "engine/transfer.h"
#include "model/json_field.h"
#include "store/store_url.h"

static json_t *report_json(struct cli *cli, const struct transfer *t,
                           const struct transfer_report *report)
{
    struct str from = url_shown(&cli->arena, t->from), to = url_shown(&cli->arena, t->to);
    const struct json_field fields[] = {
        { "from", json_stringn(from.s, from.n) },
        { "to", json_stringn(to.s, to.n) },
        { "resumed", json_boolean(report->resumed) },
        { "tables", json_integer(report->tables) },
        { "rows", json_integer(report->rows) },
        { "artifacts", json_integer(report->artifacts) },
        { "jobs", json_integer(report->found.jobs) },
        { "executions", json_integer(report->found.executions) },
        { "seals", json_integer(report->seals) },
        { "violations", json_integer(report->found.violations) },
    };
    return json_object_of(fields, countof(fields));
}

static void print_report(struct cli *cli, const struct transfer *t,
                         const struct transfer_report *report)
{
    struct arena *arena = &cli->arena;
    printf("%.*s%s: %lld rows of %lld tables, %lld jobs, %lld artifacts, %lld seals: all compared, "
           "%lld violations\n",
           STR(safe(arena, url_shown(arena, t->to))), report->resumed ? " (taken up again)" : "",
           (long long)report->rows, (long long)report->tables, (long long)report->found.jobs,
           (long long)report->artifacts, (long long)report->seals,
           (long long)report->found.violations);
    printf("%.*s is as it was. Work on one of them only: both have the same jobs.\n",
           STR(safe(arena, url_shown(arena, t->from))));
}

bool command_copy(struct cli *cli, struct pawl_error *err)
{
    struct following following = { .bar = { .world = cli->world } };
    struct transfer transfer = {
        .from = cli->value[OPTION_FROM_STORE],
        .to = cli->value[OPTION_TO_STORE],
        .force = cli->given[OPTION_FORCE],
        .world = cli->world,
        .audience = following_audience(&following),
    };
    struct transfer_report report;
    if (!cli->given[OPTION_FROM_STORE] || !cli->given[OPTION_TO_STORE])
        return usage(cli, err, "copy needs --from URL and --to URL");
    bool made = transfer_make(&transfer, &report, err);
    progress_hide(&following.bar);
    if (!made)
        return false;
    cli->status = report.found.violations > 0 ? 1 : 0;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, report_json(cli, &transfer, &report), err);
    print_report(cli, &transfer, &report);
    return true;
}
