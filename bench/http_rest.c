// A server that has nothing to do: its start, its memory, its sleep.
#include <sys/resource.h>

#include "bench/http_parts.h"
#include "bench/measure.h"

enum { IDLE_S = 5,
       SETTLE_S = 7,        // its start is over, and what it recorded of it is sealed
       OTHER_FILES = 300 };  // besides long-polls: a server keeps some 256 for other things

bool measure_http_start(struct http_stand *s, struct pawl_error *err)
{
    double took[TURNS];
    for (long i = 0; i < TURNS; i++) {
        bench_tell(&s->bench->options, "start", i, TURNS);
        if ((s->server.pid && !served_stop(&s->server, err))
            || !served_start(&s->server, &took[i], err))
            return false;
    }
    http_note(s, HTTP_SERVE_READY_MS, median(took, TURNS) * 1e3);
    return true;
}

bool measure_http_idle(struct http_stand *s, struct pawl_error *err)
{
    bench_tell(&s->bench->options, "idle", 0, 1);
    world_sleep(world_real(), SECONDS(SETTLE_S));
    int64_t before = served_sleeps(&s->server);
    double start = seconds_now();
    world_sleep(world_real(), SECONDS(IDLE_S));
    int64_t after = served_sleeps(&s->server), bytes = served_resident_bytes(&s->server);
    if (before == 0 || bytes == 0)
        return fail(err, PAWL_STORE, "the idle server has ended");
    http_note(s, HTTP_IDLE_WAKEUPS_PER_S, (double)(after - before) / (seconds_now() - start));
    http_note(s, HTTP_IDLE_RSS_BYTES, (double)bytes);
    return true;
}

// ----- workers that wait

static long longpolls_possible(void)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= LONGPOLLS + OTHER_FILES)
        return LONGPOLLS;
    return limit.rlim_cur > OTHER_FILES ? (long)limit.rlim_cur - OTHER_FILES : 1;
}

#define LEASE "{\"worker_id\":\"bench\",\"queues\":[\"q:bench.idle\"],\"wait_ms\":"

// One that does not wait.
static bool ask_once(struct http_client *client, struct pawl_error *err)
{
    struct http_answer answer;
    return http_client_ask(client, "POST /v1/leases", S(LEASE "0}"), 200, &answer, err);
}

// All of them wait when one that does not wait was answered after them: requests are taken, and
// written, in the order in which they came.
static bool wait_for_all(struct http_stand *s, struct http_client *clients, long count,
                         enum http_figure figure, struct pawl_error *err)
{
    struct http_client last = {0};
    long silent = 0;
    bool done = http_client_open(&last, s->server.port, err) && ask_once(&last, err);
    http_client_end(&last);
    if (!done)
        return false;
    http_note(s, figure, (double)served_resident_bytes(&s->server));
    for (long i = 0; i < count; i++)
        silent += http_client_silent(&clients[i]);
    http_note(s, HTTP_LONGPOLL_COUNT, (double)silent);
    return silent == count
        || fail(err, PAWL_STORE, "of %ld long-polls only %ld wait", count, silent);
}

static bool measure_waiting(struct http_stand *s, bool fresh, struct http_client *clients,
                            long count, struct pawl_error *err)
{
    bool done = true;
    for (long i = 0; done && i < count; i++) {
        bench_tell(&s->bench->options, fresh ? "new long-polls" : "long-polls", i, count);
        done = http_client_open(&clients[i], s->server.port, err)
            && (fresh || ask_once(&clients[i], err))
            && http_client_send(&clients[i], "POST /v1/leases", S(LEASE "30000}"), err);
    }
    enum http_figure figure = fresh ? HTTP_LONGPOLL_FRESH_RSS_BYTES : HTTP_LONGPOLL_RSS_BYTES;
    done = done && wait_for_all(s, clients, count, figure, err);
    for (long i = 0; i < count; i++)
        http_client_end(&clients[i]);
    return done;
}

// A worker keeps its connection and asks again and again, which costs the server more memory than a
// first request. Both on a server that has done nothing else yet.
bool measure_http_longpolls(struct http_stand *s, struct pawl_error *err)
{
    long count = longpolls_possible();
    struct http_client *clients = arena_new(s->bench->arena, struct http_client, (size_t)count);
    double ready_s;
    if (!clients)
        return fail(err, PAWL_NO_MEMORY, "no memory for %ld connections", count);
    return measure_waiting(s, true, clients, count, err)
        && served_stop(&s->server, err) && served_start(&s->server, &ready_s, err)
        && measure_waiting(s, false, clients, count, err);
}
