// pawl backup, pawl restore: on the machine of the store, because they are about its file.
#include "engine/backup.h"

#include <stdio.h>

#include "base/time_text.h"
#include "cli/following.h"
#include "cli/output.h"
#include "cli/session.h"
#include "model/json_field.h"

// ----- backup

static json_t *backup_json(struct cli *cli, const struct backup_report *report)
{
    struct str store = session_store(cli), file = cli->words[0];
    const struct json_field fields[] = {
        { "store", json_stringn(store.s, store.n) },
        { "file", json_stringn(file.s, file.n) },
        { "bytes", json_integer(report->bytes) },
        { "artifacts", json_integer(report->artifacts) },
        { "schema_version", json_integer(report->schema_version) },
        { "verified", json_boolean(report->verified) },
        { "jobs", json_integer(report->found.jobs) },
        { "executions", json_integer(report->found.executions) },
        { "violations", json_integer(report->found.violations) },
    };
    return json_object_of(fields, countof(fields));
}

static void print_backup(struct cli *cli, const struct backup_report *report)
{
    printf("%.*s: %lld bytes", STR(safe(&cli->arena, cli->words[0])), (long long)report->bytes);
    if (report->artifacts > 0)
        printf(" and %lld artifact%s", (long long)report->artifacts,
               report->artifacts == 1 ? "" : "s");
    if (report->verified)
        printf(", %lld jobs, %lld violations\n", (long long)report->found.jobs,
               (long long)report->found.violations);
    else
        printf(", schema version %lld: its file is whole, its records were not verified by this "
               "pawl, which knows %d\n",
               (long long)report->schema_version, schema_version_known());
}

bool command_backup(struct cli *cli, struct pawl_error *err)
{
    struct following following = { .bar = { .world = cli->world } };
    struct backup backup = {
        .store = session_store(cli),
        .file = str_cstr(&cli->arena, cli->words[0]),
        .force = cli->given[OPTION_FORCE],
        .world = cli->world,
        .audience = following_audience(&following),
    };
    struct backup_report report;
    bool made = backup_make(&backup, &report, err);
    progress_hide(&following.bar);
    if (!made)
        return false;
    cli->status = report.found.violations > 0 ? 1 : 0;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, backup_json(cli, &report), err);
    print_backup(cli, &report);
    return true;
}

// ----- restore

static json_t *restore_json(struct cli *cli, const struct restore_report *report)
{
    struct str store = session_store(cli), file = cli->words[0];
    const struct json_field fields[] = {
        { "store", json_stringn(store.s, store.n) },
        { "file", json_stringn(file.s, file.n) },
        { "newest", json_time_or_null(&cli->arena, report->newest) },
        { "jobs", json_integer(report->found.jobs) },
        { "waiting", json_integer(report->waiting) },
        { "running", json_integer(report->running) },
        { "queues_paused", json_integer(report->queues_paused) },
        { "artifacts", json_integer(report->artifacts) },
        { "kept", json_text_or_null(str_of(report->aside)) },
    };
    return json_object_of(fields, countof(fields));
}

static void print_restore(struct cli *cli, const struct restore_report *report)
{
    struct arena *arena = &cli->arena;
    printf("%.*s restored from %.*s: %lld jobs, %lld waiting, %lld running\n",
           STR(safe(arena, session_store(cli))), STR(safe(arena, cli->words[0])),
           (long long)report->found.jobs, (long long)report->waiting,
           (long long)report->running);
    if (report->newest)
        printf("It knows nothing after %.*s: jobs that ended later run again, jobs that came\n"
               "later are gone, and workers with a later lease are refused.\n",
               STR(time_text(arena, report->newest)));
    if (report->running > 0)
        puts("What was running is taken up again when its lease is over, as after a crash.");
    if (report->queues_paused > 0)
        printf("%lld queues are paused: look, then `pawl queue resume QUEUE`.\n",
               (long long)report->queues_paused);
    if (report->aside)
        printf("The store that was there is now %.*s\n",
               STR(safe(arena, str_of(report->aside))));
}

bool command_restore(struct cli *cli, struct pawl_error *err)
{
    struct following following = { .bar = { .world = cli->world } };
    struct restore restore = {
        .store = session_store(cli),
        .file = str_cstr(&cli->arena, cli->words[0]),
        .force = cli->given[OPTION_FORCE],
        .hold = cli->given[OPTION_HOLD],
        .world = cli->world,
        .caller = &cli->caller,
        .audience = following_audience(&following),
    };
    struct restore_report report;
    bool made = restore_make(&restore, &report, &cli->arena, err);
    progress_hide(&following.bar);
    if (!made)
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, restore_json(cli, &report), err);
    print_restore(cli, &report);
    return true;
}
