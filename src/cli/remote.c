// Refusals keep their words: what the engine says reads the same through a server. What is about
// the way there says which server, and what to do.
#include "cli/remote.h"

#include <string.h>

#include "cli/object.h"

enum { TRIES_MAX = 5, PAUSE_S_MAX = 10 };

struct str url_encoded(struct arena *arena, struct str text)
{
    struct buf out = buf_new(arena, text.n * 3 + 1);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                  || (c && strchr("-._~", c));
        if (plain)
            buf_add_char(&out, (char)c);
        else
            buf_addf(&out, "%%%02X", c);
    }
    return buf_str(&out);
}

bool reply_good(const struct reply *reply)
{
    return reply->status >= 200 && reply->status < 300 && json_is_object(reply->body);
}

enum pawl_code code_of(struct str word, int status)
{
    // clang-format off
    static const struct { int status; enum pawl_code code; } by_status[] = {
        { 400, PAWL_INVALID },   { 401, PAWL_UNAUTHORIZED }, { 403, PAWL_FORBIDDEN },
        { 404, PAWL_NOT_FOUND }, { 409, PAWL_CONFLICT },     { 413, PAWL_TOO_LARGE },
        { 422, PAWL_INVALID },   { 429, PAWL_TOO_MANY },     { 503, PAWL_BUSY },
        { 507, PAWL_DISK_FULL },
    };
    // clang-format on
    for (int code = PAWL_OK + 1; code < PAWL_CODES; code++)
        if (str_eq(word, str_of(pawl_code((enum pawl_code)code)->word)))
            return (enum pawl_code)code;
    for (size_t i = 0; i < countof(by_status); i++)
        if (by_status[i].status == status)
            return by_status[i].code;
    return PAWL_STORE;
}

static void take_problems(struct cli *cli, const json_t *body)
{
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(body, "errors"), i, item) {
        struct str field = object_text(item, "field"), message = object_text(item, "message");
        problem_add(&cli->problems, str_cstr(&cli->arena, field), "%.*s", STR(message));
    }
}

// What the caller can do about a refusal that is about him or the server, not about his request.
static const char *hint_of(enum pawl_code code)
{
    static const struct { enum pawl_code code; const char *hint; } hints[] = {
        { PAWL_UNAUTHORIZED, "set $PAWL_API_KEY, or say --key-file FILE" },
        { PAWL_FORBIDDEN, "use a key of another role" },
        { PAWL_TOO_MANY, "try again later" },
        { PAWL_BUSY, "try again later" },
        { PAWL_FULL, "try again later" },
    };
    for (size_t i = 0; i < countof(hints); i++)
        if (hints[i].code == code)
            return hints[i].hint;
    return NULL;
}

bool reply_refused(struct cli *cli, const struct reply *reply, struct pawl_error *err)
{
    const char *url = client_url(cli->client);
    struct str detail = object_text(reply->body, "detail");
    struct str word = object_text(reply->body, "code");
    if (detail.n == 0)
        return fail(err, PAWL_STORE, "%s answers with status %d and without a reason that Pawl "
                                     "would give: is it the address of a Pawl server?",
                    url, reply->status);
    enum pawl_code code = code_of(word, reply->status);
    const char *hint = hint_of(code);
    take_problems(cli, reply->body);
    if (hint || !pawl_code(code)->refusal)
        return fail(err, code, "%s: %.*s%s%s", url, STR(detail), hint ? ": " : "",
                    hint ? hint : "");
    return fail(err, code, "%.*s", STR(detail));
}

// Only what has changed nothing is said again: a commit in doubt is none of these.
static bool may_come_again(const struct reply *reply)
{
    bool not_now = reply->status == 429 || reply->status == 503;
    return not_now && reply->retry_after_s > 0
        && !str_eq(object_text(reply->body, "code"), str_of(pawl_code(PAWL_IN_DOUBT)->word));
}

bool remote_send(struct cli *cli, const struct request *request, struct reply *reply,
                 struct pawl_error *err)
{
    for (int tries = 1;; tries++) {
        if (!client_ask(cli->client, request, reply, err))
            return false;
        if (tries == TRIES_MAX || !may_come_again(reply))
            return true;
        int64_t pause_s = reply->retry_after_s < PAUSE_S_MAX ? reply->retry_after_s : PAUSE_S_MAX;
        reply_end(reply);
        world_sleep(cli->world, SECONDS(pause_s));
    }
}

bool remote_ask(struct cli *cli, const struct request *request, struct reply *reply,
                struct pawl_error *err)
{
    if (!remote_send(cli, request, reply, err))
        return false;
    if (reply_good(reply))
        return true;
    (void)!reply_refused(cli, reply, err);
    reply_end(reply);
    return false;
}
