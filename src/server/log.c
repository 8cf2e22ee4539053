// Two buffers: one is filled while the other is carried out.
#include "server/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/world.h"

enum { BUFFER_BYTES = 256 << 10,
       PIECE_BYTES = 4096,      // a pipe that says it is writable takes as much without waiting
       BLOCKED_MS = 500 };      // how often a log that is blocked looks whether it is to end

struct lines {
    char *bytes;
    size_t used;
};

struct server_log {
    int fd;
    size_t buffer_bytes;
    _Atomic int level;
    pthread_t carrier;
    pthread_mutex_t mutex;  // guards what follows up to the blank line
    pthread_cond_t news;
    struct lines filling;
    int64_t dropped;        // and not told yet
    bool closing;
    int64_t until;          // by the monotonic clock: then it is closed, whatever is left
    bool ended;             // the carrier has
    pthread_cond_t end;

    struct lines carried;   // the carrier's, as the next one
    bool torn;              // the last line that was written lacks its end
};

static struct str line_of(struct arena *arena, const struct log_entry *entry)
{
    return log_line(arena, entry, world_wall(world_real()));
}

// ----- carrying out

static bool time_is_over(struct server_log *log)
{
    pthread_mutex_lock(&log->mutex);
    bool over = log->closing && world_monotonic(world_real()) >= log->until;
    pthread_mutex_unlock(&log->mutex);
    return over;
}

// Waits until the descriptor takes something. False when it is time to end.
static bool wait_for_room(struct server_log *log)
{
    struct pollfd to = { .fd = log->fd, .events = POLLOUT };
    do {
        if (time_is_over(log))
            return false;
    } while (poll(&to, 1, BLOCKED_MS) == 0);
    return true;
}

// As many whole lines as a piece holds, or a part of a line that is longer.
static size_t piece_of(struct str bytes)
{
    if (bytes.n <= PIECE_BYTES)
        return bytes.n;
    const char *end = memrchr(bytes.s, '\n', PIECE_BYTES);
    return end ? (size_t)(end - bytes.s) + 1 : PIECE_BYTES;
}

// False when the descriptor does not take all of it; what is left is in `bytes`.
static bool put(struct server_log *log, struct str *bytes)
{
    while (bytes->n > 0) {
        if (!wait_for_room(log))
            return false;
        ssize_t written = write(log->fd, bytes->s, piece_of(*bytes));
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (written <= 0)
            continue;
        log->torn = bytes->s[written - 1] != '\n';
        *bytes = (struct str){ bytes->s + written, bytes->n - (size_t)written };
    }
    return true;
}

static int64_t lines_in(struct str bytes)
{
    int64_t count = 0;
    for (size_t i = 0; i < bytes.n; i++)
        count += bytes.s[i] == '\n';
    return count;
}

// How many lines the descriptor did not take. A line that was cut off by that is ended before the
// next one.
static int64_t carry(struct server_log *log, struct str bytes)
{
    struct str end = S("\n");
    bool put_all = (!log->torn || put(log, &end)) && put(log, &bytes);
    return put_all ? 0 : lines_in(bytes);
}

static int64_t take_dropped(struct server_log *log)
{
    pthread_mutex_lock(&log->mutex);
    int64_t dropped = log->dropped;
    log->dropped = 0;
    pthread_mutex_unlock(&log->mutex);
    return dropped;
}

static void drop(struct server_log *log, int64_t lines)
{
    pthread_mutex_lock(&log->mutex);
    log->dropped += lines;
    pthread_mutex_unlock(&log->mutex);
}

// Tells how many lines are missing here; if that cannot be told either, it is told later.
static void tell_dropped(struct server_log *log)
{
    SCOPED(arena) struct arena arena = {0};
    int64_t dropped = take_dropped(log);
    struct log_entry entry = {
        .level = LOG_LEVEL_WARNING,
        .event = "LOG_DROPPED",
        .message = S("lines were not written, because nobody took them"),
        .fields = { LOG_INT("dropped", dropped) },
    };
    if (dropped > 0 && carry(log, line_of(&arena, &entry)) > 0)
        drop(log, dropped);
}

// Takes what has gathered. False when there is nothing and it is time to end.
static bool take_filled(struct server_log *log)
{
    pthread_mutex_lock(&log->mutex);
    while (log->filling.used == 0 && !log->closing)
        pthread_cond_wait(&log->news, &log->mutex);
    struct lines taken = log->filling;
    log->filling = log->carried;
    log->carried = taken;
    pthread_mutex_unlock(&log->mutex);
    return taken.used > 0;
}

static void *carry_out(void *self)
{
    struct server_log *log = self;
    while (take_filled(log)) {
        struct lines *lines = &log->carried;
        int64_t lost = carry(log, (struct str){ lines->bytes, lines->used });
        lines->used = 0;
        if (lost > 0)
            drop(log, lost);
        else
            tell_dropped(log);
    }
    pthread_mutex_lock(&log->mutex);
    log->ended = true;
    pthread_cond_signal(&log->end);
    pthread_mutex_unlock(&log->mutex);
    return NULL;
}

// ----- the log

static void free_log(struct server_log *log)
{
    pthread_cond_destroy(&log->end);
    pthread_cond_destroy(&log->news);
    pthread_mutex_destroy(&log->mutex);
    free(log->filling.bytes);
    free(log->carried.bytes);
    free(log);
}

// Signals are the program's affair; and a pipe nobody reads is an error here, not its end.
static bool start(struct server_log *log)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&log->carrier, NULL, carry_out, log) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

bool log_open(struct server_log **handle, const struct log_options *options,
              struct pawl_error *err)
{
    *handle = NULL;
    struct server_log *log = calloc(1, sizeof *log);
    if (!log)
        return fail(err, PAWL_NO_MEMORY, "no memory for the log");
    log->fd = options->fd;
    log->level = options->level;
    log->buffer_bytes = options->buffer_bytes ? options->buffer_bytes : BUFFER_BYTES;
    pthread_mutex_init(&log->mutex, NULL);
    pthread_cond_init(&log->news, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&log->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    log->filling.bytes = malloc(log->buffer_bytes);
    log->carried.bytes = malloc(log->buffer_bytes);
    if (!log->filling.bytes || !log->carried.bytes || !start(log)) {
        free_log(log);
        return fail(err, PAWL_NO_MEMORY, "no memory for the log");
    }
    *handle = log;
    return true;
}

// Asks the carrier to end by then. False when it has not, a second later.
static bool end_by(struct server_log *log, int64_t until)
{
    int64_t late = until + SECONDS(1);
    struct timespec at = { .tv_sec = late / SECONDS(1), .tv_nsec = late % SECONDS(1) * 1000 };
    pthread_mutex_lock(&log->mutex);
    log->closing = true;
    log->until = until;
    pthread_cond_signal(&log->news);
    int result = 0;
    while (!log->ended && result == 0)
        result = pthread_cond_timedwait(&log->end, &log->mutex, &at);
    bool ended = log->ended;
    pthread_mutex_unlock(&log->mutex);
    return ended;
}

// A carrier that is stuck in a write cannot be waited for: it keeps its memory, and the program
// ends without it.
void log_close(struct server_log *log, int64_t wait_us)
{
    if (!log)
        return;
    if (!end_by(log, world_monotonic(world_real()) + wait_us)) {
        pthread_detach(log->carrier);
        return;
    }
    pthread_join(log->carrier, NULL);
    free_log(log);
}

void log_set_level(struct server_log *log, enum log_level level)
{
    log->level = level;
}

static void leave(struct server_log *log, struct str line)
{
    pthread_mutex_lock(&log->mutex);
    struct lines *to = &log->filling;
    if (line.n == 0 || line.n > log->buffer_bytes - to->used) {
        log->dropped++;
    } else {
        memcpy(to->bytes + to->used, line.s, line.n);
        to->used += line.n;
        pthread_cond_signal(&log->news);
    }
    pthread_mutex_unlock(&log->mutex);
}

void log_write(struct server_log *log, const struct log_entry *entry)
{
    if (!log || (int)entry->level < log->level)
        return;
    SCOPED(arena) struct arena arena = {0};
    leave(log, line_of(&arena, entry));
}

void log_of_library(void *self, const struct pawl_log_line *line)
{
    struct server_log *log = self;
    struct log_entry entry = {
        .level = line->warning ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
        .event = line->event,
        .message = str_of(line->message),
        .about = { .request_id = str_of(line->request_id),
                   .correlation_id = str_of(line->correlation_id),
                   .job_id = str_of(line->job_id),
                   .job_type = str_of(line->job_type),
                   .org_id = str_of(line->org_id),
                   .project_id = str_of(line->project_id),
                   .attempt = line->attempt },
    };
    log_write(log, &entry);
}
