// pawl queues, pawl queue: without --org the caller is of every org, and so acts on whole queues.
#include <stdio.h>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "engine/queue.h"

enum { PURGE_ROWS = 500 };

static const char *const headings[] = { "QUEUE", "PAUSED", "READY", "RUNNING", "OLDEST", "DELAYED",
                                        "BLOCKED", "BACKOFF", "HELD", "WEIGHT", "LIMIT" };

static void speak_for_org_or_all(struct cli *cli)
{
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");
}

static void add_row(struct table *table, const struct queue_view *queue, pawl_time now)
{
    static const enum queue_place waiting[] = { PLACE_DELAYED, PLACE_BLOCKED, PLACE_BACKOFF,
                                                PLACE_HELD };
    struct arena *arena = table->cells.arena;
    struct str share = queue->share_paused_at ? S("its share") : S("-");
    table_add(table, queue->name);
    table_add(table, queue->paused_at ? S("yes") : share);
    table_add_number(table, queue->at[PLACE_READY]);
    table_add_number(table, queue->at[PLACE_RUNNING]);
    table_add(table, queue->oldest_ready_at ? ago(arena, queue->oldest_ready_at, now) : S("-"));
    for (size_t i = 0; i < countof(waiting); i++)
        table_add_number(table, queue->at[waiting[i]]);
    table_add_number(table, queue->term.weight);
    if (queue->term.depth_max)
        table_add_number(table, queue->term.depth_max);
    else
        table_add(table, S("-"));
}

static bool print_queues_json(struct cli *cli, const struct queue_view *queues, size_t count,
                              struct pawl_error *err)
{
    json_t *items = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(items, queue_json(&cli->arena, &queues[i])) != 0)
            return fail(err, PAWL_NO_MEMORY, "no memory to list queues");
    return print_json(&cli->arena, json_pack("{s:o}", "items", items), err);
}

bool command_queues(struct cli *cli, struct pawl_error *err)
{
    struct queue_view *queues = NULL;
    size_t count = 0;
    SCOPED(tx) struct tx tx = {0};
    speak_for_org_or_all(cli);
    if (!session_open(cli, STORE_READ, err)
        || !session_begin(cli, TX_READ, &cli->arena, &tx, err)
        || !queues_list(&tx, &queues, &count, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_queues_json(cli, queues, count, err);
    struct table table = table_of(&cli->arena, headings, countof(headings));
    for (size_t i = 0; i < count; i++)
        add_row(&table, &queues[i], tx.now);
    table_narrow(&table);
    table_print(&table, "");
    return true;
}

// What was done, or would be, to how many jobs; -1: the number means nothing.
static bool report(struct cli *cli, const char *what, int64_t jobs, struct pawl_error *err)
{
    struct str queue = safe(&cli->arena, cli->words[1]);
    if (cli->given[OPTION_JSON]) {
        json_t *told = json_pack("{s:s%, s:s}", "queue", cli->words[1].s, cli->words[1].n,
                                 "done", what);
        if (told && jobs >= 0)
            json_object_set_new(told, "jobs", json_integer(jobs));
        return print_json(&cli->arena, told, err);
    }
    if (jobs < 0)
        printf("%.*s %s\n", STR(queue), what);
    else
        printf("%.*s %s: %lld %s\n", STR(queue), what, (long long)jobs, jobs == 1 ? "job" : "jobs");
    return true;
}

static bool change(struct cli *cli, const char *what,
                   bool (*act)(struct tx *tx, struct str queue, struct pawl_error *err),
                   struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return session_begin(cli, TX_WRITE, &cli->arena, &tx, err) && act(&tx, cli->words[1], err)
        && tx_commit(&tx, err) && report(cli, what, -1, err);
}

static bool pause_it(struct cli *cli, struct pawl_error *err)
{
    return change(cli, "paused", queue_pause, err);
}

static bool resume_it(struct cli *cli, struct pawl_error *err)
{
    return change(cli, "resumed", queue_resume, err);
}

static bool count_waiting_jobs(struct cli *cli, int64_t *waiting, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return session_begin(cli, TX_READ, &cli->arena, &tx, err)
        && queue_waiting(&tx, cli->words[1], waiting, err);
}

static bool purge_piece(struct cli *cli, struct purge *purge, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return session_begin(cli, TX_WRITE, &arena, &tx, err)
        && queue_purge(&tx, purge, PURGE_ROWS, err) && tx_commit(&tx, err);
}

static bool purge_it(struct cli *cli, struct pawl_error *err)
{
    struct purge purge = { .queue = cli->words[1] };
    struct progress_bar bar = { .world = cli->world, .what = "purge" };
    int64_t waiting = 0, ended = 0;
    if (!count_waiting_jobs(cli, &waiting, err))
        return false;
    if (!cli->given[OPTION_YES])
        return report(cli, "not purged without --yes", waiting, err);
    while (!purge.done) {
        if (!purge_piece(cli, &purge, err)) {
            progress_hide(&bar);
            return false;
        }
        ended += (int64_t)purge.ended;
        progress_show(&bar, ended, waiting);
    }
    progress_hide(&bar);
    return report(cli, "purged", ended, err);
}

static const struct {
    const char *name;
    bool (*act)(struct cli *cli, struct pawl_error *err);
} acts[] = {
    { "pause", pause_it },
    { "resume", resume_it },
    { "purge", purge_it },
};

bool command_queue(struct cli *cli, struct pawl_error *err)
{
    speak_for_org_or_all(cli);
    for (size_t i = 0; i < countof(acts); i++)
        if (str_eq(cli->words[0], str_of(acts[i].name)))
            return session_open(cli, STORE_CHANGE, err) && acts[i].act(cli, err);
    return usage(cli, err, "%.*s: must be pause, resume or purge",
                 STR(safe(&cli->arena, cli->words[0])));
}
