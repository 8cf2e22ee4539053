// One row per code says how it looks from outside: in JSON, over HTTP, to the shell. The message is
// cleaned once, when it is made, since it quotes what strangers sent.

#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

static const struct pawl_code_row codes[] = {
    [PAWL_OK]                 = { "ok",                 200, 0, false },
    [PAWL_USAGE]              = { "usage",              400, 2, true },
    [PAWL_INVALID]            = { "contract",           422, 1, true },
    [PAWL_NOT_FOUND]          = { "not_found",          404, 3, true },
    [PAWL_CONFLICT]           = { "conflict",           409, 4, true },
    [PAWL_FENCED]             = { "lease_lost",         409, 4, true },
    [PAWL_ALREADY_COMMITTED]  = { "already_committed",  409, 4, true },
    [PAWL_NOT_STARTED]        = { "not_started",        409, 4, true },
    [PAWL_TERMINAL]           = { "terminal",           409, 4, true },
    [PAWL_KEY_REUSED]         = { "key_reused",         409, 4, true },
    [PAWL_EFFECT_NOT_ALLOWED] = { "effect_not_allowed", 422, 4, true },
    [PAWL_FORBIDDEN]          = { "forbidden",          403, 5, true },
    [PAWL_TOO_LARGE]          = { "too_large",          413, 1, true },
    [PAWL_BUSY]               = { "busy",               503, 1, false },
    [PAWL_FULL]               = { "full",               503, 1, false },
    [PAWL_QUEUE_FULL]         = { "queue_full",         503, 1, true },
    [PAWL_DISK_FULL]          = { "disk_full",          507, 1, false },
    [PAWL_STORE]              = { "store",              500, 1, false },
    [PAWL_DAMAGED]            = { "damaged",            500, 1, true },
    [PAWL_IN_DOUBT]           = { "in_doubt",           503, 1, false },
    [PAWL_NO_MEMORY]          = { "no_memory",          503, 1, false },
    [PAWL_UNAUTHORIZED]       = { "unauthorized",       401, 5, true },
    [PAWL_TOO_MANY]           = { "rate_limited",       429, 1, true },
    [PAWL_SLOT_CLAIMED]       = { "slot_claimed",       409, 4, true },
    [PAWL_MAX_INSTANCES]      = { "max_instances",      409, 4, true },
    [PAWL_CLOSED]             = { "closed",             409, 4, true },
    [PAWL_OUTDATED]           = { "outdated",           503, 1, false },
};
_Static_assert(countof(codes) == PAWL_CODES, "one row per code");

const struct pawl_code_row *pawl_code(enum pawl_code code)
{
    assert((unsigned)code < PAWL_CODES);
    return &codes[code];
}

enum { MESSAGE_BYTES = sizeof((struct pawl_error){0}.message) };

PRINTF(2, 0)
static void compose(char message[MESSAGE_BYTES], const char *format, va_list args)
{
    int n = vsnprintf(message, MESSAGE_BYTES, format, args);
    if (n < 0)
        message[0] = '\0';
    text_tidy(message, n >= MESSAGE_BYTES);
}

bool(fail)(struct pawl_error *err, enum pawl_code code, const char *format, ...)
{
    // Made apart from `err`: a caller may quote the old message in the new one.
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    compose(message, format, args);
    va_end(args);
    if (!err)
        return false;
    err->code = code;
    memcpy(err->message, message, strlen(message) + 1);
    return false;
}

// Without memory there still is a problem: the input must not be taken for good.
static const char nothing_more[] = "is not as it must be; there is no memory to say more";
static struct problem unsaid = { .message = { nothing_more, sizeof nothing_more - 1 } };

// Where the next one goes; NULL when it is only counted.
static struct problem *next_problem(struct problems *problems)
{
    if (!problems->list)
        problems->list = arena_new(problems->arena, struct problem, PROBLEMS_MAX);
    if (!problems->list)
        problems->list = &unsaid;
    bool is_unsaid = problems->list == &unsaid;
    if (problems->count == (is_unsaid ? 1 : PROBLEMS_MAX)) {
        problems->left_out++;
        return NULL;
    }
    problems->count++;
    return is_unsaid ? NULL : &problems->list[problems->count - 1];
}

void problem_add(struct problems *problems, const char *field, const char *format, ...)
{
    struct problem *problem = next_problem(problems);
    if (!problem)
        return;
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    compose(message, format, args);
    va_end(args);
    *problem = (struct problem){
        .field = str_dup(problems->arena, str_of(field)),
        .message = str_dup(problems->arena, str_of(message)),
    };
}

void problems_forget(struct problems *problems)
{
    *problems = (struct problems){ .arena = problems->arena };
}

static bool is_named(const struct problem *list, size_t count, struct str field)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(list[i].field, field))
            return true;
    return false;
}

void problems_once(struct problems *problems, size_t read)
{
    size_t kept = read;
    for (size_t i = read; i < problems->count; i++) {
        if (is_named(problems->list, read, problems->list[i].field))
            continue;
        if (kept < i)
            problems->list[kept] = problems->list[i];
        kept++;
    }
    problems->count = kept;
}

// Adds `field: message`, or the message alone when the problem is of the whole, as far as `room`
// goes. Answers how many bytes it takes.
static size_t add(char *line, size_t room, const struct problem *problem, const char *before)
{
    const char *colon = problem->field.n > 0 ? ": " : "";
    int n = snprintf(line, room, "%s%.*s%s%.*s", before, STR(problem->field), colon,
                     STR(problem->message));
    return n < 0 ? 0 : (size_t)n;
}

bool problems_none(const struct problems *problems, struct pawl_error *err)
{
    enum { TAIL = sizeof("; and 99999999 more") };
    char line[MESSAGE_BYTES];
    size_t n = 0, shown = 0;
    if (problems->count == 0)
        return true;
    for (; shown < problems->count; shown++) {
        bool last = shown + 1 == problems->count;
        size_t room = sizeof(line) - n - (last ? 0 : TAIL);
        size_t more = add(line + n, room, &problems->list[shown], shown > 0 ? "; " : "");
        if (more >= room && shown > 0)
            break;
        n += more < room ? more : room - 1;
    }
    line[n] = '\0';
    size_t others = problems->count - shown + problems->left_out;
    if (others == 0)
        return fail(err, PAWL_INVALID, "%s", line);
    return fail(err, PAWL_INVALID, "%s; and %zu more", line, others);
}
