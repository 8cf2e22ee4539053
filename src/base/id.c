// The text of an id is one layout, read and written by the same rule:
// 48 bits of milliseconds, the version 7, 12 bits of counter, the variant 10, 62 random bits.

#include "base/id.h"

#include <assert.h>

#include "base/arena.h"

enum { COUNTER_BITS = 12, HIGH_BITS = 60, LOW_BITS = 62 };

static const int64_t high_max = ((int64_t)1 << HIGH_BITS) - 1;
static const uint64_t low_mask = ((uint64_t)1 << LOW_BITS) - 1;

// Where the two digits of each of the 16 bytes stand.
static const unsigned char digits_at[] = { 0, 2, 4, 6, 9, 11, 14, 16,
                                           19, 21, 24, 26, 28, 30, 32, 34 };
static const unsigned char hyphens_at[] = { 8, 13, 18, 23 };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The 32 digits of a UUID as two halves of 64 bits.
static bool read_halves(struct str text, uint64_t halves[2])
{
    int wrong = 0;  // below zero: a digit is
    halves[0] = halves[1] = 0;
    if (text.n != ID_TEXT)
        return false;
    for (size_t i = 0; i < sizeof hyphens_at; i++)
        if (text.s[hyphens_at[i]] != '-')
            return false;
    for (size_t i = 0; i < sizeof digits_at; i++) {
        const char *digits = text.s + digits_at[i];
        int high = hex_digit(digits[0]), low = hex_digit(digits[1]);
        wrong |= high | low;
        halves[i / 8] = halves[i / 8] << 8 | ((uint64_t)high << 4 & 0xf0) | ((uint64_t)low & 0xf);
    }
    return wrong >= 0;
}

bool id_parse(struct str text, struct id *id)
{
    uint64_t halves[2];
    if (!read_halves(text, halves) || (halves[0] >> 12 & 0xf) != 7 || halves[1] >> LOW_BITS != 2)
        return false;
    id->high = (int64_t)(halves[0] >> 16 << COUNTER_BITS | (halves[0] & 0xfff));
    id->low = (int64_t)(halves[1] & low_mask);
    return true;
}

void id_format(struct id id, char text[ID_TEXT + 1])
{
    assert(id.high >= 0 && id.high <= high_max && id.low >= 0 && (uint64_t)id.low <= low_mask);
    uint64_t high = (uint64_t)id.high;
    uint64_t halves[2] = {
        high >> COUNTER_BITS << 16 | 0x7000 | (high & 0xfff),
        (uint64_t)2 << LOW_BITS | (uint64_t)id.low,
    };
    for (size_t i = 0; i < sizeof hyphens_at; i++)
        text[hyphens_at[i]] = '-';
    for (size_t i = 0; i < sizeof digits_at; i++) {
        unsigned byte = halves[i / 8] >> (56 - i % 8 * 8) & 0xff;
        text[digits_at[i]] = "0123456789abcdef"[byte >> 4];
        text[digits_at[i] + 1] = "0123456789abcdef"[byte & 0xf];
    }
    text[ID_TEXT] = '\0';
}

struct str id_text(struct arena *arena, struct id id)
{
    char *text = arena_raw(arena, ID_TEXT + 1);
    if (!text)
        return S("");
    id_format(id, text);
    return (struct str){ text, ID_TEXT };
}

bool id_eq(struct id a, struct id b)
{
    return a.high == b.high && a.low == b.low;
}

struct id id_after(int64_t last_high, pawl_time now, uint64_t random)
{
    assert(last_high >= 0 && last_high < high_max);
    int64_t ms = now > 0 ? now / MILLISECONDS(1) : 0;
    int64_t clock = ms > high_max >> COUNTER_BITS ? high_max : ms << COUNTER_BITS;
    return (struct id){
        .high = clock > last_high ? clock : last_high + 1,
        .low = (int64_t)(random & low_mask),
    };
}

bool uuid_valid(struct str text)
{
    uint64_t halves[2];
    for (size_t i = 0; i < text.n; i++) {
        if (text.s[i] >= 'A' && text.s[i] <= 'F')
            return false;
    }
    return read_halves(text, halves);
}
