// Whether a comma is due can be seen from the last character: no value ends in an open bracket or a
// colon. So there is no state but the text.
#include "base/json_put.h"

#include <string.h>

#include "base/time_text.h"

// Other control characters are \u00xx, all the rest stands for itself.
static const char escapes[128] = {
    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
    ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\',
};

// Words of which no byte needs an escape. Subtracting borrows into the highest bit of a byte that
// is too small.
static size_t plain_words(struct str text)
{
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    uint64_t word;
    size_t n = 0;
    for (; n + sizeof word <= text.n; n += sizeof word) {
        memcpy(&word, text.s + n, sizeof word);
        uint64_t quote = word ^ each * '"', slash = word ^ each * '\\';
        uint64_t escapes_first = ((word - each * 0x20) & ~word) | ((quote - each) & ~quote)
                               | ((slash - each) & ~slash);
        if (escapes_first & high)
            break;
    }
    return n;
}

static bool needs_escape(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte < 0x20 || (byte < countof(escapes) && escapes[byte]);
}

static size_t plain_bytes(struct str text)
{
    size_t n = plain_words(text);
    while (n < text.n && !needs_escape(text.s[n]))
        n++;
    return n;
}

static void put_escape(struct buf *out, char c)
{
    char escape = escapes[(unsigned char)c];
    if (escape)
        buf_addf(out, "\\%c", escape);
    else
        buf_addf(out, "\\u%04x", c);
}

static void put_plain(struct buf *out, struct str text)
{
    char *at = buf_room(out, text.n + S("\"\"").n);
    if (!at)
        return;
    at[0] = at[text.n + 1] = '"';
    memcpy(at + 1, text.s, text.n);
    out->n += text.n + S("\"\"").n;
}

void json_put_string(struct buf *out, struct str text)
{
    if (text.n > 0 && plain_bytes(text) == text.n) {
        put_plain(out, text);
        return;
    }
    buf_add_char(out, '"');
    while (text.n > 0) {
        size_t plain = plain_bytes(text);
        buf_add(out, (struct str){ text.s, plain });
        if (plain == text.n)
            break;
        put_escape(out, text.s[plain]);
        text = (struct str){ text.s + plain + 1, text.n - plain - 1 };
    }
    buf_add_char(out, '"');
}

// Puts the comma that is due and the name, and makes room for `bytes` more. False: it is full.
static bool begin(struct buf *out, const char *name, size_t bytes)
{
    char last = out->n > 0 ? out->s[out->n - 1] : '[';
    bool comma = last != '{' && last != '[';
    size_t n = name ? strlen(name) : 0;
    char *at = buf_room(out, comma + (name ? n + S("\"\":").n : 0) + bytes);
    if (!at)
        return false;
    if (comma)
        *at++ = ',';
    if (name) {  // our own names need no escape
        *at++ = '"';
        memcpy(at, name, n);
        at += n;
        *at++ = '"';
        *at++ = ':';
    }
    out->n = (size_t)(at - out->s);
    return true;
}

void json_put_open(struct buf *out, const char *name, char bracket)
{
    if (begin(out, name, 1))
        buf_add_char(out, bracket);
}

void json_put_close(struct buf *out, char bracket)
{
    buf_add_char(out, bracket);
}

void json_put_raw(struct buf *out, const char *name, struct str json)
{
    struct str value = json.n > 0 ? json : S("null");
    if (begin(out, name, value.n))
        buf_add(out, value);
}

void json_put_int(struct buf *out, const char *name, int64_t number)
{
    if (begin(out, name, 0))
        buf_add_int(out, number, 1);
}

void json_put_bool(struct buf *out, const char *name, bool value)
{
    json_put_raw(out, name, value ? S("true") : S("false"));
}

void json_put_text(struct buf *out, const char *name, struct str text)
{
    if (text.n == 0) {
        json_put_raw(out, name, S("null"));
        return;
    }
    if (begin(out, name, text.n + S("\"\"").n))
        json_put_string(out, text);
}

void json_put_time(struct buf *out, const char *name, pawl_time time)
{
    if (time == 0) {
        json_put_raw(out, name, S("null"));
        return;
    }
    if (!begin(out, name, S("\"\"").n))
        return;
    buf_add_char(out, '"');
    time_add(out, time);
    buf_add_char(out, '"');
}

void json_put_id(struct buf *out, const char *name, struct id id)
{
    char text[ID_TEXT + 1];
    id_format(id, text);
    json_put_text(out, name, id.high || id.low ? (struct str){ text, ID_TEXT } : S(""));
}
