// They are counted first, for who has to agree. What comes meanwhile is not among them: pieces go
// from the newest job to the oldest.
#include "cli/change_many.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/value.h"

enum { SAMPLE = 5 };

struct many {
    struct cli *cli;
    enum job_act act;
    struct progress_bar bar;
    int64_t total;             // 0: not known yet
    int64_t done;
    struct id sample[SAMPLE];  // the first of them
    size_t sampled;
};

static void take(struct many *m, const struct job_bulk *bulk)
{
    for (size_t i = 0; i < bulk->count && m->sampled < SAMPLE; i++)
        m->sample[m->sampled++] = bulk->jobs[i].id;
    m->done += (int64_t)bulk->count;
    progress_show(&m->bar, m->done, m->total);
}

static bool go_through(struct many *m, bool dry_run, struct pawl_error *err)
{
    struct str cursor = S("");
    m->done = 0;
    m->sampled = 0;
    do {
        struct job_bulk bulk = {
            .filter = wanted_jobs(m->cli),
            .retry = m->act == ACT_RETRY,
            .dry_run = dry_run,
        };
        if (!m->cli->backend->change_many(m->cli, &bulk, &cursor, err)) {
            progress_hide(&m->bar);
            return m->done == 0 || dry_run
                     ? false
                     : fail(err, err->code, "%s; %lld were done before", err->message,
                            (long long)m->done);
        }
        take(m, &bulk);
    } while (cursor.n);
    progress_hide(&m->bar);
    return true;
}

static const char *word(const struct many *m, bool dry_run)
{
    if (m->act == ACT_RETRY)
        return dry_run ? "would be retried" : "retried";
    return dry_run ? "would be cancelled" : "cancelled, or asked to stop";
}

static bool print(struct many *m, bool dry_run, struct pawl_error *err)
{
    struct arena *arena = &m->cli->arena;
    json_t *ids = json_array();
    for (size_t i = 0; i < m->sampled; i++) {
        struct str id = id_text(arena, m->sample[i]);
        json_array_append_new(ids, json_stringn(id.s, id.n));
        if (dry_run && !m->cli->given[OPTION_JSON])
            printf("%.*s\n", STR(id));
    }
    if (m->cli->given[OPTION_JSON]) {
        json_t *told = json_pack("{s:b,s:I,s:o}", "dry_run", dry_run, "count",
                                 (json_int_t)m->done, "sample", ids);
        return print_json(arena, told, err);
    }
    json_end(&ids);
    if (dry_run && m->done > (int64_t)m->sampled)
        puts("...");
    printf("%lld job%s %s\n", (long long)m->done, m->done == 1 ? "" : "s", word(m, dry_run));
    return true;
}

static bool agreed(const struct many *m)
{
    char answer[16] = "";
    fprintf(stderr, "%s %lld job%s? [y/N] ", m->act == ACT_RETRY ? "retry" : "cancel",
            (long long)m->total, m->total == 1 ? "" : "s");
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static bool many_meant(const struct cli *cli, struct pawl_error *err)
{
    struct job_filter filter = wanted_jobs(cli);
    if (!job_filter_names(&filter))
        return usage(cli, err, "%s needs an ID, or at least one of --state, --queue, --type, "
                               "--serial-key, --correlation-id, --project and --batch-id",
                     cli->command->name);
    return cli->given[OPTION_DRY_RUN] || cli->given[OPTION_YES] || is_terminal(0)
        || usage(cli, err, "%s of many jobs wants --yes, or --dry-run to see which",
                 cli->command->name);
}

bool change_many(struct cli *cli, enum job_act act, struct pawl_error *err)
{
    struct many m = {
        .cli = cli,
        .act = act,
        .bar = { .world = cli->world, .what = act == ACT_RETRY ? "retry" : "cancel" },
    };
    bool dry_run = cli->given[OPTION_DRY_RUN];
    if (!many_meant(cli, err))
        return false;
    if ((dry_run || !cli->given[OPTION_YES]) && !go_through(&m, true, err))
        return false;
    m.total = m.done;
    if (dry_run || (!cli->given[OPTION_YES] && (m.total == 0 || !agreed(&m))))
        return print(&m, true, err);
    return go_through(&m, false, err) && print(&m, false, err);
}

bool one_meant(const struct cli *cli, struct pawl_error *err)
{
    struct job_filter filter = wanted_jobs(cli);
    if (cli->given[OPTION_DRY_RUN] || cli->given[OPTION_YES])
        return usage(cli, err, "--dry-run and --yes are for many jobs, not for one");
    return !job_filter_names(&filter)
        || usage(cli, err, "an ID and a filter exclude each other");
}
