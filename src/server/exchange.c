// Answers: JSON as it is, and errors as problems that name the request they belong to.
#include "server/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json_put.h"
#include "model/json_field.h"
#include "model/text_rule.h"
#include "server/route.h"
#include "server/server.h"
#include "server/tracer.h"

bool exchange_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    bool waited = x->again;
    x->again = false;
    problems_forget(&x->problems);
    return (!waited || identity_stands(&x->identity, tx, err)) && x->route->act(x, tx, err);
}

void exchange_rest(struct exchange *x)
{
    arena_end(&x->found);
    json_decref(x->body);
    x->body = NULL;
}

struct str exchange_context(struct exchange *x)
{
    return trace_exists(&x->trace) ? trace_text(&x->arena, &x->trace) : x->traceparent;
}

void exchange_traced(const struct exchange *x)
{
    if (!x->trace.sampled || x->status == 0)
        return;
    struct traced_request request = {
        .trace = x->trace,
        .parent = x->trace_parent,
        .method = x->route->method,
        .route = x->route->path,
        .status = x->status,
        .took_us = world_monotonic(x->server->pawl->world) - x->began,
        .org_id = x->caller.org_id,
    };
    tracer_request(x->server->tracer, &request);
}

static void answer_none(struct exchange *x)
{
    if (x->has_file)
        close(x->file);
    x->has_file = false;
    x->headers[0].name = NULL;
    json_decref(x->answer);
    x->answer = NULL;
}

bool exchange_answer(struct exchange *x, int status, json_t *json, struct pawl_error *err)
{
    if (!json)
        return fail(err, PAWL_NO_MEMORY, "no memory for the answer");
    answer_none(x);
    x->answer = json;
    x->status = status;
    return true;
}

bool exchange_answer_text(struct exchange *x, int status, const struct buf *text,
                          struct pawl_error *err)
{
    if (text->full)
        return fail(err, PAWL_NO_MEMORY, "no memory for the answer");
    answer_none(x);
    x->text = buf_str(text);
    x->status = status;
    return true;
}

// What a refusal is called, and its codes that are no codes of the engine.
static const struct refusal refusals[] = {
    { 400, "Not a request we can read", "bad_request not_json" },
    { 401, "Who are you?", "" },
    { 403, "Not allowed", "cross_site" },
    { 404, "Not found", "" },
    { 405, "Not with this method", "method_not_allowed" },
    { 408, "Too slow", "request_timeout" },
    { 409, "Conflict", "" },
    { 413, "Too large", "" },
    { 414, "Too long a URL", "uri_too_long" },
    { 415, "Not JSON", "not_json encoded" },
    { 421, "Not for this host", "wrong_host" },
    { 422, "Breaks the contract", "" },
    { 429, "Too many requests", "" },
    { 431, "Too many headers, or too long ones", "headers" },
    { 500, "Something is wrong here", "" },
    { 503, "Not now", "draining connections connections_per_address disk_full store" },
    { 507, "The disk is full", "" },
};

const struct refusal *refusal_at(size_t index)
{
    return index < countof(refusals) ? &refusals[index] : NULL;
}

static const char *title_of(int status)
{
    for (size_t i = 0; i < countof(refusals); i++)
        if (refusals[i].status == status)
            return refusals[i].title;
    return "Refused";
}

// A problem of the whole is named by where it was sent.
static json_t *errors_of(const struct exchange *x)
{
    json_t *errors = json_array();
    bool has_body = x->route && x->route->body_size != BODY_NONE;
    for (size_t i = 0; i < x->problems.count; i++) {
        const struct problem *p = &x->problems.list[i];
        struct str field = p->field.n ? p->field : has_body ? S("body")
                                                            : S("query");
        json_array_append_new(errors, json_pack("{s:s%,s:s%}", "field", field.s, field.n,
                                                "message", p->message.s, p->message.n));
    }
    return errors;
}

static void refuse(struct exchange *x, int status, const char *code, const char *detail)
{
    json_t *problem = json_pack("{s:s,s:i,s:s,s:s}", "title", title_of(status), "status", status,
                                "detail", detail, "code", code);
    bool by_field = status == 422 || (status == 413 && x->problems.count > 0);
    if (by_field)
        json_object_set_new(problem, "errors", errors_of(x));
    if (by_field && x->problems.left_out)
        json_object_set_new(problem, "errors_left_out",
                            json_integer((json_int_t)x->problems.left_out));
    if (x->caller.request_id.n)
        json_object_set_new(problem, "request_id", json_text_or_null(x->caller.request_id));
    answer_none(x);
    x->answer = problem;
    x->status = status;
    x->content_type = "application/problem+json";
    x->location = NULL;
}

void exchange_refuse(struct exchange *x, const struct pawl_error *err)
{
    const struct pawl_code_row *row = pawl_code(err->code);
    if (err->code == PAWL_INVALID && x->problems.count == 0)
        problem_add(&x->problems, "", "%s", err->message);
    if (row->http == 503)
        x->retry_after_s = 1;
    if (err->code == PAWL_INVALID && x->problems.large == x->problems.count + x->problems.left_out)
        row = pawl_code(PAWL_TOO_LARGE);  // nothing else is wrong
    refuse(x, row->http, row->word, err->message);
}

void exchange_put_error(struct buf *out, const struct pawl_error *error)
{
    json_put_open(out, "error", '{');
    json_put_text(out, "code", str_of(pawl_code(error->code)->word));
    json_put_text(out, "detail", str_of(error->message));
    json_put_close(out, '}');
}

void exchange_refuse_as(struct exchange *x, int status, const char *code, const char *format, ...)
{
    char detail[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    text_tidy(detail, n >= (int)sizeof detail);
    refuse(x, status, code, detail);
}

// ----- pages

// A cursor is a row key, perhaps of a row that is another org's: so it is masked, and sealed. Both
// by the store's secret, this org and this list: nobody can make one, or use it elsewhere.
static int64_t cursor_hash(struct exchange *x, struct str purpose)
{
    struct str parts[] = { purpose, x->caller.org_id, str_of(x->route->path) };
    return hash_short(x->server->secret, parts, countof(parts));
}

static uint32_t seal(struct exchange *x, uint64_t number)
{
    return (uint32_t)cursor_hash(x, str_format(&x->arena, "%llx", (unsigned long long)number));
}

static json_t *page(json_t *items, struct str cursor)
{
    struct json_field fields[] = {
        { "items", items },
        { "next_cursor", json_text_or_null(cursor) },
    };
    return json_object_of(fields, countof(fields));
}

struct str exchange_next_cursor(struct exchange *x, int64_t next)
{
    uint64_t masked = (uint64_t)next ^ (uint64_t)cursor_hash(x, S("mask"));
    return next ? str_format(&x->arena, "%016llx%08x", (unsigned long long)masked,
                             seal(x, (uint64_t)next))
                : S("");
}

json_t *exchange_page(struct exchange *x, json_t *items, int64_t next)
{
    return page(items, exchange_next_cursor(x, next));
}

static bool hex_read(struct str text, uint64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    *number = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = memchr(digits, text.s[i], sizeof digits - 1);
        if (!digit)
            return false;
        *number = *number << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

static bool refuse_cursor(struct exchange *x)
{
    problem_add(&x->problems, "cursor", "is not one of this list: take next_cursor as it is");
    return false;
}

bool exchange_cursor(struct exchange *x, struct str text, int64_t *number)
{
    uint64_t masked = 0, sealed = 0;
    *number = 0;
    if (text.n == 0)
        return true;
    if (text.n == 24 && hex_read((struct str){ text.s, 16 }, &masked)
        && hex_read((struct str){ text.s + 16, 8 }, &sealed)) {
        uint64_t plain = masked ^ (uint64_t)cursor_hash(x, S("mask"));
        *number = (int64_t)plain;
        if (sealed == seal(x, plain))
            return true;
    }
    *number = 0;
    return refuse_cursor(x);
}

// The name stands in it as it is: it is one the caller has seen.
static struct str name_cursor(struct exchange *x, struct str name)
{
    struct str purpose = str_format(&x->arena, "name %.*s", STR(name));
    return str_format(&x->arena, "%08x.%.*s", (uint32_t)cursor_hash(x, purpose), STR(name));
}

json_t *exchange_page_by_name(struct exchange *x, json_t *items, struct str next)
{
    return page(items, next.n ? name_cursor(x, next) : S(""));
}

bool exchange_cursor_name(struct exchange *x, struct str text, struct str *name)
{
    struct str sealed;
    *name = S("");
    if (text.n == 0)
        return true;
    str_cut(text, '.', &sealed, name);
    return str_eq(text, name_cursor(x, *name)) || refuse_cursor(x);
}

// What an id in the path of a route names.
static const char *kind_of(const struct route *route)
{
    static const char *const kinds[][2] = {
        { "/v1/executions/", "execution" },
        { "/v1/batches/", "batch" },
        { "/v1/artifacts/", "artifact" },
    };
    for (size_t i = 0; i < countof(kinds); i++)
        if (str_starts(str_of(route->path), str_of(kinds[i][0])))
            return kinds[i][1];
    return "job";
}

bool exchange_id(struct exchange *x, size_t part, struct id *id, struct pawl_error *err)
{
    return id_parse(x->path_parts[part], id)
        || fail(err, PAWL_NOT_FOUND, "there is no %s %.*s", kind_of(x->route),
                STR(text_clip(x->path_parts[part], 64)));
}

void exchange_end(struct exchange *x)
{
    exchange_rest(x);
    answer_none(x);
    arena_end(&x->arena);
}
