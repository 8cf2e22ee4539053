// Walks a JSON value once, looking at every key and every text.

#include "model/secret.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "model/json_field.h"

// clang-format off
// Compared without case, `-` and `_`, as whole names: `password_ref` is no secret.
static const char *const secret_names[] = {
    "password", "passwd", "passphrase", "secret", "secret_key", "client_secret", "private_key",
    "api_key", "api_secret", "access_token", "refresh_token", "auth_token", "bearer_token",
    "authorization", "credit_card", "credit_card_number", "card_number", "cvv", "cvc",
};

#define UPPER "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD UPPER "abcdefghijklmnopqrstuvwxyz"

// A mark, then parts of these letters with `_` between them, each at least so long (0: no more).
static const struct shape {
    const char *mark;
    const char *letters;
    size_t part_bytes_min[4];
} shapes[] = {
    { "AKIA",        UPPER, { 16 } },            // AWS access key id
    { "ghp_",        WORD,  { 36 } },            // GitHub
    { "gho_",        WORD,  { 36 } },
    { "ghs_",        WORD,  { 36 } },
    { "github_pat_", WORD,  { 22, 40 } },
    { "sk_live_",    WORD,  { 24 } },            // Stripe
    { "pawl_",       WORD,  { 1, 4, 16, 4 } },   // ours: pawl_<env>_<id>_<secret>_<crc>
};
// clang-format on

bool secret_named(const char *key)
{
    for (size_t i = 0; i < countof(secret_names); i++)
        if (json_key_like(key, secret_names[i]))
            return true;
    return false;
}

// How long what follows the mark is; 0 when it is not of the shape.
static size_t shape_bytes(const struct shape *shape, const char *begin)
{
    const char *s = begin;
    for (size_t i = 0; i < countof(shape->part_bytes_min) && shape->part_bytes_min[i]; i++) {
        if (i > 0 && *s++ != '_')
            return 0;
        size_t n = strspn(s, shape->letters);
        if (n < shape->part_bytes_min[i])
            return 0;
        s += n;
    }
    return (size_t)(s - begin);
}

// A mark in the middle of a word is no mark.
static bool word_starts(const char *text, const char *s)
{
    return s == text || strchr(WORD, s[-1]) == NULL;
}

size_t secret_bytes(const char *text, const char *s)
{
    for (size_t i = 0; i < countof(shapes) && word_starts(text, s); i++) {
        size_t mark = strlen(shapes[i].mark);
        size_t rest = strncmp(s, shapes[i].mark, mark) == 0 ? shape_bytes(&shapes[i], s + mark) : 0;
        if (rest > 0)
            return mark + rest;
    }
    return 0;
}

#define KEY_MARK "-----BEGIN "

static bool shape_tells(const char *text)
{
    const char *begin = strstr(text, KEY_MARK);
    if (begin && strstr(begin, "PRIVATE KEY-----"))
        return true;
    for (size_t i = 0; i < countof(shapes); i++)
        for (const char *s = text; (s = strstr(s, shapes[i].mark)) != NULL; s++)
            if (secret_bytes(text, s) > 0)
                return true;
    return false;
}

static bool starts_mark(const char *s, size_t n)
{
    for (size_t i = 0; i < countof(shapes); i++) {
        size_t mark = strlen(shapes[i].mark);
        if (n >= mark && memcmp(s, shapes[i].mark, mark) == 0)
            return true;
    }
    return n >= S(KEY_MARK).n && memcmp(s, KEY_MARK, S(KEY_MARK).n) == 0;
}

// What shape_tells looks for begins with a mark, and json_plain knows no escape that could hide
// one.
bool secret_possible(struct str text)
{
    bool first[UCHAR_MAX + 1] = { ['-'] = true };  // of KEY_MARK
    for (size_t i = 0; i < countof(shapes); i++)
        first[(unsigned char)shapes[i].mark[0]] = true;
    for (size_t i = 0; i < text.n; i++)
        if (first[(unsigned char)text.s[i]] && starts_mark(text.s + i, text.n - i))
            return true;
    return false;
}

bool secret_key_plain(struct str key)
{
    char text[JSON_KEY_BYTES_MAX + 1];
    assert(key.n < sizeof text);
    memcpy(text, key.s, key.n);
    text[key.n] = '\0';
    return !secret_named(text);
}

// Where the walk is, as a list up the stack: a path is written only when there is a problem.
struct place {
    const struct place *up;  // NULL: the root, whose key is its path
    const char *key;         // NULL: an element of an array
    size_t index;
};

static struct str path_of(struct arena *arena, const struct place *place)
{
    if (!place->up)
        return str_of(place->key);
    struct str up = path_of(arena, place->up);
    if (!place->key)
        return str_format(arena, "%.*s[%zu]", STR(up), place->index);
    return str_format(arena, "%.*s.%s", STR(up), place->key);
}

static bool text_clean(const char *text, const struct place *place, struct problems *problems)
{
    if (text[0] == '\0' || !((place->key && secret_named(place->key)) || shape_tells(text)))
        return true;
    problem_add(problems, path_of(problems->arena, place).s,
                "looks like a secret, and a payload is stored and shown: "
                "send a reference to the secret instead");
    return false;
}

static bool value_clean(const json_t *value, const struct place *place, struct problems *problems)
{
    bool clean = true;
    if (json_is_string(value))
        return text_clean(json_string_value(value), place, problems);

    size_t i;
    json_t *child;
    json_array_foreach (value, i, child) {
        clean &= value_clean(child, &(struct place){ place, NULL, i }, problems);
    }

    const char *key;
    json_object_foreach (json_iterable(value), key, child) {
        clean &= value_clean(child, &(struct place){ place, key, 0 }, problems);
    }
    return clean;
}

bool secret_none(const json_t *value, const char *path, struct problems *problems)
{
    return value_clean(value, &(struct place){ .key = path }, problems);
}
