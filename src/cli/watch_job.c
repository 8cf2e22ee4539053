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
static void bar(struct buf *line, int64_t percent, size_t columns)
{
    size_t taken = line->n + sizeof(" [] 100%");
    columns = columns ? columns : COLUMNS_USUAL;
    int64_t cells = columns > taken + CELLS_MIN ? (int64_t)(columns - taken) : CELLS_MIN;
    cells = cells < CELLS_MAX ? cells : CELLS_MAX;
    buf_add(line, S(" ["));
    for (int64_t i = 0; i < cells; i++)
        buf_add_char(line, i * 100 < percent * cells ? '#' : '-');
    buf_addf(line, "] %3lld%%", (long long)percent);
}

// `RUNNING (running) [#####-----]  17%  page 3 of 18`
static struct str line_of(struct arena *arena, const json_t *job, bool with_bar, size_t columns)
{
    const json_t *progress = json_object_get(job, "progress");
    struct buf line = buf_new(arena, LINE_BYTES);
    struct str message = object_text(progress, "message");
    int64_t percent = object_number(progress, "percent");
    buf_addf(&line, "%.*s (%.*s)", STR(object_text(job, "state")), STR(object_text(job, "phase")));
    if (json_is_object(progress) && with_bar)
        bar(&line, percent, columns);
    else if (json_is_object(progress))
        buf_addf(&line, " %lld%%", (long long)percent);
    if (message.n)
        buf_addf(&line, "  %.*s", STR(message));
    return safe(arena, buf_str(&line));
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
    FILE *to;               // NULL: nobody wants to know
    bool live;              // it is a terminal
    char last[LINE_BYTES];  // what was said last
};

// A line that wraps could not be written over.
static void draw(const struct following *f, struct str line)
{
    size_t columns = terminal_columns(fileno(f->to));
    int most = columns > 1 && line.n >= columns ? (int)columns - 1 : (int)line.n;
    fprintf(f->to, "\r\033[K%.*s", most, line.s);
}

static void tell(struct cli *cli, struct following *f, const json_t *job)
{
    size_t columns = f->live ? terminal_columns(fileno(f->to)) : 0;
    struct str line = line_of(&cli->arena, job, f->live, columns);
    if (!f->to || str_eq(line, str_of(f->last)))
        return;
    snprintf(f->last, sizeof f->last, "%.*s", STR(line));
    if (f->live)
        draw(f, line);
    else
        fprintf(f->to, "%.*s %.*s\n", STR(time_text(&cli->arena, world_wall(cli->world))),
                STR(line));
    fflush(f->to);
}

// True and `ended` when there is nothing more to wait for.
static bool look(struct cli *cli, struct following *f, json_t **ended, struct pawl_error *err)
{
    SCOPED(json) json_t *job = NULL;
    if (!record(cli, f->id, &job, err))
        return false;
    if (object_ended(job))
        *ended = json_incref(job);
    else
        tell(cli, f, job);
    return true;
}

bool watch_to_end(struct cli *cli, struct id id, FILE *to, json_t **ended, struct pawl_error *err)
{
    struct following f = { .id = id, .to = to, .live = to && is_terminal(fileno(to)) };
    bool looked = true;
    while (looked && !*ended) {
        struct arena kept = cli->arena;  // it may take days
        cli->arena = (struct arena){0};
        looked = look(cli, &f, ended, err);
        arena_end(&cli->arena);
        cli->arena = kept;
        if (looked && !*ended)
            world_sleep(cli->world, WATCH_EVERY_US);
    }
    if (f.live) {
        fputs("\r\033[K", to);
        fflush(to);
    }
    return looked;
}

bool watch_job(struct cli *cli, struct pawl_error *err)
{
    struct id id;
    enum job_state state;
    bool json = cli->given[OPTION_JSON];
    SCOPED(json) json_t *job = NULL;
    if (!value_job_id(cli, &id, err) || !watch_to_end(cli, id, json ? NULL : stdout, &job, err))
        return false;
    cli->status = object_state(job, &state) && state == JOB_SUCCEEDED ? 0 : 1;
    if (json)
        return print_json(&cli->arena, json_incref(job), err);
    print_job_line(&cli->arena, job, "");
    return true;
}
