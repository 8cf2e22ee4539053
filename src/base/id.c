// The text of an id is one layout, read and written by the same rule:
// 48 bits of milliseconds, the version 7, 12 bits of counter, the variant 10, 62 random bits.

#include "base/id.h"

#include <assert.h>

#include "base/arena.h"

enum { COUNTER_BITS = 12, HIGH_BITS = 60, LOW_BITS = 62 };

static const int64_t high_max = ((int64_t)1 << HIGH_BITS) - 1;
static const uint64_t low_mask = ((uint64_t)1 << LOW_BITS) - 1;

static bool hyphen_at(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

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
    size_t digits = 0;
    halves[0] = halves[1] = 0;
    if (text.n != ID_TEXT)
        return false;
    for (size_t i = 0; i < ID_TEXT; i++) {
        if (hyphen_at(i) && text.s[i] == '-')
            continue;
        int digit = hex_digit(text.s[i]);
        if (hyphen_at(i) || digit < 0)
            return false;
        uint64_t *half = &halves[digits++ / 16];
        *half = *half << 4 | (uint64_t)digit;
    }
    return true;
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
    size_t digits = 0;
    for (size_t i = 0; i < ID_TEXT; i++) {
        if (hyphen_at(i)) {
            text[i] = '-';
            continue;
        }
        text[i] = "0123456789abcdef"[halves[digits / 16] >> (60 - digits % 16 * 4) & 0xf];
        digits++;
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
