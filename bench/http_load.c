// As much as the server takes. The connections are made once and kept, as those of a service are.
#include <poll.h>
#include <string.h>

#include "bench/http_parts.h"
#include "bench/measure.h"

#define POST_JOB "POST /v1/jobs"
#define POST_TYPE "bench.run"
#define WORKER "bench"
#define RESULT "{\"pages\":12}"

enum { BATCH_BYTES_MAX = 64 << 20 };

// ----- single jobs

// One thread asks on all connections: fifty would take the processors from the server, and be
// measured with it.
struct poster {
    struct http_stand *stand;
    struct http_client *clients;
    struct pollfd *watched;  // their connections
    long count;
    struct arena arena;      // of one request
};

static bool send_next(struct poster *p, long client, struct pawl_error *err)
{
    arena_reset(&p->arena);
    struct str body = http_job(&p->arena, POST_TYPE, p->stand->payload, p->stand->made++);
    return http_client_send(&p->clients[client], POST_JOB, body, err);
}

// Takes the answers that have come, and asks again on their connections while jobs are left.
static bool go_round(struct poster *p, long *to_send, long *answered, struct pawl_error *err)
{
    struct http_answer answer;
    if (poll(p->watched, (nfds_t)p->count, HTTP_SILENT_S * 1000) <= 0)
        return fail(err, PAWL_STORE, "the server does not answer any more");
    for (long i = 0; i < p->count; i++) {
        if (!p->watched[i].revents)
            continue;
        if (!http_client_expect(&p->clients[i], POST_JOB, 201, &answer, err))
            return false;
        ++*answered;
        if (*to_send > 0 && !send_next(p, i, err))
            return false;
        --*to_send;
    }
    return true;
}

static bool post_all(void *self, long jobs, double *seconds, struct pawl_error *err)
{
    struct poster *p = self;
    double start = seconds_now();
    for (long i = 0; i < p->count; i++)
        if (!send_next(p, i, err))
            return false;
    for (long to_send = jobs - p->count, answered = 0; answered < jobs;)
        if (!go_round(p, &to_send, &answered, err))
            return false;
    *seconds = seconds_now() - start;
    return true;
}

static bool post_in_turns(struct poster *poster, struct runs *runs, struct pawl_error *err)
{
    struct http_stand *s = poster->stand;
    const struct bench_options *o = &s->bench->options;
    long jobs = o->jobs / TURNS > o->threads ? o->jobs / TURNS : o->threads;
    struct way ways[] = {
        { jobs, runs_enqueue, &(struct runs_crew){ runs, o->threads } },
        { jobs, post_all, poster },
    };
    struct rates rates;
    if (!take_turns(o, "single jobs", ways, &rates, err))
        return false;
    http_note(s, HTTP_EMBEDDED_ENQUEUE_PER_S, rates.per_s[0]);
    http_note(s, HTTP_ENQUEUE_PER_S, rates.per_s[1]);
    http_note(s, HTTP_ENQUEUE_OVER_EMBEDDED, rates.ratio);
    return true;
}

static bool connect_all(struct poster *p, struct pawl_error *err)
{
    p->clients = arena_new(p->stand->bench->arena, struct http_client, (size_t)p->count);
    p->watched = arena_new(p->stand->bench->arena, struct pollfd, (size_t)p->count);
    if (!p->clients || !p->watched)
        return fail(err, PAWL_NO_MEMORY, "no memory for %ld connections", p->count);
    for (long i = 0; i < p->count; i++) {
        if (!http_client_open(&p->clients[i], p->stand->server.port, err))
            return false;
        p->watched[i] = (struct pollfd){ .fd = p->clients[i].fd, .events = POLLIN };
    }
    return true;
}

static bool measure_posts(struct http_stand *s, struct stand *embedded, struct pawl_error *err)
{
    SCOPED(runs) struct runs runs = {0};
    struct poster poster = { .stand = s, .count = s->bench->options.threads };
    bool done = runs_open(&runs, embedded, err) && connect_all(&poster, err)
        && post_in_turns(&poster, &runs, err);
    for (long i = 0; poster.clients && i < poster.count; i++)
        http_client_end(&poster.clients[i]);
    arena_end(&poster.arena);
    return done;
}

// ----- batches

struct drain {
    struct http_stand *stand;
    struct http_client client;
    struct arena arena;  // of one batch
    const char *type;
};

// Enqueues what is to be drained, and nobody measures it.
static bool fill(struct drain *d, long jobs, struct pawl_error *err)
{
    struct http_stand *s = d->stand;
    struct http_answer answer;
    for (long left = jobs; left > 0; left -= s->bench->options.batch) {
        arena_reset(&d->arena);
        struct buf body = buf_new(&d->arena, BATCH_BYTES_MAX);
        for (long i = 0; i < s->bench->options.batch && i < left; i++) {
            buf_add(&body, i == 0 ? S("{\"jobs\":[") : S(","));
            buf_add(&body, http_job(&d->arena, d->type, s->payload, s->made++));
        }
        buf_add(&body, S("]}"));
        if (!http_client_ask(&d->client, POST_JOB, buf_str(&body), 200, &answer, err))
            return false;
    }
    return true;
}

// The text after the next `mark`; NULL when there is none.
static const char *after(const char *text, struct str mark)
{
    const char *at = text ? strstr(text, mark.s) : NULL;
    return at ? at + mark.n : NULL;
}

// What is to be told of every execution of an answer with leases. What is looked for comes once in
// each, before its job: nothing of the rest need be understood.
static struct str commits_of(struct arena *arena, const char *leases, long *count)
{
    struct buf body = buf_new(arena, BATCH_BYTES_MAX);
    *count = 0;
    for (const char *id = leases; (id = after(id, S("\"exec_id\":\""))); ++*count) {
        const char *attempt = after(id, S("\"attempt\":"));
        buf_add(&body, *count == 0 ? S("{\"operations\":[") : S(","));
        buf_addf(&body, "{\"op\":\"commit\",\"exec_id\":\"%.36s\",\"worker_id\":\"" WORKER "\","
                        "\"attempt\":%.*s,\"result\":" RESULT ",\"done\":true}",
                 id, attempt ? (int)strspn(attempt, "0123456789") : 0, attempt);
    }
    buf_add(&body, S("]}"));
    return buf_str(&body);
}

static long count_of(const char *text, struct str mark)
{
    long count = 0;
    while ((text = after(text, mark)))
        count++;
    return count;
}

// Leases and starts up to `limit`, commits and ends them.
static bool drain_batch(struct drain *d, long limit, long *drained, struct pawl_error *err)
{
    struct http_answer answer;
    arena_reset(&d->arena);
    struct str ask = str_format(&d->arena, "{\"worker_id\":\"" WORKER "\",\"queues\":[\"%s\"],"
                                           "\"job_types\":[\"%s\"],\"max\":%ld,\"start\":true}",
                                STAND_QUEUE, d->type, limit);
    if (!http_client_ask(&d->client, "POST /v1/leases", ask, 200, &answer, err))
        return false;
    struct str commits = commits_of(&d->arena, answer.body.s, drained);
    if (*drained == 0)
        return fail(err, PAWL_CONFLICT, "the server leases nothing, and there are jobs left");
    if (!http_client_ask(&d->client, "POST /v1/executions/batch", commits, 200, &answer, err))
        return false;
    long ended = count_of(answer.body.s, S("\"status\":200"));
    return ended == *drained
        || fail(err, PAWL_CONFLICT, "of %ld jobs only %ld could be committed", *drained, ended);
}

static bool drain_by_http(void *self, long jobs, double *seconds, struct pawl_error *err)
{
    struct drain *d = self;
    long batch = d->stand->bench->options.batch, drained = 0;
    if (!fill(d, jobs, err))
        return false;
    double start = seconds_now();
    for (long left = jobs; left > 0; left -= drained)
        if (!drain_batch(d, left < batch ? left : batch, &drained, err))
            return false;
    *seconds = seconds_now() - start;
    return true;
}

static bool drain_by_library(void *self, long jobs, double *seconds, struct pawl_error *err)
{
    if (!stand_enqueue(self, NULL, jobs, err))
        return false;
    double start = seconds_now();
    bool done = stand_drain(self, jobs, err);
    *seconds = seconds_now() - start;
    return done;
}

static bool drain_in_turns(struct drain *d, struct stand *embedded, struct pawl_error *err)
{
    struct http_stand *s = d->stand;
    long jobs = s->bench->options.jobs / TURNS > 0 ? s->bench->options.jobs / TURNS : 1;
    struct way ways[] = { { jobs, drain_by_library, embedded }, { jobs, drain_by_http, d } };
    struct rates rates;
    if (!take_turns(&s->bench->options, "batches", ways, &rates, err))
        return false;
    http_note(s, HTTP_EMBEDDED_DRAIN_PER_S, rates.per_s[0]);
    http_note(s, HTTP_DRAIN_PER_S, rates.per_s[1]);
    http_note(s, HTTP_DRAIN_OVER_EMBEDDED, rates.ratio);
    return true;
}

static bool measure_batches(struct http_stand *s, struct stand *embedded, struct pawl_error *err)
{
    struct drain drain = { .stand = s, .type = embedded->type_names[0] };
    bool done = http_client_open(&drain.client, s->server.port, err)
        && drain_in_turns(&drain, embedded, err);
    http_client_end(&drain.client);
    arena_end(&drain.arena);
    return done;
}

bool measure_http_load(struct http_stand *s, struct stand *embedded, struct pawl_error *err)
{
    return measure_posts(s, embedded, err) && measure_batches(s, embedded, err);
}
