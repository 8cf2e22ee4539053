// Answers: JSON as it is, and errors as problems that name the request they belong to.
#include "server/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "model/json_field.h"
#include "model/text_rule.h"
#include "server/route.h"

static void answer_none(struct exchange *x)
{
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
    { 415, "Not JSON", "not_json encoded" },
    { 421, "Not for this host", "wrong_host" },
    { 422, "Breaks the contract", "" },
    { 429, "Too many requests", "" },
    { 431, "Too many headers", "headers" },
    { 500, "Something is wrong here", "" },
    { 503, "Not now", "draining connections" },
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

static json_t *errors_of(const struct problems *problems)
{
    json_t *errors = json_array();
    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *p = &problems->list[i];
        json_array_append_new(errors, json_pack("{s:s%,s:s%}", "field", p->field.s, p->field.n,
                                                "message", p->message.s, p->message.n));
    }
    return errors;
}

static void refuse(struct exchange *x, int status, const char *code, const char *detail)
{
    json_t *problem = json_pack("{s:s,s:i,s:s,s:s}", "title", title_of(status), "status", status,
                                "detail", detail, "code", code);
    if (status == 422)
        json_object_set_new(problem, "errors", errors_of(&x->problems));
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
    if (err->code == PAWL_BUSY || err->code == PAWL_FULL || err->code == PAWL_IN_DOUBT
        || err->code == PAWL_NO_MEMORY)
        x->retry_after_s = 1;
    refuse(x, row->http, row->word, err->message);
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

// What makes a cursor one of this caller's: nobody can count through another org's jobs with it.
static struct str seal(struct exchange *x, int64_t number)
{
    struct str text = str_format(&x->arena, "%lld|%.*s|%s", (long long)number,
                                 STR(x->caller.org_id), x->route->path);
    struct str name = hash_name(&x->arena, text);
    return (struct str){ name.s, name.n < 8 ? name.n : 8 };
}

json_t *exchange_page(struct exchange *x, json_t *items, int64_t next)
{
    struct str cursor = next ? str_format(&x->arena, "%llx-%.*s", (unsigned long long)next,
                                          STR(seal(x, next)))
                             : S("");
    struct json_field fields[] = {
        { "items", items },
        { "next_cursor", json_text_or_null(cursor) },
    };
    return json_object_of(fields, countof(fields));
}

bool exchange_cursor(struct exchange *x, struct str text, int64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    struct str hex, mark;
    uint64_t n = 0;
    *number = 0;
    if (text.n == 0)
        return true;
    bool fits = str_cut(text, '-', &hex, &mark) && hex.n > 0 && hex.n <= 15;
    for (size_t i = 0; fits && i < hex.n; i++) {
        const char *digit = strchr(digits, hex.s[i]);
        fits = digit && *digit;
        n = n * 16 + (uint64_t)(fits ? digit - digits : 0);
    }
    *number = (int64_t)n;
    if (fits && str_eq(mark, seal(x, *number)))
        return true;
    problem_add(&x->problems, "cursor", "is not one of this list: take next_cursor as it is");
    return false;
}

bool exchange_id(struct exchange *x, size_t part, struct id *id, struct pawl_error *err)
{
    return id_parse(x->path_parts[part], id)
        || fail(err, PAWL_NOT_FOUND, "there is no %.*s here",
                STR(text_clip(x->path_parts[part], 64)));
}

void exchange_end(struct exchange *x)
{
    json_decref(x->body);
    answer_none(x);
    arena_end(&x->arena);
}
