// A list of connections with their deadlines, and the thread that looks at them.
#include "server/http_guard.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/http_address.h"
#include "server/log.h"
#include "server/log_seldom.h"
#include "server/metrics.h"

#define BUSY_US_MAX SECONDS(30)

enum { TOLD_MAX = 8 };  // connections of one address past its limit that are still told so
enum { CROWD_ALL, CROWD_ADDRESS, CROWDS };

static const struct {
    const char *code, *whose, *setting;
} crowds[] = {
    [CROWD_ALL] = { "connections", "", "limits.connections" },
    [CROWD_ADDRESS] = { "connections_per_address", " from this address",
                        "limits.connections_per_address" },
};
_Static_assert(countof(crowds) == CROWDS, "one row per limit");

struct link {
    struct guard *guard;
    int fd;
    int64_t deadline;  // monotonic; 0: none
    struct address *address;      // NULL: not counted
    const struct crowd *surplus;  // NULL: there is room for it
    bool closes;
    enum target target;
    struct link *next, **place;
};

struct guard {
    struct guard_options options;
    struct crowd crowds[CROWDS];
    struct addresses addresses;      // with `refused` the HTTP thread's
    struct seldom refused[CROWDS];
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex;   // guards everything below, and the deadlines
    pthread_cond_t changed;  // a deadline was set, or it is time to stop
    struct link *links;
    size_t count;
    size_t expected;         // links with a deadline
    bool closing;
};

static const char too_slow[] =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/problem+json\r\n"
    "Connection: close\r\nContent-Length: 104\r\n\r\n"
    "{\"title\":\"Too slow\",\"status\":408,\"detail\":\"the request did not arrive in time\","
    "\"code\":\"request_timeout\"}";

// What has arrived and lies unread is not late: the thread that reads is busy. Not for ever, since
// a client that never stops sending always has something there.
static bool waits_for_us(const struct link *link, int64_t now)
{
    char byte;
    return now - link->deadline < BUSY_US_MAX
        && recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

// With the mutex held, so that the descriptor is still this connection's.
static void end_slow(struct link *link)
{
    const struct guard_options *o = &link->guard->options;
    if (o->plain)
        (void)!send(link->fd, too_slow, sizeof too_slow - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(link->fd, SHUT_RDWR);
    metrics_refused(o->metrics, "slow_client");
    link->deadline = 0;
    link->guard->expected--;
}

static void *watch(void *self)
{
    struct guard *g = self;
    pthread_mutex_lock(&g->mutex);
    while (!g->closing) {
        if (g->expected == 0) {
            pthread_cond_wait(&g->changed, &g->mutex);
            continue;
        }
        int64_t now = world_monotonic(g->options.world);
        for (struct link *link = g->links; link; link = link->next)
            if (link->deadline && now >= link->deadline && !waits_for_us(link, now))
                end_slow(link);
        pthread_mutex_unlock(&g->mutex);
        world_sleep(g->options.world, MILLISECONDS(500));
        pthread_mutex_lock(&g->mutex);
    }
    pthread_mutex_unlock(&g->mutex);
    return NULL;
}

bool guard_open(struct guard **guard, const struct guard_options *options, struct pawl_error *err)
{
    struct guard *g = *guard = calloc(1, sizeof *g);
    if (!g)
        return fail(err, PAWL_NO_MEMORY, "no memory for the server");
    g->options = *options;
    const size_t most[] = { [CROWD_ALL] = options->connections_max,
                            [CROWD_ADDRESS] = options->per_address_max };
    for (size_t i = 0; i < CROWDS; i++)
        g->crowds[i] = (struct crowd){ crowds[i].code, crowds[i].whose, most[i] };
    pthread_mutex_init(&g->mutex, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->has_thread = pthread_create(&g->thread, NULL, watch, g) == 0;
    return g->has_thread || fail(err, PAWL_NO_MEMORY, "cannot start a thread");
}

void guard_close(struct guard *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->mutex);
    g->closing = true;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
    if (g->has_thread)
        pthread_join(g->thread, NULL);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->mutex);
    free(g);
}

// Which limit `count` connections are beyond, so many of them from this address.
static size_t beyond(const struct guard *g, size_t count, const struct address *address)
{
    if (address && address->connections > g->crowds[CROWD_ADDRESS].max)
        return CROWD_ADDRESS;
    return count > g->crowds[CROWD_ALL].max ? CROWD_ALL : CROWDS;
}

static void turn_away(struct link *link, size_t crowd)
{
    struct guard *g = link->guard;
    const struct guard_options *o = &g->options;
    int64_t times;
    link->surplus = &g->crowds[crowd];
    metrics_refused(o->metrics, crowds[crowd].code);
    if (crowd == CROWD_ADDRESS && link->address->connections > link->surplus->max + TOLD_MAX)
        shutdown(link->fd, SHUT_RDWR);
    if (!seldom_due(&g->refused[crowd], world_monotonic(o->world), &times))
        return;
    log_write(o->log, &(struct log_entry){
                          .level = LOG_LEVEL_WARNING,
                          .event = "CONNECTIONS_REFUSED",
                          .message = S("there are as many connections as may be"),
                          .fields = { LOG_TEXT("limit", str_of(crowds[crowd].setting)),
                                      LOG_INT("max", (int64_t)link->surplus->max),
                                      LOG_INT("times", times) } });
}

struct link *guard_add(struct guard *g, int fd, const struct sockaddr *from)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->guard = g;
    link->fd = fd;
    pthread_mutex_lock(&g->mutex);
    size_t count = ++g->count;
    link->next = g->links;
    link->place = &g->links;
    if (link->next)
        link->next->place = &link->next;
    g->links = link;
    pthread_mutex_unlock(&g->mutex);
    if (g->options.per_address_max > 0)
        link->address = address_take(&g->addresses, from);
    size_t crowd = beyond(g, count, link->address);
    if (crowd < CROWDS)
        turn_away(link, crowd);
    guard_headers(link);
    return link;
}

static void set_deadline(struct link *link, int64_t in_us)
{
    struct guard *g = link->guard;
    pthread_mutex_lock(&g->mutex);
    g->expected -= link->deadline != 0;
    link->deadline = in_us ? world_monotonic(g->options.world) + in_us : 0;
    if (link->deadline && g->expected++ == 0)
        pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

void guard_remove(struct link *link)
{
    struct guard *g = link->guard;
    set_deadline(link, 0);
    pthread_mutex_lock(&g->mutex);
    *link->place = link->next;
    if (link->next)
        link->next->place = link->place;
    g->count--;
    pthread_mutex_unlock(&g->mutex);
    address_give(link->address);
    free(link);
}

// The protocol library's own limit begins anew with each byte, so that a first line may take for
// ever; this one does not. Both limits together: a request may begin at the last moment.
void guard_idle(struct link *link)
{
    const struct guard_options *o = &link->guard->options;
    set_deadline(link, o->idle_us + o->header_us);
}

void guard_headers(struct link *link)
{
    set_deadline(link, link->guard->options.header_us);
}

void guard_body(struct link *link)
{
    set_deadline(link, link->guard->options.body_us);
}

void guard_rest(struct link *link)
{
    set_deadline(link, 0);
}

const struct crowd *guard_surplus(const struct link *link)
{
    return link->surplus;
}

void guard_close_after(struct link *link)
{
    link->closes = true;
}

bool guard_closes(const struct link *link)
{
    return link->closes || link->surplus;
}

int guard_fd(const struct link *link)
{
    return link->fd;
}

void guard_note_target(struct link *link, enum target target)
{
    link->target = target;
}

enum target guard_target(const struct link *link)
{
    return link->target;
}
