// The ring between those who commit and the one who sends. What a note is about is read from the
// store when its span is made: a commit pays for a few words in memory, not for a span.
#include "server/tracer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/event.h"
#include "server/log.h"
#include "server/outbound.h"
#include "server/server.h"
#include "server/span.h"

enum { NOTES_MAX = 8192, BATCH = 256, BODY_BYTES_MAX = 4 << 20, REPLY_BYTES_MAX = 4096 };

#define GATHER_US SECONDS(1)
#define PAUSE_US SECONDS(1)
#define PAUSE_US_MAX SECONDS(60)

struct tracer {
    struct server *server;
    const struct config_tracing *config;
    struct arena arena;          // of what lives as long as the tracer
    struct outbound *outbound;
    pthread_t thread;
    bool runs;

    pthread_mutex_t mutex;       // guards the notes; taken for a moment only
    pthread_cond_t wake;
    struct span_note notes[NOTES_MAX];
    size_t first, count;
    bool stopping;

    _Atomic int64_t sent, refused, full, gone;
};

// ----- taking notes

static void add_note(struct tracer *t, const struct span_note *note)
{
    if (t->count == NOTES_MAX) {
        t->full++;
        return;
    }
    t->notes[(t->first + t->count++) % NOTES_MAX] = *note;
    if (t->count == 1 || t->count == BATCH)
        pthread_cond_signal(&t->wake);
}

static bool ends_execution(enum event event)
{
    return event == EVENT_JOB_SUCCEEDED || event == EVENT_JOB_RETRIED || event == EVENT_JOB_RELEASED
        || event == EVENT_JOB_FAILED || event == EVENT_JOB_CANCELLED;
}

// An attempt that never started did nothing; a job enters its queue for the first time once.
static enum span_note_kind kind_of(const struct observation *event)
{
    if (event->event == EVENT_JOB_ENQUEUED && event->attempt == 0)
        return NOTE_ENQUEUED;
    bool ended = event->started_at && ends_execution((enum event)event->event);
    return ended ? NOTE_EXECUTED : NOTE_NONE;
}

void tracer_observe(struct tracer *t, const struct observed *observed)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < observed->count; i++) {
        struct span_note note = { .kind = kind_of(&observed->events[i]),
                                  .at = observed->at,
                                  .job = observed->events[i].job.high,
                                  .attempt = observed->events[i].attempt };
        if (note.kind != NOTE_NONE)
            add_note(t, &note);
    }
    pthread_mutex_unlock(&t->mutex);
}

void tracer_request(struct tracer *t, const struct traced_request *request)
{
    struct span_note note = { .kind = NOTE_REQUEST,
                              .at = world_wall(t->server->pawl->world),
                              .trace = request->trace,
                              .parent = request->parent,
                              .method = request->method,
                              .route = request->route,
                              .status = request->status,
                              .took_us = request->took_us };
    if (request->org_id.n == sizeof note.org_id)
        memcpy(note.org_id, request->org_id.s, sizeof note.org_id);
    pthread_mutex_lock(&t->mutex);
    add_note(t, &note);
    pthread_mutex_unlock(&t->mutex);
}

// ----- sending

static struct timespec after(int64_t wait_us)
{
    int64_t end = world_end_of(world_real(), wait_us);
    return (struct timespec){ .tv_sec = end / SECONDS(1), .tv_nsec = end % SECONDS(1) * 1000 };
}

// Waits for a batch, or for what has gathered in a second. 0: it is time to end, and nothing is
// left.
static size_t take_notes(struct tracer *t, struct span_note *notes)
{
    pthread_mutex_lock(&t->mutex);
    while (t->count == 0 && !t->stopping)
        pthread_cond_wait(&t->wake, &t->mutex);
    struct timespec until = after(GATHER_US);
    while (t->count < BATCH && !t->stopping
           && pthread_cond_timedwait(&t->wake, &t->mutex, &until) == 0) {}
    size_t count = t->count < BATCH ? t->count : BATCH;
    for (size_t i = 0; i < count; i++)
        notes[i] = t->notes[(t->first + i) % NOTES_MAX];
    t->first = (t->first + count) % NOTES_MAX;
    t->count -= count;
    pthread_mutex_unlock(&t->mutex);
    return count;
}

// False: it is time to end.
static bool pause_for(struct tracer *t, int64_t wait_us)
{
    struct timespec until = after(wait_us);
    pthread_mutex_lock(&t->mutex);
    while (!t->stopping && pthread_cond_timedwait(&t->wake, &t->mutex, &until) == 0) {}
    bool goes_on = !t->stopping;
    pthread_mutex_unlock(&t->mutex);
    return goes_on;
}

static void say(struct tracer *t, enum log_level level, const char *event, struct str message)
{
    struct log_entry entry = { .level = level, .event = event, .message = message };
    log_write(t->server->log, &entry);
}

// The message of a batch, and how many spans it has.
static size_t write_spans(struct tracer *t, const struct span_note *notes, size_t count,
                          struct buf *body)
{
    struct span_writer writer = { .out = body, .per_million = t->config->per_million };
    struct pawl_error err = {0};
    struct reading reading;
    if (!server_begin_read(t->server, &reading, body->arena, &err)) {
        t->gone += (int64_t)count;
        return 0;
    }
    spans_open(body, t->config->service_name, str_of(t->server->pawl->options.instance));
    for (size_t i = 0; i < count; i++)
        if (!span_write(&writer, &reading.tx, &notes[i], &err))
            writer.gone++;
    spans_close(body);
    server_end_read(t->server, &reading);
    t->gone += (int64_t)writer.gone;
    return writer.count;
}

enum sent { SENT, REFUSED, NOT_NOW };

static enum sent send(struct tracer *t, struct str body, int64_t *asked_us, struct str *why,
                      struct arena *arena)
{
    struct outbound_message message = { .body = body };
    struct outbound_reply reply = {0};
    struct pawl_error err = {0};
    bool answered = outbound_post(t->outbound, &message, arena, &reply, &err);
    *asked_us = reply.retry_after_us;
    *why = answered ? str_format(arena, "the collector answers with %d", reply.status)
                    : str_dup(arena, str_of(err.message));
    if (answered && reply.status >= 200 && reply.status < 300)
        return SENT;
    return !answered || reply.status == 429 || reply.status >= 500 ? NOT_NOW : REFUSED;
}

// Until the collector has taken or refused it: meanwhile the ring fills up. `*healthy` is whether
// the last message was taken.
static void deliver(struct tracer *t, struct str body, size_t spans, bool *healthy)
{
    int64_t pause_us = PAUSE_US;
    for (;;) {
        SCOPED(arena) struct arena arena = {0};
        int64_t asked_us = 0;
        struct str why;
        enum sent sent = send(t, body, &asked_us, &why, &arena);
        if (*healthy && sent != SENT)
            say(t, LOG_LEVEL_WARNING, "TRACES_NOT_SENT", why);
        if (!*healthy && sent == SENT)
            say(t, LOG_LEVEL_INFO, "TRACES_SENT_AGAIN", S("the collector takes them again"));
        *healthy = sent == SENT;
        if (sent == SENT)
            t->sent += (int64_t)spans;
        if (sent == SENT)
            return;
        if (sent == REFUSED || !pause_for(t, asked_us > pause_us ? asked_us : pause_us)) {
            t->refused += (int64_t)spans;
            return;
        }
        pause_us = pause_us * 2 < PAUSE_US_MAX ? pause_us * 2 : PAUSE_US_MAX;
    }
}

static bool is_stopping(struct tracer *t)
{
    pthread_mutex_lock(&t->mutex);
    bool stopping = t->stopping;
    pthread_mutex_unlock(&t->mutex);
    return stopping;
}

// At the end what is left is sent as long as the collector takes it, within the time of a message.
static void *export_spans(void *self)
{
    struct tracer *t = self;
    struct span_note *notes = arena_new(&t->arena, struct span_note, BATCH);
    bool healthy = true;
    int64_t until = INT64_MAX;
    size_t count = 0;
    while (notes && world_monotonic(world_real()) < until && (count = take_notes(t, notes)) > 0) {
        SCOPED(arena) struct arena arena = {0};
        struct buf body = buf_new(&arena, BODY_BYTES_MAX);
        size_t spans = write_spans(t, notes, count, &body);
        if (body.full)
            t->gone += (int64_t)spans;
        else if (spans > 0)
            deliver(t, buf_str(&body), spans, &healthy);
        if (until == INT64_MAX && is_stopping(t))
            until = healthy ? world_end_of(world_real(), t->config->timeout_us) : 0;
    }
    return NULL;
}

// ----- the whole

// Where spans go: the collector's path is by convention.
static struct str spans_url(struct arena *arena, struct str endpoint)
{
    if (str_ends(endpoint, S("/v1/traces")))
        return endpoint;
    while (str_ends(endpoint, S("/")))
        endpoint.n--;
    return str_format(arena, "%.*s/v1/traces", STR(endpoint));
}

static bool start_thread(struct tracer *t, struct pawl_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    t->runs = pthread_create(&t->thread, NULL, export_spans, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t->runs || fail(err, PAWL_FULL, "no thread for the traces");
}

bool tracer_open(struct tracer **opened, struct server *server, struct pawl_error *err)
{
    const struct config_tracing *config = &atomic_load(&server->config)->tracing;
    pthread_condattr_t monotonic;
    *opened = NULL;
    if (config->endpoint.n == 0)
        return true;
    struct tracer *t = *opened = calloc(1, sizeof *t);
    if (!t)
        return fail(err, PAWL_NO_MEMORY, "no memory for the traces");
    t->server = server;
    t->config = config;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    struct outbound_options options = {
        .url = spans_url(&t->arena, config->endpoint),
        .headers = config->headers,
        .timeout_us = config->timeout_us,
        .reply_bytes_max = REPLY_BYTES_MAX,
    };
    return outbound_open(&t->outbound, &options, err) && start_thread(t, err);
}

void tracer_stop(struct tracer *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->stopping = true;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    if (t->runs)
        pthread_join(t->thread, NULL);
    t->runs = false;
}

void tracer_close(struct tracer *t)
{
    if (!t)
        return;
    outbound_close(t->outbound);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->mutex);
    arena_end(&t->arena);
    free(t);
}

int64_t tracer_share(const struct tracer *t)
{
    return t ? t->config->per_million : TRACE_OFF;
}

struct trace tracer_begin(const struct tracer *t, struct str traceparent, bool may_begin,
                          uint64_t *parent)
{
    const struct world *world = t->server->pawl->world;
    struct trace trace;
    if (!trace_parse(traceparent, &trace) && may_begin) {
        trace.id[0] = world_random(world);
        trace.id[1] = world_random(world) | 1;  // never all zeros
        trace.sampled = trace_chosen(&trace, t->config->per_million);
    }
    *parent = trace.span;
    if (trace_exists(&trace))
        trace.span = world_random(world) | 1;
    return trace;
}

struct tracer_figures tracer_figures(const struct tracer *t)
{
    if (!t)
        return (struct tracer_figures){0};
    return (struct tracer_figures){ t->sent, t->refused, t->full, t->gone };
}
