// Each check refuses with its own status and code, and says what to do.
#include "server/admit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/text_rule.h"
#include "server/http.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/route.h"
#include "server/server.h"
#include "server/tracer.h"

enum { REQUEST_ID_BYTES_MAX = 128 };

static bool refuse(struct exchange *x, int status, const char *code, const char *message)
{
    exchange_refuse_as(x, status, code, "%s", message);
    metrics_refused(x->server->metrics, code);
    return false;
}

// ----- the request itself

// Two lengths, or a length and chunks, are how one request is smuggled inside another.
static bool has_one_length(const struct headers *h)
{
    if (h->transfer_encodings == 0)
        return h->content_lengths == 0 || (h->content_lengths == 1 && h->content_length >= 0);
    return h->content_lengths == 0 && h->transfer_encodings == 1 && !h->old
        && h->transfer_encoding.n == strlen("chunked")
        && strncasecmp(h->transfer_encoding.s, "chunked", h->transfer_encoding.n) == 0;
}

static bool short_enough(struct exchange *x, const struct headers *h)
{
    if (h->target == TARGET_LONG)
        return refuse(x, 414, "uri_too_long",
                      str_format(&x->arena, "the path with its query is too long: at most %d "
                                            "bytes are taken",
                                 TARGET_BYTES_MAX)
                          .s);
    if (h->count <= HEADERS_MAX && h->bytes <= HEADER_BYTES_MAX)
        return true;
    return refuse(x, 431, "headers",
                  str_format(&x->arena, "there are too many headers, or they are too long: at most "
                                        "%d are taken, of %d bytes together",
                             HEADERS_MAX, HEADER_BYTES_MAX)
                      .s);
}

static bool sound(struct exchange *x, const struct headers *h)
{
    if (!has_one_length(h))
        return refuse(x, 400, "bad_request", "the length of the body is said twice or not at all: "
                                             "send one Content-Length, or chunks");
    if (h->target == TARGET_FOUL)
        return refuse(x, 400, "bad_request", "the path is not one: percent-codes must be whole, "
                                             "and neither NUL nor, before the query, a slash");
    if (h->hosts > 1 || (h->hosts == 0 && !h->old) || h->foul)
        return refuse(x, 400, "bad_request", "a header that must be there once, in plain "
                                             "characters, is not");
    if (h->authorizations > 1)
        return refuse(x, 401, "unauthorized", "there are several keys: send one Authorization");
    return true;
}

static void take_ids(struct exchange *x, const struct headers *h)
{
    const struct world *world = x->server->pawl->world;
    bool good = h->request_id.n > 0 && h->request_id.n <= REQUEST_ID_BYTES_MAX
             && text_is_key(h->request_id);
    x->caller.request_id = good ? h->request_id
                                : id_text(&x->arena, id_after(0, world_wall(world),
                                                              world_random(world)));
    x->caller.correlation_id = x->caller.request_id;
    x->last_event_id = h->last_event_id;
    x->sent_type = h->content_type;
    x->sent_sha256 = h->content_sha256;
    if (text_is_traceparent(h->traceparent))
        x->traceparent = h->traceparent;
    if (x->server->tracer && x->route)
        x->trace = tracer_begin(x->server->tracer, x->traceparent, x->route->begins_trace,
                                &x->trace_parent);
}

static bool found(struct exchange *x, struct str allowed)
{
    if (x->route && (x->route->everywhere || x->server->only != SERVER_WORKER))
        return true;
    if (x->route)
        return refuse(x, 404, "not_found", "this is a worker: it answers health and metrics, and "
                                           "the API is another process");
    if (allowed.n)
        exchange_refuse_as(x, 405, "method_not_allowed", "%.*s is not there for %.*s, only for "
                                                         "%.*s",
                           STR(text_clip(x->path, 128)), STR(text_clip(x->method, 16)),
                           STR(allowed));
    else
        exchange_refuse_as(x, 404, "not_found", "there is nothing at %.*s: see /openapi.json",
                           STR(text_clip(x->path, 128)));
    return false;
}

// ----- without keys: only this machine, and no other site through its browser

static bool host_is_here(struct str host)
{
    static const char *const here[] = { "localhost", "127.0.0.1", "[::1]" };
    for (size_t i = 0; i < countof(here); i++) {
        struct str name = str_of(here[i]);
        if (str_starts(host, name) && (host.n == name.n || host.s[name.n] == ':'))
            return true;
    }
    return false;
}

static bool same_site(const struct headers *h)
{
    if (h->fetch_site.n && !str_eq(h->fetch_site, S("same-origin"))
        && !str_eq(h->fetch_site, S("none")))
        return false;
    const char *at = h->origin.n ? strstr(h->origin.s, "://") : NULL;
    return h->origin.n == 0 || (at && str_eq(str_of(at + 3), h->host));
}

static bool may_be_open(struct exchange *x, const struct headers *h)
{
    if (!host_is_here(h->host))
        return refuse(x, 421, "wrong_host", "as long as there is no key, only localhost is "
                                            "answered: make one with `pawl key create`");
    if (!same_site(h))
        return refuse(x, 403, "cross_site", "this comes from another site");
    return true;
}

// ----- who, and whether he may

static bool look_up(struct exchange *x, struct str authorization, struct pawl_error *err)
{
    struct server *s = x->server;
    enum identity_answer answer = identity_look(s->identities, &x->arena, authorization,
                                                &x->identity, err);
    if (answer != IDENTITY_UNKNOWN)
        return answer == IDENTITY_FOUND;
    struct reading reading;
    if (!server_begin_read(s, &reading, &x->arena, err))
        return false;
    bool known = identity_find(s->identities, &reading.tx, authorization, &x->identity, err);
    server_end_read(s, &reading);
    return known;
}

// Once a minute and key its use is noted, behind whatever the request itself does.
struct noting {
    struct operation operation;
    struct arena arena;
    char key_id[KEY_ID_BYTES + 1];
};

static bool note_write(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    return key_used(tx, str_of(((struct noting *)self)->key_id), err);
}

static void note_answered(struct operation *self)
{
    arena_end(&((struct noting *)self)->arena);
    free(self);
}

static void note_use(struct exchange *x)
{
    struct pawl_error err = {0};
    struct noting *n = x->identity.note_use ? calloc(1, sizeof *n) : NULL;
    if (!n)
        return;
    snprintf(n->key_id, sizeof n->key_id, "%.*s", STR(x->identity.key_id));
    n->operation = (struct operation){ .run = note_write,
                                       .answered = note_answered,
                                       .arena = &n->arena };
    if (!pipeline_submit(x->server->pawl->pipeline, &n->operation, &err))
        note_answered(&n->operation);
}

// Whoever tries keys can do so as often as he likes. No key is quoted.
static void log_wrong_key(struct exchange *x, const char *why)
{
    struct server *s = x->server;
    int64_t times;
    if (!seldom_due(&s->wrong_keys, world_monotonic(s->pawl->world), &times))
        return;
    log_write(s->log, &(struct log_entry){ .level = LOG_LEVEL_WARNING,
                                           .event = "KEY_REFUSED",
                                           .message = str_of(why),
                                           .about.request_id = x->caller.request_id,
                                           .fields = { LOG_INT("times", times) } });
}

static bool identified(struct exchange *x, const struct headers *h)
{
    struct pawl_error err = {0};
    if (!look_up(x, h->authorization, &err)) {
        x->retry_after_s = (x->identity.retry_after_us + SECONDS(1) - 1) / SECONDS(1);
        exchange_refuse(x, &err);
        metrics_refused(x->server->metrics, pawl_code(err.code)->word);
        if (err.code == PAWL_UNAUTHORIZED)
            log_wrong_key(x, err.message);
        return false;
    }
    struct caller caller = identity_caller(&x->identity, x->caller.request_id,
                                           x->caller.correlation_id);
    x->caller = caller;
    note_use(x);
    return x->identity.key_id.n > 0 || may_be_open(x, h);
}

static bool allowed_to(struct exchange *x)
{
    if (role_may(x->identity.role, x->route->permission))
        return true;
    exchange_refuse_as(x, 403, "forbidden", "the role %s may not do this",
                       role_name(x->identity.role));
    metrics_refused(x->server->metrics, "forbidden");
    return false;
}

static bool sent_plain(struct exchange *x, const struct headers *h)
{
    bool plain = h->content_encoding.n == 0
              || strcasecmp(h->content_encoding.s, "identity") == 0;
    return plain || refuse(x, 415, "encoded", "the body must be sent as it is, without a "
                                              "Content-Encoding");
}

bool admit(struct exchange *x, const struct headers *h, struct str allowed)
{
    take_ids(x, h);
    if (!short_enough(x, h) || !sound(x, h) || !found(x, allowed))
        return false;
    if (atomic_load(&x->server->draining) && !x->route->always) {
        x->retry_after_s = 1;
        return refuse(x, 503, "draining", "the server is shutting down: ask again in a moment");
    }
    bool here = x->route->open_on_loopback && http_is_loopback(x->server->http)
             && !x->config->auth.behind_proxy;
    return x->route->open || here
        || (identified(x, h) && allowed_to(x)
            && (x->route->body_size != BODY_STREAM || sent_plain(x, h)));
}

// ----- the body

static bool is_json(struct str type)
{
    struct str name, rest;
    str_cut(type, ';', &name, &rest);
    while (name.n > 0 && name.s[name.n - 1] == ' ')
        name.n--;
    return name.n == strlen("application/json")
        && strncasecmp(name.s, "application/json", name.n) == 0
        && (rest.n == 0 || strcasestr(rest.s, "charset=") == NULL
            || strcasestr(rest.s, "utf-8") != NULL);
}

static bool refuse_kind(struct exchange *x)
{
    static const char *const kinds[] = {
        [JSON_ARRAY] = "array",    [JSON_STRING] = "string", [JSON_INTEGER] = "number",
        [JSON_REAL] = "number",    [JSON_TRUE] = "true",     [JSON_FALSE] = "false",
        [JSON_NULL] = "null",
    };
    exchange_refuse_as(x, 400, "not_json", "the body is a JSON %s: it must be an object",
                       kinds[json_typeof(x->body)]);
    metrics_refused(x->server->metrics, "not_json");
    return false;
}

bool admit_body(struct exchange *x, const struct headers *h, struct str body)
{
    struct pawl_error err = {0};
    const struct route *route = x->route;
    if (route->body_size == BODY_NONE)
        return body.n == 0 || refuse(x, 400, "bad_request", "this takes no body");
    if (route->body_size == BODY_STREAM || (body.n == 0 && route->body_optional))
        return true;
    if (!sent_plain(x, h))
        return false;
    if (!is_json(h->content_type))
        return refuse(x, 415, "not_json", "the body must be sent as Content-Type: "
                                          "application/json");
    if (!json_parse(body, body.n, &x->body, &err)) {
        exchange_refuse_as(x, 400, "not_json", "%s", err.message);
        return false;
    }
    if (!json_is_object(x->body))
        return refuse_kind(x);
    if (!route->body_raw)  // what is wrong is told with what `prepare` finds
        (void)!fields_read(&route->body, x->body, "", x->data, &x->problems);
    return true;
}
