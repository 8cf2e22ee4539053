// Text is a pointer and a length, so an empty text may have no pointer at all: the C library must
// not be handed that NULL, and every copy and comparison here goes through one place that knows.

#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

enum { BUF_BYTES_MIN = 64 };

static void copy(char *to, struct str text)
{
    if (text.n > 0)
        memcpy(to, text.s, text.n);
}

static bool same(const char *a, const char *b, size_t n)
{
    return n == 0 || memcmp(a, b, n) == 0;
}

struct str str_of(const char *text)
{
    if (!text)
        return S("");
    return (struct str){ text, strlen(text) };
}

struct str str_dup(struct arena *arena, struct str text)
{
    if (text.n == 0)
        return S("");
    char *s = arena_raw(arena, text.n < SIZE_MAX ? text.n + 1 : SIZE_MAX);
    if (!s)
        return S("");
    copy(s, text);
    s[text.n] = '\0';
    return (struct str){ s, text.n };
}

const char *str_cstr(struct arena *arena, struct str text)
{
    return str_dup(arena, text).s;
}

struct str str_format(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *s = arena_alloc(arena, n < 0 ? SIZE_MAX : (size_t)n + 1);
    if (s)
        vsnprintf(s, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return s ? (struct str){ s, (size_t)n } : S("");
}

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && same(a.s, b.s, a.n);
}

int str_order(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n > 0 ? memcmp(a.s, b.s, n) : 0;
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str text, struct str prefix)
{
    return text.n >= prefix.n && same(text.s, prefix.s, prefix.n);
}

bool str_ends(struct str text, struct str suffix)
{
    if (text.n < suffix.n || suffix.n == 0)
        return suffix.n == 0;
    return same(text.s + (text.n - suffix.n), suffix.s, suffix.n);
}

bool str_cut(struct str text, char mark, struct str *head, struct str *tail)
{
    const char *at = text.n > 0 ? memchr(text.s, mark, text.n) : NULL;
    if (!at) {
        *head = text;
        *tail = S("");
        return false;
    }
    size_t before = (size_t)(at - text.s);
    *head = (struct str){ text.s, before };
    *tail = (struct str){ at + 1, text.n - before - 1 };
    return true;
}

// Counts down from zero, because the negative range is the larger one.
bool str_int(struct str text, int64_t *number)
{
    bool negative = text.n > 0 && text.s[0] == '-';
    int64_t value = 0;
    size_t i = negative ? 1 : 0;
    if (i == text.n)
        return false;
    for (; i < text.n; i++) {
        int digit = text.s[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value)
            || __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *number = negative ? value : -value;
    return true;
}

// The well-formed byte sequences of the Unicode standard (table 3-7): only the second byte has a
// range of its own, which is what keeps out overlong forms, surrogates and what is above U+10FFFF.
static const struct { uint8_t first_min, first_max, second_min, second_max, bytes; } sequences[] = {
    { 0x00, 0x7f, 0x80, 0xbf, 1 },
    { 0xc2, 0xdf, 0x80, 0xbf, 2 },
    { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
    { 0xe1, 0xec, 0x80, 0xbf, 3 },
    { 0xed, 0xed, 0x80, 0x9f, 3 },
    { 0xee, 0xef, 0x80, 0xbf, 3 },
    { 0xf0, 0xf0, 0x90, 0xbf, 4 },
    { 0xf1, 0xf3, 0x80, 0xbf, 4 },
    { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

size_t utf8_step(struct str text)
{
    if (text.n == 0)
        return 0;
    const uint8_t *byte = (const uint8_t *)text.s;
    size_t row = 0;
    while (row < countof(sequences) && byte[0] > sequences[row].first_max)
        row++;
    if (row == countof(sequences) || byte[0] < sequences[row].first_min
        || text.n < sequences[row].bytes)
        return 0;
    size_t bytes = sequences[row].bytes;
    if (bytes > 1 && (byte[1] < sequences[row].second_min || byte[1] > sequences[row].second_max))
        return 0;
    for (size_t i = 2; i < bytes; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    }
    return bytes;
}

// A word of plain ASCII at a time, as long as there is one.
static size_t ascii_prefix(struct str text)
{
    size_t n = 0;
    uint64_t word;
    for (; n + sizeof word <= text.n; n += sizeof word) {
        memcpy(&word, text.s + n, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return n;
}

bool utf8_valid(struct str text)
{
    for (size_t i = ascii_prefix(text), step; i < text.n; i += step) {
        step = utf8_step((struct str){ text.s + i, text.n - i });
        if (step == 0)
            return false;
    }
    return true;
}

// U+0080 to U+009F are control characters too.
static bool is_control(const char *text, size_t step)
{
    unsigned char first = (unsigned char)text[0];
    return first < 0x20 || first == 0x7f
        || (step == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

void text_tidy(char *text, bool cut)
{
    size_t n = strlen(text);
    for (size_t i = 0, step; i < n; i += step) {
        step = utf8_step((struct str){ text + i, n - i });
        if (step == 0 && cut && n - i < 4 && (unsigned char)text[i] >= 0xc0)
            text[n = i] = '\0';
        else if (step == 0)
            text[i] = '?';
        else if (is_control(text + i, step))
            memset(text + i, ' ', step);
        step = step ? step : 1;
    }
}

struct buf buf_new(struct arena *arena, size_t bytes_max)
{
    return (struct buf){ .arena = arena, .bytes_max = bytes_max };
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Makes room for `bytes` more and the NUL after them. A buffer that was full once stays full: what
// is in it is a beginning of the text, never a text with a hole.
static bool grow(struct buf *buf, size_t bytes)
{
    if (buf->full || bytes > buf->bytes_max - buf->n)
        return !(buf->full = true);
    size_t needed = buf->n + bytes;
    size_t doubled = buf->capacity * 2;  // no arena has given more than half of what there can be
    size_t capacity = doubled < BUF_BYTES_MIN ? BUF_BYTES_MIN : doubled;
    capacity = smaller(capacity < needed ? needed : capacity, buf->bytes_max);
    char *s = arena_alloc(buf->arena, capacity < SIZE_MAX ? capacity + 1 : SIZE_MAX);
    if (!s)
        return !(buf->full = true);
    copy(s, buf_str(buf));
    buf->s = s;
    buf->capacity = capacity;
    return true;
}

static inline bool room(struct buf *buf, size_t bytes)
{
    return (buf->s && !buf->full && bytes <= buf->capacity - buf->n) || grow(buf, bytes);
}

// A guess that is too high does not fill the buffer.
void buf_expect(struct buf *buf, size_t bytes)
{
    if (!buf->full)
        (void)room(buf, smaller(bytes, buf->bytes_max - buf->n));
}

char *buf_room(struct buf *buf, size_t bytes)
{
    return room(buf, bytes) ? buf->s + buf->n : NULL;
}

void buf_add(struct buf *buf, struct str text)
{
    if (!room(buf, text.n))
        return;
    copy(buf->s + buf->n, text);
    buf->n += text.n;
}

void buf_add_char(struct buf *buf, char c)
{
    if (room(buf, 1))
        buf->s[buf->n++] = c;
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (room(buf, n < 0 ? SIZE_MAX : (size_t)n)) {
        vsnprintf(buf->s + buf->n, (size_t)n + 1, format, again);
        buf->n += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

// Numbers are most of what is written, and a format string costs twenty times as much.
void buf_add_int(struct buf *buf, int64_t number, int digits_min)
{
    char text[32];
    char *end = text + sizeof text, *at = end;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    assert(digits_min < (int)sizeof text);
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0 || end - at < digits_min);
    if (number < 0)
        *--at = '-';
    buf_add(buf, (struct str){ at, (size_t)(end - at) });
}

struct str buf_str(const struct buf *buf)
{
    return buf->s ? (struct str){ buf->s, buf->n } : S("");
}
