// pawl queues, pawl queue: whole queues on a store without --org, else the share of one org.
#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/queues.h"
#include "cli/verb.h"

static const char *const headings[] = { "QUEUE", "PAUSED", "READY", "RUNNING", "OLDEST", "IN/MIN",
                                        "OUT/MIN", "DELAYED", "BLOCKED", "BACKOFF", "HELD",
                                        "WEIGHT", "LIMIT", "AT ONCE", "RATE" };

static struct str paused(const json_t *queue)
{
    if (object_time(queue, "queue_paused_at"))
        return S("yes");
    return object_time(queue, "share_paused_at") ? S("its share") : S("-");
}

static void add_places(struct table *table, const json_t *queue, const enum queue_place *places,
                       size_t count)
{
    const json_t *jobs = json_object_get(queue, "jobs");
    for (size_t i = 0; i < count; i++)
        table_add_number(table, object_number(jobs, queue_place_name(places[i])));
}

static void add_row(struct table *table, const json_t *queue, pawl_time now)
{
    static const enum queue_place at_work[] = { PLACE_READY, PLACE_RUNNING };
    static const enum queue_place waiting[] = { PLACE_DELAYED, PLACE_BLOCKED, PLACE_BACKOFF,
                                                PLACE_HELD };
    struct arena *arena = table->cells.arena;
    pawl_time oldest = object_time(queue, "oldest_ready_at");
    table_add(table, object_text(queue, "name"));
    table_add(table, paused(queue));
    add_places(table, queue, at_work, countof(at_work));
    table_add(table, oldest ? ago(arena, oldest, now) : S(""));
    table_add_number(table, object_number(queue, "enqueued_per_minute"));
    table_add_number(table, object_number(queue, "ended_per_minute"));
    add_places(table, queue, waiting, countof(waiting));
    table_add_number(table, object_number(queue, "weight"));
    table_add(table, object_value(arena, queue, "depth_max"));
    table_add(table, object_value(arena, queue, "max_running"));
    table_add(table, object_text(queue, "rate"));
}

struct table queues_table(struct arena *arena, const json_t *queues, size_t rows, pawl_time now)
{
    struct table table = table_of(arena, headings, countof(headings));
    for (size_t i = 0; i < rows && i < json_array_size(queues); i++)
        add_row(&table, json_array_get(queues, i), now);
    return table;
}

bool command_queues(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *queues = NULL;
    if (!cli->backend->queues(cli, &queues, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_pack("{s:O}", "items", queues), err);
    struct table table = queues_table(&cli->arena, queues, json_array_size(queues),
                                      world_wall(cli->world));
    table_print_list(&table, "no queues");
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

static bool pause_it(struct cli *cli, struct pawl_error *err)
{
    return cli->backend->queue_pause(cli, cli->words[1], true, err)
        && report(cli, "paused", -1, err);
}

static bool resume_it(struct cli *cli, struct pawl_error *err)
{
    return cli->backend->queue_pause(cli, cli->words[1], false, err)
        && report(cli, "resumed", -1, err);
}

static bool purge_it(struct cli *cli, struct pawl_error *err)
{
    struct purging look = { .dry_run = true }, purging = {0};
    struct progress_bar bar = { .world = cli->world, .what = "purge" };
    int64_t ended = 0;
    bool going = cli->backend->queue_purge(cli, cli->words[1], &look, err);
    if (!going)
        return false;
    if (!cli->given[OPTION_YES])
        return report(cli, "not purged without --yes", look.jobs, err);
    while (going && !purging.done) {
        going = cli->backend->queue_purge(cli, cli->words[1], &purging, err);
        ended += going ? purging.jobs : 0;
        progress_show(&bar, ended, look.jobs);
    }
    progress_hide(&bar);
    return going && report(cli, "purged", ended, err);
}

bool command_queue(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "pause", 2, pause_it },
        { "resume", 2, resume_it },
        { "purge", 2, purge_it },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
