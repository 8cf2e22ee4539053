// One walk over the message: at each place one of a few rules takes as much as is of its kind, or
// the character stays as it is.
#include "model/fingerprint.h"

#include <string.h>

#include "base/hash.h"

enum { HEX_ID_BYTES_MIN = 8, MIXED_ID_BYTES_MIN = 16 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool in_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct str rest_of(struct str text, size_t at)
{
    return (struct str){ text.s + at, text.n - at };
}

struct walk {
    struct buf out;
    char before;      // the character before the place
    bool unclosed[3]; // of `marks`: it is known that none of it closes any more
};

static const char marks[] = { '"', '\'', '`' };

static size_t closing(struct str text, char mark)
{
    for (size_t i = 1; i < text.n; i++)
        if (text.s[i] == mark && (i + 1 == text.n || !in_word(text.s[i + 1])))
            return i + 1;
    return 0;
}

// How long the quoted part is that begins here; 0: none does. The mark in `can't` is none. A mark
// that does not close is looked for once, or a message full of it would take its length squared.
static size_t quoted(struct walk *walk, struct str text)
{
    const char *mark = memchr(marks, text.s[0], sizeof marks);
    if (!mark || in_word(walk->before) || walk->unclosed[mark - marks])
        return 0;
    size_t n = closing(text, *mark);
    walk->unclosed[mark - marks] = n == 0;
    return n;
}

static size_t spaces(struct str text)
{
    size_t n = 0;
    while (n < text.n && is_space(text.s[n]))
        n++;
    return n;
}

static size_t word(struct str text)
{
    size_t n = 0;
    while (n < text.n && in_word(text.s[n]))
        n++;
    return n;
}

// Hexadecimal digits with or without dashes, or letters and digits so many that they mean nothing.
static bool is_id(struct str text)
{
    size_t digits = 0, hex = 0, letters = 0, dashes = 0;
    for (size_t i = 0; i < text.n; i++) {
        digits += is_digit(text.s[i]);
        hex += is_hex(text.s[i]);
        letters += is_letter(text.s[i]);
        dashes += text.s[i] == '-';
    }
    if (digits == 0 || letters == 0)
        return false;
    return (hex >= HEX_ID_BYTES_MIN && hex + dashes == text.n)
        || (text.n >= MIXED_ID_BYTES_MIN && dashes == 0 && letters + digits == text.n);
}

// A number with what holds its parts together: 1,000 and 12.5 and 10:22:01.
static size_t number(struct str text)
{
    size_t n = 0;
    while (n < text.n
           && (is_digit(text.s[n])
               || (n > 0 && strchr(".,:", text.s[n]) && n + 1 < text.n
                   && is_digit(text.s[n + 1]))))
        n++;
    return n;
}

// A word with its numbers taken out; a number may go on behind its end. Answers what was taken.
static size_t add_word(struct buf *out, struct str text, size_t length)
{
    size_t at = 0;
    if (is_id((struct str){ text.s, length })) {
        buf_add(out, S("<id>"));
        return length;
    }
    while (at < length) {
        size_t n = number(rest_of(text, at));
        if (n)
            buf_add(out, S("<n>"));
        else
            buf_add_char(out, text.s[at]);
        at += n ? n : 1;
    }
    return at;
}

static size_t add_next(struct walk *walk, struct str text)
{
    struct buf *out = &walk->out;
    size_t n = spaces(text);
    if (n) {
        buf_add_char(out, ' ');
        return n;
    }
    if ((n = quoted(walk, text)) > 0) {
        buf_add(out, S("<text>"));
        return n;
    }
    if ((n = word(text)) > 0)
        return add_word(out, text, n);
    buf_add_char(out, text.s[0]);
    return 1;
}

// A pattern that is too long ends before the character that would not fit whole.
static struct str clipped(struct str text)
{
    if (text.n <= PATTERN_BYTES_MAX)
        return text;
    text.n = PATTERN_BYTES_MAX;
    while (text.n > 0 && (text.s[text.n] & 0xc0) == 0x80)
        text.n--;
    return text;
}

struct str error_pattern(struct arena *arena, struct str message)
{
    struct walk walk = { .out = buf_new(arena, SIZE_MAX), .before = ' ' };
    buf_expect(&walk.out, message.n < PATTERN_BYTES_MAX ? message.n : PATTERN_BYTES_MAX);
    for (size_t at = 0; at < message.n && walk.out.n <= PATTERN_BYTES_MAX + 1;) {
        at += add_next(&walk, rest_of(message, at));
        walk.before = message.s[at - 1];
    }
    struct str text = buf_str(&walk.out);
    while (text.n > 0 && text.s[0] == ' ')
        text = rest_of(text, 1);
    while (text.n > 0 && text.s[text.n - 1] == ' ')
        text.n--;
    return clipped(text);
}

struct str fingerprint(struct arena *arena, struct str job_type, struct str kind,
                       struct str pattern)
{
    struct str whole = str_format(arena, "%.*s\n%.*s\n%.*s", STR(job_type), STR(kind),
                                  STR(pattern));
    struct str name = hash_name(arena, whole);
    return (struct str){ name.s, name.n < FINGERPRINT_DIGITS ? name.n : FINGERPRINT_DIGITS };
}

bool fingerprint_valid(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!is_hex(text.s[i]) || (text.s[i] >= 'A' && text.s[i] <= 'F'))
            return false;
    return text.n == FINGERPRINT_DIGITS;
}
