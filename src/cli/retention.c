// pawl retention: what the scheduled job of the same name does, at once and on a store; or only how
// much it would be.
#include <stdio.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "engine/artifact.h"
#include "engine/retention.h"
#include "server/config.h"

static bool piece(struct cli *cli, struct removing *r, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return session_begin(cli, r->dry_run ? TX_READ : TX_WRITE, &arena, &tx, err)
        && retention_step(&tx, r, err) && tx_commit(&tx, err);
}

static bool print(struct cli *cli, const struct removing *r, struct pawl_error *err)
{
    if (cli->given[OPTION_JSON]) {
        json_t *told = json_pack("{s:b,s:I}", "dry_run", r->dry_run, "broken_seal",
                                 (json_int_t)r->broken_seal);
        for (size_t i = 0; told && i < REMOVED_KINDS; i++)
            json_object_set_new(told, removed_kind_name((enum removed_kind)i),
                                json_integer(r->removed[i]));
        return print_json(&cli->arena, told, err);
    }
    static const char *const words[] = {
        [REMOVED_LOGS] = "of their logs",
        [REMOVED_JOBS] = "ended jobs",
        [REMOVED_SKIPS] = "slots that were skipped",
        [REMOVED_ARTIFACTS] = "artifacts of no job",
        [REMOVED_EVENTS] = "audit events",
    };
    _Static_assert(countof(words) == REMOVED_KINDS, "words for each kind");
    for (size_t i = 0; i < REMOVED_KINDS; i++)
        printf("%lld %s %s\n", (long long)r->removed[i],
               i == REMOVED_LOGS && r->dry_run ? "logs" : i == REMOVED_LOGS ? "lines"
                                                                            : words[i],
               i == REMOVED_LOGS && !r->dry_run ? words[i] : r->dry_run ? "would go"
                                                                        : "removed");
    if (r->broken_seal)
        printf("seal %lld does not fit its events: they are kept; see `pawl audit verify`\n",
               (long long)r->broken_seal);
    return true;
}

bool command_retention(struct cli *cli, struct pawl_error *err)
{
    struct config config;
    struct progress_bar bar = { .world = cli->world, .what = "retention" };
    struct removing r = { .dry_run = cli->given[OPTION_DRY_RUN] };
    int64_t rows = 0;
    bool going = session_config(cli, &config, err)
              && session_open(cli, r.dry_run ? STORE_READ : STORE_CHANGE, err);
    r.keep = config.retention.keep;
    while (going && !r.done) {
        going = piece(cli, &r, err);
        progress_show(&bar, rows += r.rows, 0);
        if (going && !r.dry_run)
            world_sleep(cli->world, r.rows * SECONDS(1) / config.retention.rate);
    }
    progress_hide(&bar);
    size_t files = 0;
    return going && (r.dry_run || artifacts_tidy(cli->db, &files, err)) && print(cli, &r, err);
}
