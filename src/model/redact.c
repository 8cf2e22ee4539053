// Goes through the text once. At each place every kind of secret is asked whether it begins there;
// the answer is how much of it may be shown and how much is masked.
#include "model/redact.h"

#include <string.h>
#include <strings.h>

#include "model/json_field.h"
#include "model/secret.h"
#include "model/text_rule.h"

#define MASK S("***")
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
#define TOKEN LETTERS ".~+/="

enum { NAME_BYTES = 64,        // of a name that may tell; the end of a longer one is looked at
       GUESS_BYTES_MIN = 8,    // of what is masked on a weaker sign
       VALUE_BYTES_MIN = 6 };  // of a value that is known

struct found {
    size_t shown, masked;  // masked is 0 when there is nothing to hide
};

static bool begins_word(const char *text, const char *s)
{
    return s == text || strchr(LETTERS, s[-1]) == NULL;
}

// ----- kinds

static struct found find_key(const char *text, const char *s)
{
    (void)text;
    const char *head = strncmp(s, "-----BEGIN ", 11) == 0 ? strstr(s, "PRIVATE KEY-----") : NULL;
    if (!head)
        return (struct found){0};
    const char *end = strstr(head, "-----END ");
    const char *close = end ? strstr(end, "KEY-----") : NULL;
    return (struct found){ 0, close ? (size_t)(close + 8 - s) : strlen(s) };
}

static struct found find_shape(const char *text, const char *s)
{
    return (struct found){ 0, secret_bytes(text, s) };
}

// `Bearer ` and what is behind it: the length of the word with its space, 0 when it is not one.
static size_t scheme_bytes(const char *s)
{
    static const char *const schemes[] = { "Bearer ", "Basic ", "Digest ", "Token " };
    for (size_t i = 0; i < countof(schemes); i++)
        if (strncasecmp(s, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

static struct found find_scheme(const char *text, const char *s)
{
    size_t shown = begins_word(text, s) ? scheme_bytes(s) : 0;
    size_t masked = shown ? strspn(s + shown, TOKEN) : 0;
    return (struct found){ shown, masked >= GUESS_BYTES_MIN ? masked : 0 };
}

// `://user:password@host`
static struct found find_url(const char *text, const char *s)
{
    (void)text;
    if (strncmp(s, "://", 3) != 0)
        return (struct found){0};
    size_t user = 3 + strcspn(s + 3, ":/?#@ \t\"'");
    if (s[user] != ':')
        return (struct found){0};
    size_t password = strcspn(s + user + 1, "/?#@ \t\"'");
    if (s[user + 1 + password] != '@')
        return (struct found){0};
    return (struct found){ user + 1, password };
}

enum sign { SIGN_NONE, SIGN_WEAK, SIGN_STRONG };

// The end of a name counts, so that DB_PASSWORD tells as much as `password`.
static enum sign name_sign(const char *s, size_t n)
{
    static const char *const weak[] = { "token", "pwd", "access_key", "credentials", "cookie" };
    char name[NAME_BYTES + 1] = "";
    size_t cut = n > NAME_BYTES ? n - NAME_BYTES : 0;
    memcpy(name, s + cut, n - cut);
    enum sign sign = SIGN_NONE;
    for (const char *end = name; *end; end++) {
        if (secret_named(end))
            return SIGN_STRONG;
        for (size_t i = 0; i < countof(weak); i++)
            sign = json_key_like(end, weak[i]) ? SIGN_WEAK : sign;
    }
    return sign;
}

// What is between a name and its value: `=`, `: `, `": "`; a space after `--name`. 0: no value.
static size_t link_bytes(const char *name, const char *s)
{
    size_t quote = *s == '"' || *s == '\'';
    size_t n = quote + strspn(s + quote, " \t");
    if (s[n] == '=' || s[n] == ':')
        return n + 1 + strspn(s + n + 1, " \t");
    return strncmp(name, "--", 2) == 0 && *s == ' ' ? 1 : 0;
}

static size_t quoted_bytes(const char *s, char quote)
{
    size_t n = 0;
    while (s[n] && s[n] != quote)
        n += s[n] == '\\' && s[n + 1] ? 2 : 1;
    return n;
}

// The last part of a path, as in `/etc/passwd: Permission denied`, names a file.
static struct found find_named(const char *text, const char *s)
{
    bool in_path = s > text && s[-1] == '/';
    size_t name = begins_word(text, s) && !in_path ? strspn(s, LETTERS) : 0;
    size_t link = name ? link_bytes(s, s + name) : 0;
    enum sign sign = link ? name_sign(s, name) : SIGN_NONE;
    if (sign == SIGN_NONE)
        return (struct found){0};
    size_t shown = name + link;
    char quote = s[shown];
    bool quoted = quote == '"' || quote == '\'';
    shown += quoted;
    shown += scheme_bytes(s + shown);
    size_t masked = quoted ? quoted_bytes(s + shown, quote) : strcspn(s + shown, " \t,;&\"'}])");
    bool enough = sign == SIGN_STRONG || masked >= GUESS_BYTES_MIN;
    return (struct found){ shown, enough ? masked : 0 };
}

// ----- all of them

static struct found find(const char *text, const char *s)
{
    static struct found (*const kinds[])(const char *text, const char *s) = {
        find_key, find_shape, find_scheme, find_url, find_named,
    };
    for (size_t i = 0; i < countof(kinds); i++) {
        struct found found = kinds[i](text, s);
        if (found.masked > 0)
            return found;
    }
    return (struct found){0};
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// No secret begins in the middle of a word, and most of a text is that.
static bool within_word(const char *text, const char *s)
{
    return s > text && is_alnum(*s) && is_alnum(s[-1]);
}

struct str redact(struct arena *arena, struct str given)
{
    const char *text = str_cstr(arena, str_dup(arena, given));
    struct buf clean = buf_new(arena, 4 * given.n + 64);  // `cvv=1` grows most, to less than twice
    for (const char *s = text; *s;) {
        struct found found = {0};
        if (!within_word(text, s))
            found = find(text, s);
        if (found.masked == 0) {
            buf_add_char(&clean, *s++);
            continue;
        }
        buf_add(&clean, (struct str){ s, found.shown });
        buf_add(&clean, MASK);
        s += found.shown + found.masked;
    }
    return buf_str(&clean);
}

// Marks every place of the value, also those within another one: of two secrets of which one begins
// the other, or that overlap, no part may stay.
static void mark(struct str text, struct str value, bool *marked)
{
    const char *end = text.s + text.n, *from = text.s, *at;
    while (from < end && (at = memmem(from, (size_t)(end - from), value.s, value.n))) {
        memset(marked + (at - text.s), true, value.n);
        from = at + 1;
    }
}

struct str redact_values(struct arena *arena, struct str text, char *const *values)
{
    if (!values || !*values)
        return text;
    bool *marked = arena_alloc(arena, text.n + 1);
    struct buf clean = buf_new(arena, text.n + MASK.n);  // a mask is shorter than what it hides
    if (!marked)
        return MASK;
    for (; *values; values++) {
        struct str rest = str_of(*values), line;
        for (bool more = true; more;) {
            more = str_cut(rest, '\n', &line, &rest);
            if (line.n >= VALUE_BYTES_MIN)
                mark(text, line, marked);
        }
    }
    for (size_t i = 0; i < text.n; i++) {
        if (!marked[i])
            buf_add_char(&clean, text.s[i]);
        else if (i == 0 || !marked[i - 1])
            buf_add(&clean, MASK);
    }
    return buf_str(&clean);
}

struct str redact_error(struct arena *arena, struct str text, size_t bytes_max)
{
    // Of twice as much, so that a secret at the end is seen whole.
    return text_clip(redact(arena, text_clip(text, 2 * bytes_max)), bytes_max);
}

struct str redact_line(struct arena *arena, struct str line, bool *in_key)
{
    const char *text = str_cstr(arena, str_dup(arena, line));
    bool was_in_key = *in_key;
    const char *begin = strstr(text, "-----BEGIN ");
    if (begin && strstr(begin, "PRIVATE KEY-----"))
        *in_key = !strstr(begin, "-----END ");
    else if (strstr(text, "-----END "))
        *in_key = false;
    return was_in_key ? MASK : redact(arena, line);
}
