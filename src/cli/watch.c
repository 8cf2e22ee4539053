// pawl watch: what goes on, once a second. On a terminal a screen that is drawn again; else a line,
// or with --json an object, for each look.
#include "cli/watch.h"

#include <stdio.h>

#include "base/time_text.h"
#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/queues.h"
#include "cli/screen.h"
#include "cli/value.h"

enum { ROWS_USUAL = 24, TITLES = 9, QUEUES_MIN = 3 };

struct sums {
    int64_t ready, running, waiting, in, out;
};

static struct sums sums_of(const json_t *queues)
{
    struct sums sums = {0};
    for (size_t i = 0; i < json_array_size(queues); i++) {
        const json_t *queue = json_array_get(queues, i);
        const json_t *jobs = json_object_get(queue, "jobs");
        sums.ready += object_number(jobs, "ready");
        sums.running += object_number(jobs, "running");
        sums.waiting += object_number(queue, "waiting");
        sums.in += object_number(queue, "enqueued_per_minute");
        sums.out += object_number(queue, "ended_per_minute");
    }
    return sums;
}

// ----- lines

static bool print_line(struct cli *cli, const struct view *view, struct pawl_error *err)
{
    struct str now = time_text(&cli->arena, world_wall(cli->world));
    struct sums sums = sums_of(view->queues);
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena,
                          json_pack("{s:s%, s:O, s:O, s:O}", "at", now.s, now.n, "queues",
                                    view->queues, "workers", view->workers, "ends", view->ends),
                          err);
    printf("%.*s waiting %lld, ready %lld, running %lld, in/min %lld, out/min %lld, workers %zu\n",
           STR(now), (long long)sums.waiting, (long long)sums.ready, (long long)sums.running,
           (long long)sums.in, (long long)sums.out, json_array_size(view->workers));
    return true;
}

// ----- the screen

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void print_table(struct table *table)
{
    table_narrow(table);
    table_print(table, "");
}

static void print_workers(struct cli *cli, const json_t *workers, size_t rows)
{
    static const char *const headings[] = { "WORKER", "RUNS", "LEASE ENDS", "INSTANCE" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    pawl_time now = world_wall(cli->world);
    for (size_t i = 0; i < at_most(rows, json_array_size(workers)); i++) {
        const json_t *worker = json_array_get(workers, i);
        table_add(&table, object_text(worker, "worker_id"));
        table_add_number(&table, object_number(worker, "executions"));
        pawl_time ends = object_time(worker, "lease_expires_at");
        table_add(&table, ends ? ago(&cli->arena, ends, now) : S(""));
        table_add(&table, object_text(worker, "instance"));
    }
    print_table(&table);
}

static void print_ends(struct cli *cli, const json_t *ends, size_t rows)
{
    static const char *const headings[] = { "ENDED", "HOW", "TYPE", "JOB" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    pawl_time now = world_wall(cli->world);
    for (size_t i = 0; i < at_most(rows, json_array_size(ends)); i++) {
        const json_t *event = json_array_get(ends, i);
        struct str how = object_text(event, "event"), group, word;
        table_add(&table, ago(&cli->arena, object_time(event, "at"), now));
        table_add(&table, str_cut(how, '.', &group, &word) ? word : how);
        table_add(&table, object_text(event, "job_type"));
        table_add(&table, object_text(event, "job_id"));
    }
    print_table(&table);
}

// Half of the room is for queues, the rest for workers and ends: a table that is longer is cut.
static void print_frame(struct cli *cli, const struct view *view, const char *trouble)
{
    struct str now = time_text(&cli->arena, world_wall(cli->world));
    struct sums sums = sums_of(view->queues);
    size_t rows = terminal_rows(1), columns = terminal_columns(1);
    size_t room = (rows ? rows : ROWS_USUAL) > TITLES ? (rows ? rows : ROWS_USUAL) - TITLES : 0;
    size_t queues = at_most(json_array_size(view->queues), room / 2 + QUEUES_MIN);
    size_t workers = at_most(json_array_size(view->workers), (room - at_most(room, queues)) / 2);
    struct str title = str_format(
        &cli->arena, "pawl  %.*s  %lld wait, %lld run, %lld came and %lld ended in a minute",
        STR(now), (long long)sums.waiting, (long long)sums.running, (long long)sums.in,
        (long long)sums.out);
    struct str line = *trouble ? safe(&cli->arena, str_of(trouble)) : title;
    frame_begin();
    printf("%.*s\n\n", (int)at_most(line.n, columns ? columns : line.n), line.s);
    struct table table = queues_table(&cli->arena, view->queues, queues, world_wall(cli->world));
    print_table(&table);
    putchar('\n');
    print_workers(cli, view->workers, workers);
    putchar('\n');
    print_ends(cli, view->ends, room - at_most(room, queues + workers));
    frame_end();
}

// ----- again and again

struct watching {
    bool live;
    int64_t left;   // looks; negative: no end
    struct view view;
};

static void watching_end(struct watching *w)
{
    if (w->live)
        screen_close();
    view_end(&w->view);
}

// Once it has been seen, a store or server that does not answer is waited for.
static bool look_again(struct cli *cli, struct watching *w, struct pawl_error *err)
{
    struct pawl_error why = {0};
    struct view view;
    bool seen = view_look(cli, &view, &why);
    if (seen) {
        view_end(&w->view);
        w->view = view;
    } else {
        view_end(&view);
        if (!w->view.queues)
            return fail(err, why.code, "%s", why.message);
    }
    if (w->live) {
        print_frame(cli, &w->view, seen ? "" : why.message);
        return true;
    }
    if (!seen)
        fprintf(stderr, "pawl: %.*s\n", STR(safe(&cli->arena, str_of(why.message))));
    return !seen || print_line(cli, &w->view, err);
}

// What a look needs in memory goes with it: it may be looked at for days.
static bool look_once(struct cli *cli, struct watching *w, struct pawl_error *err)
{
    struct arena kept = cli->arena;
    cli->arena = (struct arena){0};
    bool looked = look_again(cli, w, err);
    arena_end(&cli->arena);
    cli->arena = kept;
    return looked;
}

bool command_watch(struct cli *cli, struct pawl_error *err)
{
    if (cli->word_count > 0)
        return watch_job(cli, err);
    SCOPED(watching) struct watching w = {
        .left = cli->given[OPTION_COUNT] ? value_number(cli, OPTION_COUNT) : -1,
    };
    bool live = is_terminal(1) && !cli->given[OPTION_JSON];
    if (live) {
        screen_open();
        w.live = true;
    }
    while (look_once(cli, &w, err)) {
        if (fflush(stdout) != 0)
            return fail(err, PAWL_STORE, "nobody reads the output any more");
        if (w.left > 0 && --w.left == 0)
            return true;
        if (live)
            screen_wait(WATCH_EVERY_US);
        else
            world_sleep(cli->world, WATCH_EVERY_US);
    }
    return false;
}
