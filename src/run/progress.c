// How far a run is, and waiting inside a handler.
//
// A handler may tell its progress as often as it likes. What comes less than PROGRESS_US after the
// last that was written waits for the next tick, and only the newest is kept. What waits when the
// work is done goes with its commit.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "run/runner.h"

#define PROGRESS_US MILLISECONDS(100)

struct progress_operation {
    struct operation operation;
    struct pawl_run *run;
    struct progress progress;
};

static bool write_progress(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct progress_operation *o = (struct progress_operation *)self;
    struct execution e;
    return execution_progress(tx, &o->run->lease, &o->progress, &e, err);
}

// Takes the newest, and says whether it should be written now.
static bool take(struct pawl_run *run, int percent, const char *text)
{
    struct runner *r = run->runner;
    int64_t now = world_monotonic(run->pawl->world);
    pthread_mutex_lock(&r->mutex);
    bool due = now >= run->progress_next;
    run->percent = percent;
    memcpy(run->progress, text, strlen(text) + 1);
    run->progress_waits = !due;
    if (due)
        run->progress_next = now + PROGRESS_US;
    pthread_mutex_unlock(&r->mutex);
    return due;
}

void pawl_progress(struct pawl_run *run, int percent, const char *format, ...)
{
    SCOPED(arena) struct arena arena = {0};
    char text[PROGRESS_BYTES_MAX + 1] = "";
    va_list args;
    va_start(args, format);
    int length = format ? vsnprintf(text, sizeof text, format, args) : 0;
    va_end(args);
    text_tidy(text, length >= (int)sizeof text);
    int shown = percent < 0 ? 0 : percent > 100 ? 100
                                                : percent;
    if (!take(run, shown, text))
        return;
    struct progress_operation o = {
        .operation = { .run = write_progress, .arena = &arena },
        .run = run,
        .progress = { shown, str_of(text) },
    };
    struct pawl_error err = {0};
    if (!run_do(run, &o.operation, &err) && err.code == PAWL_FENCED)
        runner_stop_run(run, PAWL_STOP_LEASE_LOST);
}

bool progress_write_last(struct tx *tx, struct pawl_run *run, struct pawl_error *err)
{
    struct execution e;
    struct progress last = {0};
    pthread_mutex_lock(&run->runner->mutex);
    bool waits = run->progress_waits;
    if (waits)
        last = (struct progress){ run->percent, str_dup(tx->arena, str_of(run->progress)) };
    pthread_mutex_unlock(&run->runner->mutex);
    return !waits || execution_progress(tx, &run->lease, &last, &e, err);
}

bool pawl_pause(struct pawl_run *run, int64_t microseconds)
{
    return runner_pause(run, microseconds);
}
