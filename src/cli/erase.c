// pawl erase, and the erasing of an org: on request, for good.
#include "cli/erase.h"

#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/value.h"
#include "engine/artifact.h"
#include "engine/erase.h"

// What is left outside the records, on a store. A reader that is in the way is no failure: what was
// asked for is done, and the log is emptied later.
static void scrub(struct cli *cli)
{
    struct pawl_error err = {0};
    bool compact = cli->given[OPTION_COMPACT];
    if (!db_scrub(cli->db, compact, &err))
        fprintf(stderr, "pawl: %s\n", err.message);
    else if (!compact && !cli->given[OPTION_JSON])
        puts("older copies may be left in free space of the file: --compact writes it anew");
}

bool command_erase(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    SCOPED(json) json_t *job = NULL;
    if (cli->given[OPTION_COMPACT] && cli->backend != &backend_store)
        return usage(cli, err, "--compact works on a store, not through a server");
    if (!value_job_id(cli, &id, err) || !cli->backend->act(cli, id, ACT_ERASE, &job, err))
        return false;
    if (cli->given[OPTION_JSON]) {
        if (!print_json(&cli->arena, json_incref(job), err))
            return false;
    } else
        print_job_line(&cli->arena, job, "erased");
    if (cli->backend == &backend_store)
        scrub(cli);
    return true;
}

// ----- an org

static bool piece(struct cli *cli, struct org_erasing *e, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return session_begin(cli, e->dry_run ? TX_READ : TX_WRITE, &arena, &tx, err)
        && org_erase_step(&tx, e, err) && tx_commit(&tx, err);
}

static bool all(struct cli *cli, struct org_erasing *e, int64_t jobs, struct pawl_error *err)
{
    struct progress_bar bar = { .world = cli->world, .what = "erase" };
    bool going = true;
    while (going && !e->done) {
        going = piece(cli, e, err);
        progress_show(&bar, e->jobs, jobs);
    }
    progress_hide(&bar);
    size_t files = 0;  // of artifacts whose rows went
    return going && (e->dry_run || artifacts_tidy(cli->db, &files, err));
}

static bool print(struct cli *cli, const struct org_erasing *e, struct pawl_error *err)
{
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena,
                          json_pack("{s:s%,s:b,s:I,s:I,s:I}", "org_id", e->org_id.s, e->org_id.n,
                                    "dry_run", e->dry_run, "jobs", (json_int_t)e->jobs, "keys",
                                    (json_int_t)e->keys, "schedules", (json_int_t)e->schedules),
                          err);
    printf("org %.*s: %lld jobs, %lld keys and %lld schedules %s\n", STR(e->org_id),
           (long long)e->jobs, (long long)e->keys, (long long)e->schedules,
           e->dry_run ? "would be erased; --yes does it" : "erased; it is disabled");
    if (e->dry_run && e->running)
        printf("%lld of the jobs run: wait for their end, or cancel them\n",
               (long long)e->running);
    return true;
}

bool org_erase(struct cli *cli, struct pawl_error *err)
{
    struct org_erasing look = { .org_id = cli->words[1], .dry_run = true };
    struct org_erasing erasing = { .org_id = cli->words[1] };
    bool yes = cli->given[OPTION_YES];
    if (!uuid_valid(cli->words[1]))
        return usage(cli, err, "`%.*s` is no org: it is a UUID in lower case", STR(cli->words[1]));
    if (!session_open(cli, yes ? STORE_CHANGE : STORE_READ, err) || !all(cli, &look, 0, err))
        return false;
    if (!yes)
        return print(cli, &look, err);
    if (!all(cli, &erasing, look.jobs, err) || !print(cli, &erasing, err))
        return false;
    scrub(cli);
    return true;
}
