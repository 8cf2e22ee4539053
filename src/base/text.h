// Text that carries its length, and a buffer that knows its maximum.
//
// `struct str` never owns memory: it points into an arena, a literal or a caller's buffer. It need
// not end in NUL, so it is printed with "%.*s", STR(text).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct str {
    const char *s;
    size_t n;
};

#define S(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR(text) (int)(text).n, (text).s
#define countof(array) (sizeof(array) / sizeof((array)[0]))

// Functions that can fail: ignoring the result is a compile error.
#define CHECKED __attribute__((warn_unused_result))
#define PRINTF(template, first) __attribute__((format(printf, template, first)))

// When the arena has no memory left these answer the empty text, and the arena remembers it.
struct str str_of(const char *text);                       // NULL becomes the empty text
struct str str_dup(struct arena *arena, struct str text);  // NUL-terminated copy
const char *str_cstr(struct arena *arena, struct str text);
struct str str_format(struct arena *arena, const char *format, ...) PRINTF(2, 3);

bool str_eq(struct str a, struct str b);
int str_order(struct str a, struct str b);  // by bytes: below, at or above 0
bool str_starts(struct str text, struct str prefix);
bool str_ends(struct str text, struct str suffix);

// Splits at the first `mark`: `head` gets what is before it, `tail` what is after. Without a mark
// `head` is the whole text, `tail` is empty and the answer is false.
bool str_cut(struct str text, char mark, struct str *head, struct str *tail);

// A whole decimal number that fits, with an optional minus sign and nothing else.
bool str_int(struct str text, int64_t *number);

// Valid UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool utf8_valid(struct str text);

// How many bytes the first character has: 1 to 4; 0 when the text is empty or starts with a byte
// that is not valid UTF-8.
size_t utf8_step(struct str text);

// Makes one line of whole characters out of whatever bytes: control characters become spaces, bytes
// that are not UTF-8 '?', and a character that the end of a text which was `cut` has halved goes.
void text_tidy(char *text, bool cut);

// A text that grows in its arena up to the maximum given at birth. Growing past it sets `full`
// and keeps what is there: a caller looks at `full` once, at the end. The text ends in NUL.
struct buf {
    struct arena *arena;
    char *s;
    size_t n, capacity, bytes_max;
    bool full;
};

struct buf buf_new(struct arena *arena, size_t bytes_max);
void buf_expect(struct buf *buf, size_t bytes);  // about so many more will come: room at once
char *buf_room(struct buf *buf, size_t bytes);  // at its end: fill it and add to `n`; NULL: full
void buf_add(struct buf *buf, struct str text);
void buf_add_char(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *format, ...) PRINTF(2, 3);
void buf_add_int(struct buf *buf, int64_t number, int digits_min);  // zeros before it, if need be
struct str buf_str(const struct buf *buf);
