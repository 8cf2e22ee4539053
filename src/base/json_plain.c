// One function per rule of the grammar; each goes on where the one before it stopped.
#include "base/json_plain.h"

#include <string.h>

#include "base/json.h"

enum { LEVELS_MAX = 8, KEYS_MAX = 24, DIGITS_MAX = 15 };  // so many digits are never out of range

struct scan {
    const char *s, *end;
    bool (*key_fits)(struct str key);
};

static bool value(struct scan *scan, int levels);

static void skip_blanks(struct scan *scan)
{
    while (scan->s < scan->end
           && (*scan->s == ' ' || *scan->s == '\n' || *scan->s == '\t' || *scan->s == '\r'))
        scan->s++;
}

static bool accept(struct scan *scan, char c)
{
    bool found = scan->s < scan->end && *scan->s == c;
    scan->s += found;
    return found;
}

static bool accept_word(struct scan *scan, struct str word)
{
    bool found = (size_t)(scan->end - scan->s) >= word.n && memcmp(scan->s, word.s, word.n) == 0;
    scan->s += found ? word.n : 0;
    return found;
}

// Behind a backslash: an escape of one letter.
static bool short_escape(struct scan *scan)
{
    if (scan->s == scan->end || *scan->s == '\0' || !strchr("\"\\/bfnrt", *scan->s))
        return false;
    scan->s++;
    return true;
}

// Skips whole words of ASCII that has no meaning in a string. Subtracting borrows into the highest
// bit of a byte that is too small; a word that is taken for more than it is, is looked at again.
static void skip_plain(struct scan *scan)
{
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    uint64_t word;
    for (; (size_t)(scan->end - scan->s) >= sizeof word; scan->s += sizeof word) {
        memcpy(&word, scan->s, sizeof word);
        uint64_t control = word - each * 0x20, quote = (word ^ each * '"') - each,
                 escape = (word ^ each * '\\') - each;
        if ((word | control | quote | escape) & high)
            return;
    }
}

// Behind the opening quote, to behind the closing one.
static bool string(struct scan *scan)
{
    skip_plain(scan);
    while (scan->s < scan->end) {
        unsigned char c = (unsigned char)*scan->s;
        if (c >= 0x80) {
            size_t step = utf8_step((struct str){ scan->s, (size_t)(scan->end - scan->s) });
            scan->s += step;
            if (step == 0)
                return false;
            continue;
        }
        if (c < 0x20)
            return false;
        scan->s++;
        if (c == '"')
            return true;
        if (c == '\\' && !short_escape(scan))
            return false;
    }
    return false;
}

static bool key(struct scan *scan, struct str *text)
{
    if (!accept(scan, '"'))
        return false;
    const char *begin = scan->s;
    if (!string(scan))
        return false;
    *text = (struct str){ begin, (size_t)(scan->s - begin) - 1 };
    return text->n <= JSON_KEY_BYTES_MAX && !memchr(text->s, '\\', text->n)
        && (!scan->key_fits || scan->key_fits(*text));
}

static bool repeats(const struct str *keys, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (str_eq(keys[i], keys[count - 1]))
            return true;
    return false;
}

static bool object(struct scan *scan, int levels)
{
    struct str keys[KEYS_MAX];
    size_t count = 0;
    skip_blanks(scan);
    if (accept(scan, '}'))
        return true;
    do {
        skip_blanks(scan);
        if (count == KEYS_MAX || !key(scan, &keys[count++]) || repeats(keys, count))
            return false;
        skip_blanks(scan);
        if (!accept(scan, ':') || !value(scan, levels))
            return false;
    } while (accept(scan, ','));
    return accept(scan, '}');
}

static bool array(struct scan *scan, int levels)
{
    skip_blanks(scan);
    if (accept(scan, ']'))
        return true;
    do {
        if (!value(scan, levels))
            return false;
    } while (accept(scan, ','));
    return accept(scan, ']');
}

static size_t digits(struct scan *scan)
{
    const char *begin = scan->s;
    while (scan->s < scan->end && *scan->s >= '0' && *scan->s <= '9')
        scan->s++;
    return (size_t)(scan->s - begin);
}

static bool number(struct scan *scan)
{
    accept(scan, '-');
    bool zero = scan->s < scan->end && *scan->s == '0';
    size_t whole = digits(scan), rest = 0;
    if (whole == 0 || (zero && whole > 1))
        return false;
    if (accept(scan, '.')) {
        rest = digits(scan);
        if (rest == 0)
            return false;
    }
    bool exponent = scan->s < scan->end && (*scan->s == 'e' || *scan->s == 'E');
    return whole + rest <= DIGITS_MAX && !exponent;
}

// With the blanks around it.
static bool value(struct scan *scan, int levels)
{
    bool plain = false;
    skip_blanks(scan);
    if (accept(scan, '"'))
        plain = string(scan);
    else if (accept(scan, '{'))
        plain = levels > 0 && object(scan, levels - 1);
    else if (accept(scan, '['))
        plain = levels > 0 && array(scan, levels - 1);
    else
        plain = accept_word(scan, S("true")) || accept_word(scan, S("false"))
             || accept_word(scan, S("null")) || number(scan);
    skip_blanks(scan);
    return plain;
}

bool json_plain(struct str text, bool (*key_fits)(struct str key))
{
    struct scan scan = { text.s, text.s + text.n, key_fits };
    return text.n > 0 && value(&scan, LEVELS_MAX) && scan.s == scan.end;
}
