// pawl watch ID: a line that is written over on a terminal, a line for each change elsewhere.
#include <stdio.h>

#include "base/time_text.h"
#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/value.h"
#include "cli/watch.h"

enum { CELLS_MAX = 30, CELLS_MIN = 5, LINE_BYTES = 512, COLUMNS_USUAL = 80 };

// As long as the line has room for it.
static void bar(struct buf *line, int64_t percent)
{
    size_t columns = terminal_columns(1), taken = line->n + sizeof(" [] 100%");
    columns = columns ? columns : COLUMNS_USUAL;
    int64_t cells = columns > taken + CELLS_MIN ? (int64_t)(columns - taken) : CELLS_MIN;
    cells = cells < CELLS_MAX ? cells : CELLS_MAX;
    buf_add(line, S(" ["));
    for (int64_t i = 0; i < cells; i++)
        buf_add_char(line, i * 100 < percent * cells ? '#' : '-');
    buf_addf(line, "] %3lld%%", (long long)percent);
}

// `RUNNING (running) [#####-----]  17%  page 3 of 18`
static struct str line_of(struct arena *arena, const json_t *job, bool with_bar)
{
    const json_t *progress = json_object_get(job, "progress");
    struct buf line = buf_new(arena, LINE_BYTES);
    struct str message = object_text(progress, "message");
    int64_t percent = object_number(progress, "percent");
    buf_addf(&line, "%.*s (%.*s)", STR(object_text(job, "state")), STR(object_text(job, "phase")));
    if (json_is_object(progress) && with_bar)
        bar(&line, percent);
    else if (json_is_object(progress))
        buf_addf(&line, " %lld%%", (long long)percent);
    if (message.n)
        buf_addf(&line, "  %.*s", STR(message));
    return safe(arena, buf_str(&line));
}

// A line that wraps could not be written over.
static void draw(struct str line)
{
    size_t columns = terminal_columns(1);
    int most = columns > 1 && line.n >= columns ? (int)columns - 1 : (int)line.n;
    printf("\r\033[K%.*s", most, line.s);
    fflush(stdout);
}

static bool record(struct cli *cli, struct id id, json_t **job, struct pawl_error *err)
{
    SCOPED(json) json_t *found = NULL;
    if (!cli->backend->record(cli, id, &found, err))
        return false;
    *job = json_incref(json_object_get(found, "job"));
    return *job || fail(err, PAWL_STORE, "the answer holds no job");
}

struct following {
    struct id id;
    bool live;
    char last[LINE_BYTES];  // what was said last
};

static void tell(struct cli *cli, struct following *f, const json_t *job)
{
    struct str line = line_of(&cli->arena, job, f->live);
    if (str_eq(line, str_of(f->last)) || cli->given[OPTION_JSON])
        return;
    snprintf(f->last, sizeof f->last, "%.*s", STR(line));
    if (f->live) {
        draw(line);
        return;
    }
    printf("%.*s %.*s\n", STR(time_text(&cli->arena, world_wall(cli->world))), STR(line));
    fflush(stdout);
}

static bool finish(struct cli *cli, struct following *f, json_t *job, struct pawl_error *err)
{
    enum job_state state;
    cli->status = object_state(job, &state) && state == JOB_SUCCEEDED ? 0 : 1;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(job), err);
    fputs(f->live ? "\r\033[K" : "", stdout);
    print_job_line(&cli->arena, job, "");
    return true;
}

// True and `ended` when there is nothing more to wait for.
static bool look(struct cli *cli, struct following *f, bool *ended, struct pawl_error *err)
{
    SCOPED(json) json_t *job = NULL;
    if (!record(cli, f->id, &job, err))
        return false;
    *ended = object_ended(job);
    if (*ended)
        return finish(cli, f, job, err);
    tell(cli, f, job);
    return true;
}

bool watch_job(struct cli *cli, struct pawl_error *err)
{
    struct following f = { .live = is_terminal(1) && !cli->given[OPTION_JSON] };
    bool ended = false;
    if (!value_job_id(cli, &f.id, err))
        return false;
    while (!ended) {
        struct arena kept = cli->arena;  // it may take days
        cli->arena = (struct arena){0};
        bool looked = look(cli, &f, &ended, err);
        arena_end(&cli->arena);
        cli->arena = kept;
        if (!looked)
            return false;
        if (!ended)
            world_sleep(cli->world, WATCH_EVERY_US);
    }
    return true;
}
