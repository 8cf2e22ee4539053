// The life of a request on the protocol library's thread: headers, body, the route, the answer.
#include "server/http.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/aside.h"
#include "server/http_guard.h"
#include "server/http_header.h"
#include "server/http_listen.h"
#include "server/http_request.h"
#include "server/http_tls.h"
#include "server/hub.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/process.h"
#include "server/route.h"
#include "server/server.h"

// What a connection has for its request line, its headers and what is said of them: the longest
// path with 8 KiB in some headers, or a short one with 8 KiB in 64, and more than is allowed of
// either, so that who sends too much is told so by us. The library clears all of it between two
// requests, so each connection that is kept has it in memory: of what 5,000 take that wait again it
// is two thirds. Who fills it gets the library's own page, which nobody can change: see
// log_of_protocol.
enum { CONNECTION_BYTES = 13 << 10,
       STREAM_PIECE = 1 << 20,
       SURPLUS_MAX = 64,     // connections past the limit that are still told so
       OTHER_FDS = 192 };    // the store's, the log's, those of commands

#define ANSWER_US_MAX SECONDS(10)

struct http {
    struct server *server;
    struct MHD_Daemon *daemon;
    struct listener listener;
    struct guard *guard;
    size_t connections_max;

    _Atomic size_t active;   // requests that have begun and are not answered
    _Atomic size_t waiting;  // ... of which so many are suspended
};

static struct link *link_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static struct request *request_of(struct exchange *x)
{
    return (struct request *)x;
}

// ----- answering

static enum MHD_Result finish(struct request *r, bool done, struct pawl_error *err)
{
    struct exchange *x = &r->x;
    if (done)
        done = x->route->answer(x, err);
    if (done && (x->arena.failed || x->found.failed))
        done = fail(err, PAWL_NO_MEMORY, "no memory for the answer");
    if (!done)
        exchange_refuse(x, err);
    return request_answer(r);
}

// ----- waiting

void http_suspend(struct exchange *x)
{
    struct request *r = request_of(x);
    r->stage = WAITING;
    x->server->http->waiting++;
    guard_rest(r->link);
    MHD_suspend_connection(r->connection);
}

void http_resume(struct exchange *x)
{
    struct request *r = request_of(x);
    struct http *http = x->server->http;
    r->stage = RESUMED;
    MHD_resume_connection(r->connection);  // from here on it is the HTTP thread's
    http->waiting--;
}

bool http_listens(const struct exchange *x)
{
    char byte;
    ssize_t n = recv(guard_fd(((const struct request *)x)->link), &byte, 1,
                     MSG_PEEK | MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

// ----- writing: in the pipeline, and again after news

static bool write_act(struct tx *tx, struct operation *operation, struct pawl_error *err)
{
    struct exchange *x = (struct exchange *)operation;
    arena_reset(&x->found);
    hub_looks(x);
    return exchange_act(x, tx, err);
}

static void wait_for_news(struct exchange *x)
{
    exchange_rest(x);
    hub_wait(x);
}

// On the writer's thread, after the commit.
static void write_answered(struct operation *operation)
{
    struct exchange *x = (struct exchange *)operation;
    if (operation->error.code == PAWL_OK && x->again)
        wait_for_news(x);
    else
        http_resume(x);
}

void http_submit(struct exchange *x)
{
    struct pawl_error err = {0};
    if (pipeline_submit(x->server->pawl->pipeline, &x->operation, &err))
        return;
    x->operation.error = err;
    http_resume(x);
}

// A client that has left gets no lease; its connection is ended by the answer. What woke it is for
// the next in its lane, which goes the same way.
static void wake_write(struct exchange *x)
{
    while (x) {
        bool goes_on = !hub_time_over(x) && http_listens(x);
        struct exchange *next = goes_on ? NULL : hub_pass_on(x);
        if (goes_on)
            http_submit(x);
        else
            http_resume(x);
        x = next;
    }
}

static enum MHD_Result begin_write(struct request *r)
{
    struct exchange *x = &r->x;
    x->wake = wake_write;
    x->operation = (struct operation){
        .run = write_act,
        .answered = write_answered,
        .arena = &x->found,
        .caller = &x->caller,
    };
    http_suspend(&r->x);
    if (x->route->settle)
        aside_do(x->server->aside, x);
    else
        http_submit(x);
    return MHD_YES;
}

static enum MHD_Result end_write(struct request *r)
{
    struct pawl_error err = r->x.operation.error;
    return finish(r, err.code == PAWL_OK, &err);
}

// ----- reading: on this thread, and again after news

static bool look(struct exchange *x, struct pawl_error *err)
{
    if (x->route->kind == ROUTE_READ)
        return server_read(x->server, x, err);
    x->again = false;
    return x->route->act(x, NULL, err);
}

static enum MHD_Result read_now(struct request *r)
{
    struct exchange *x = &r->x;
    struct pawl_error err = {0};
    x->wake = http_resume;
    arena_reset(&x->found);
    hub_looks(x);
    bool done = look(x, &err);
    if (!done || !x->again || hub_time_over(x))
        return finish(r, done, &err);
    http_suspend(&r->x);
    wait_for_news(x);
    return MHD_YES;
}

static enum MHD_Result answer_now(struct request *r)
{
    struct pawl_error err = {0};
    return finish(r, true, &err);
}

// One row per kind of route: how it goes, and how it goes on after a wait.
static enum MHD_Result (*const ways[])(struct request *r) = {
    [ROUTE_NOW] = answer_now,
    [ROUTE_WAIT] = read_now,
    [ROUTE_READ] = read_now,
    [ROUTE_WRITE] = begin_write,
};
static enum MHD_Result (*const ways_on[])(struct request *r) = {
    [ROUTE_NOW] = answer_now,
    [ROUTE_WAIT] = read_now,
    [ROUTE_READ] = read_now,
    [ROUTE_WRITE] = end_write,
};

// ----- the request

static size_t body_max(const struct request *r)
{
    const struct config_limits *limits = &r->x.config->limits;
    const size_t sizes[] = {
        [BODY_NONE] = 0,
        [BODY_SMALL] = (size_t)limits->payload_bytes + (64 << 10),
        [BODY_BULK] = (size_t)limits->body_bytes,
        [BODY_STREAM] = (size_t)limits->artifact_bytes,
    };
    return sizes[r->x.route->body_size];
}

// Everything that can be said before the body has come. False when it is refused.
static bool admitted(struct request *r)
{
    struct exchange *x = &r->x;
    const struct crowd *crowd = guard_surplus(r->link);
    if (crowd) {
        x->retry_after_s = 1;
        exchange_refuse_as(x, 503, crowd->code, "too many connections%s: at most %zu are served "
                                                "at once, try again later",
                           crowd->whose, crowd->max);
        return false;
    }
    x->route = route_find(x->method, x->path, x->path_parts, &x->arena, &r->allowed);
    return admit(x, &r->headers, r->allowed);
}

// Refused before the body has come. A body that is on its way is not read: an answer in this first
// call makes it the connection's last. Without one the answer has its time at the second call.
static enum MHD_Result refuse_body(struct request *r)
{
    r->stage = REFUSED;
    bool unsound = r->x.status == 400 || r->x.status == 414 || r->x.status == 431;
    if (r->headers.has_body || unsound)  // who knows where the next begins
        guard_close_after(r->link);
    return r->headers.has_body ? request_answer(r) : MHD_YES;
}

// More than the route takes.
static void refuse_size(struct request *r)
{
    if (r->bytes_max == 0)
        exchange_refuse_as(&r->x, 400, "bad_request", "this takes no body");
    else
        exchange_refuse_as(&r->x, 413, "too_large", "the body is too large: at most %zu bytes are "
                                                    "taken",
                           r->bytes_max);
}

// What the route reads into, and the query. False: there is no memory.
static bool begin_data(struct request *r)
{
    struct exchange *x = &r->x;
    x->data = arena_alloc(&x->arena, x->route->data_bytes + 1);
    if (x->data)
        query_read(r->connection, x);
    return x->data != NULL;
}

// The first call for a request: its headers are there.
// The parameters are dictated by the protocol library.
static enum MHD_Result begin(struct http *http, struct MHD_Connection *connection,
                             const char *url, const char *method, const char *version,
                             void **context)
{
    struct link *link = link_of(connection);
    struct request *r = link ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return MHD_NO;
    *context = r;
    http->active++;
    r->connection = connection;
    r->link = link;
    r->x.server = http->server;
    r->x.config = atomic_load(&http->server->config);
    r->x.began = world_monotonic(http->server->pawl->world);
    r->x.problems.arena = &r->x.arena;
    r->x.method = str_dup(&r->x.arena, str_of(method));
    r->x.path = str_dup(&r->x.arena, str_of(url));
    r->headers.old = str_eq(str_of(version), S("HTTP/1.0"));
    r->headers.target = guard_target(link);
    headers_read(&r->headers, connection, &r->x.arena);
    if (!admitted(r))
        return refuse_body(r);
    r->bytes_max = body_max(r);
    if (r->headers.content_length > (int64_t)r->bytes_max) {
        refuse_size(r);
        return refuse_body(r);
    }
    if (r->x.route->take && !begin_data(r))
        return MHD_NO;
    guard_body(r->link);
    return MHD_YES;
}

// A part of a body that is not kept here. Who keeps on sending has time: so much in each period.
static enum MHD_Result take_body(struct request *r, const char *data, size_t bytes)
{
    struct pawl_error err = {0};
    size_t before = r->bytes / STREAM_PIECE;
    r->bytes += bytes;
    if (r->bytes / STREAM_PIECE != before)
        guard_body(r->link);
    if (r->x.route->take(&r->x, data, bytes, &err))
        return MHD_YES;
    exchange_refuse(&r->x, &err);
    r->stage = REFUSED;
    guard_close_after(r->link);
    return MHD_YES;
}

// A part of the body.
static enum MHD_Result add_body(struct request *r, const char *data, size_t bytes)
{
    if (bytes > r->bytes_max - r->bytes) {
        refuse_size(r);
        r->stage = REFUSED;
        guard_close_after(r->link);
        return MHD_YES;
    }
    if (r->x.route->take)
        return take_body(r, data, bytes);
    if (r->bytes + bytes > r->room) {
        size_t room = 2 * r->room > r->bytes + bytes ? 2 * r->room : r->bytes + bytes;
        char *larger = realloc(r->body, room);
        if (!larger)
            return MHD_NO;
        r->body = larger;
        r->room = room;
    }
    memcpy(r->body + r->bytes, data, bytes);
    r->bytes += bytes;
    return MHD_YES;
}

// A 422 names every problem: what could be read is checked also when something could not, and that
// comes before whatever else is found.
static bool prepared(struct exchange *x)
{
    struct pawl_error err = {0};
    size_t unread = x->problems.count;
    bool fine = !x->route->prepare || x->route->prepare(x, &err);
    if (unread > 0) {
        problems_once(&x->problems, unread);
        fine = problems_none(&x->problems, &err);
    }
    if (!fine)
        exchange_refuse(x, &err);
    return fine;
}

// All of it is there.
static enum MHD_Result complete(struct request *r)
{
    struct exchange *x = &r->x;
    guard_rest(r->link);
    if (!x->route->take && !begin_data(r))
        return MHD_NO;
    bool taken = admit_body(x, &r->headers, (struct str){ r->body, r->bytes });
    free(r->body);  // it is a value now
    r->body = NULL;
    if (!taken || !prepared(x))
        return request_answer(r);
    return ways[x->route->kind](r);
}

// The parameters are dictated by the protocol library.
static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *bytes, void **context)
{
    struct request *r = *context;
    if (!r)
        return begin(self, connection, url, method, version, context);
    if (r->stage == RESUMED)
        return ways_on[r->x.route->kind](r);
    if (*bytes > 0) {
        size_t n = *bytes;
        *bytes = 0;
        return r->stage == READING ? add_body(r, data, n) : MHD_YES;
    }
    return r->stage == REFUSED ? request_answer(r) : complete(r);
}

static void log_request(const struct exchange *x)
{
    const struct world *world = x->server->pawl->world;
    struct log_entry entry = {
        .level = x->status >= 500 ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG,
        .event = "HTTP_REQUEST",
        .message = x->path,
        .about = { .request_id = x->caller.request_id, .org_id = x->caller.org_id },
        .fields = { LOG_TEXT("method", x->method), LOG_INT("status", x->status),
                    LOG_INT("duration_us", world_monotonic(world) - x->began) },
    };
    log_write(x->server->log, &entry);
}

// The answer was sent, or the client left.
static void completed(void *self, struct MHD_Connection *connection, void **context,
                      enum MHD_RequestTerminationCode how)
{
    struct request *r = *context;
    (void)connection;
    if (!r)
        return;
    struct exchange *x = &r->x;
    if (x->route && x->route->ended)
        x->route->ended(x, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    log_request(x);
    metrics_http(x->server->metrics, x->route ? x->route->method : "other",
                 x->route ? x->route->path : "other", x->status);
    exchange_traced(x);
    hub_leave(x);
    guard_idle(r->link);
    free(r->body);
    exchange_end(x);
    free(r);
    *context = NULL;
    ((struct http *)self)->active--;
}

// ----- connections

static void connected(void *self, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode what)
{
    struct http *http = self;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        const struct sockaddr *from =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
        *context = guard_add(http->guard, fd, from);
    } else if (*context) {
        guard_remove(*context);
        *context = NULL;
    }
}

// The first line of a request has come.
static void *line_read(void *self, const char *uri, struct MHD_Connection *connection)
{
    (void)self;
    struct link *link = link_of(connection);
    if (link) {
        guard_headers(link);
        guard_note_target(link, target_look(uri));
    }
    return NULL;
}

// The protocol library answers by itself what it cannot read or has no room for, asks nobody and
// closes. What it says of that in its log is all there is to count by.
static void log_of_protocol(void *self, const char *format, va_list arguments)
{
    static const char answered[] = "Error processing request (HTTP response code is %u";
    struct http *http = self;
    if (strncmp(format, answered, sizeof answered - 1) == 0)
        metrics_http(http->server->metrics, "other", "other", va_arg(arguments, int));
}

// ----- the server

bool http_start(struct http *http, struct pawl_error *err)
{
    const struct config *config = atomic_load(&http->server->config);
    const struct config_limits *limits = &config->limits;
    SCOPED(arena) struct arena arena = {0};
    struct MHD_OptionItem keys[TLS_OPTIONS];
    bool tls = config->tls.certificate.n > 0;
    if (!tls_options(config, &arena, keys, err))
        return false;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME
                   | MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0);
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, http,
        MHD_OPTION_EXTERNAL_LOGGER, log_of_protocol, http,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)http->listener.fd,
        MHD_OPTION_NOTIFY_COMPLETED, completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, connected, http,
        MHD_OPTION_URI_LOG_CALLBACK, line_read, http,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(limits->idle_us / SECONDS(1)),
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)http->connections_max + SURPLUS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_ARRAY, keys,
        MHD_OPTION_END);
    const char *hint = tls ? ": look at tls.certificate and tls.key" : "";
    return http->daemon || fail(err, PAWL_STORE, "the HTTP server cannot start%s", hint);
}

// As many as are configured, or as descriptors allow: who comes beyond is told so, which takes one.
static size_t connections_max(const struct config *config)
{
    int64_t wanted = config->limits.connections;
    int64_t fds = process_allow_fds(wanted + SURPLUS_MAX + OTHER_FDS) - SURPLUS_MAX - OTHER_FDS;
    return (size_t)(wanted <= fds ? wanted : fds > 1 ? fds
                                                     : 1);
}

// Before anybody is answered.
static bool may_listen(const struct http *http, bool everybody_is_admin, struct pawl_error *err)
{
    return !everybody_is_admin || http->listener.loopback
        || fail(err, PAWL_FORBIDDEN, "without a key everybody is admin, so only this machine may "
                                     "ask: make a key first (pawl key create --role admin), or "
                                     "listen on 127.0.0.1");
}

bool http_open(struct http **opened, struct server *server, bool everybody_is_admin,
               struct pawl_error *err)
{
    struct http *http = *opened = calloc(1, sizeof *http);
    const struct config *config = atomic_load(&server->config);
    if (!http)
        return fail(err, PAWL_NO_MEMORY, "no memory for the server");
    http->server = server;
    http->listener.fd = -1;
    http->connections_max = connections_max(config);
    struct guard_options guard = {
        .world = server->pawl->world,
        .idle_us = config->limits.idle_us,
        .header_us = config->limits.header_us,
        .body_us = config->limits.body_us,
        .connections_max = http->connections_max,
        .per_address_max = (size_t)config->limits.connections_per_address,
        .plain = config->tls.certificate.n == 0,
        .metrics = server->metrics,
        .log = server->log,
    };
    return listener_open(&http->listener, &config->listen, err)
        && may_listen(http, everybody_is_admin, err) && guard_open(&http->guard, &guard, err);
}

bool http_is_loopback(const struct http *http)
{
    return http->listener.loopback;
}

struct str http_address(const struct http *http)
{
    return str_of(http->listener.address);
}

// Whoever waits was woken by hub_drain and is answered; what hangs for other reasons is cut off.
// Not what waits for a commit: the writer would answer it after it is gone, and the protocol
// library ends the process when somebody is suspended still.
static void wait_for_answers(struct http *http)
{
    const struct world *world = http->server->pawl->world;
    int64_t end = world_end_of(world, ANSWER_US_MAX);
    while (atomic_load(&http->waiting) > 0
           || (atomic_load(&http->active) > 0 && world_monotonic(world) < end))
        world_sleep(world, MILLISECONDS(5));
}

void http_close(struct http *http)
{
    if (!http)
        return;
    if (http->daemon) {
        MHD_quiesce_daemon(http->daemon);
        close(http->listener.fd);
        wait_for_answers(http);
        MHD_stop_daemon(http->daemon);
    } else if (http->listener.fd >= 0)
        close(http->listener.fd);
    guard_close(http->guard);
    free(http);
}
