// A batch is handed to the commit pipeline and freed by its answer, on the writer's thread: the run
// may be over by then.
#include "server/command_log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/redact.h"
#include "model/text_rule.h"
#include "run/handle.h"
#include "run/run.h"
#include "server/command.h"

enum { BATCH_LINES = 64 };
#define BATCH_US SECONDS(1)

struct log_batch {
    struct operation operation;
    struct arena arena;
    struct id execution;
    struct log_line lines[BATCH_LINES];
    size_t count;
};

static _Atomic int64_t lines_dropped;

int64_t command_lines_dropped(void)
{
    return atomic_load(&lines_dropped);
}

// ----- storing

static bool store(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct log_batch *batch = (struct log_batch *)self;
    return log_append(tx, batch->execution, batch->lines, batch->count, err);
}

static void let_go(struct log_batch *batch, bool stored)
{
    if (!stored)
        atomic_fetch_add(&lines_dropped, (int64_t)batch->count);
    arena_end(&batch->arena);
    free(batch);
}

static void answered(struct operation *self)
{
    let_go((struct log_batch *)self, self->error.code == PAWL_OK);
}

static void hand_over(struct command_log *log)
{
    struct log_batch *batch = log->batch;
    struct pawl_error err;
    if (!batch)
        return;
    log->batch = NULL;
    batch->operation = (struct operation){ .run = store,
                                           .answered = answered,
                                           .arena = &batch->arena };
    if (batch->arena.failed || !run_submit(log->run, &batch->operation, &err))
        let_go(batch, false);
}

static void begin_batch(struct command_log *log)
{
    log->batch = calloc(1, sizeof *log->batch);
    if (!log->batch)
        return;
    log->batch->execution = log->run->lease.execution;
    log->due = world_end_of(log->run->pawl->world, BATCH_US);
}

static void keep(struct command_log *log, struct str text)
{
    if (!log->batch)
        begin_batch(log);
    if (!log->batch) {
        atomic_fetch_add(&lines_dropped, 1);
        return;
    }
    log->batch->lines[log->batch->count++] = (struct log_line){
        .at = world_wall(log->run->pawl->world),
        .text = str_dup(&log->batch->arena, text),
    };
    if (log->batch->count == BATCH_LINES)
        hand_over(log);
}

// ----- lines

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != ' ')
            return false;
    return true;
}

static void keep_within_bounds(struct command_log *log, struct str text)
{
    size_t bytes = text.n + 1;
    if (log->full)
        return;
    if (bytes <= log->bytes_left) {
        log->bytes_left -= bytes;
        keep(log, text);
        return;
    }
    log->full = true;
    keep(log, S("(the log has reached its maximum: the rest is dropped)"));
}

// The last word of a line that was cut may be half a secret, which nobody would recognise.
static void drop_last_word(struct command_log *log)
{
    size_t n = log->n;
    while (n > 0 && log->line[n - 1] != ' ')
        n--;
    log->n = n;
}

static void end_line(struct command_log *log)
{
    SCOPED(arena) struct arena arena = {0};
    if (log->cut)
        drop_last_word(log);
    for (size_t i = 0; i < log->n; i++)
        log->line[i] = log->line[i] ? log->line[i] : ' ';
    log->line[log->n] = 0;
    text_tidy(log->line, log->cut);
    struct str safe = redact_values(&arena, str_of(log->line), log->secrets);
    safe = redact_line(&arena, safe, &log->in_key);
    safe = text_clip(safe, LOG_LINE_BYTES_MAX);
    if (!is_blank(safe))
        snprintf(log->last, sizeof log->last, "%.*s",
                 STR(text_clip(safe, sizeof log->last - 1)));
    keep_within_bounds(log, safe);
    log->n = 0;
    log->cut = false;
}

// ----- for the command

void log_begin(struct command_log *log, struct pawl_run *run, char *const *secrets,
               size_t bytes_max)
{
    *log = (struct command_log){ .run = run, .secrets = secrets, .bytes_left = bytes_max };
}

void log_take(struct command_log *log, const char *bytes, size_t n)
{
    struct str rest = { bytes, n };
    while (rest.n > 0) {
        struct str piece, tail;
        bool ends = str_cut(rest, '\n', &piece, &tail);
        size_t room = LOG_LINE_BYTES_MAX - log->n;
        size_t taken = piece.n < room ? piece.n : room;
        memcpy(log->line + log->n, piece.s, taken);
        log->n += taken;
        log->cut = log->cut || taken < piece.n;
        if (ends)
            end_line(log);
        rest = tail;
    }
}

int64_t log_tick(struct command_log *log)
{
    if (!log->batch)
        return -1;
    int64_t left = log->due - world_monotonic(log->run->pawl->world);
    if (left > 0)
        return left;
    hand_over(log);
    return -1;
}

void log_end(struct command_log *log)
{
    if (log->n > 0)
        end_line(log);
    hand_over(log);
}
