// Bit i of every word belongs to lane i, so the words of a number's probes, taken together with
// `and`, answer for all lanes at once. The probes of a number lie in one block: their words are
// close together in memory.

#include "base/filter.h"

#include <stdlib.h>

enum { PROBES = 7, BLOCK_BITS = 9, BLOCK_WORDS = 1 << BLOCK_BITS, WORDS_PER_NUMBER = 24 };

_Static_assert(BLOCK_BITS <= 64 / PROBES, "one hash places all probes");

struct filter {
    size_t blocks;
    uint32_t words[];
};

static size_t words_of(const struct filter *filter)
{
    return filter->blocks * BLOCK_WORDS;
}

struct filter *filter_new(size_t lane_numbers)
{
    size_t blocks = lane_numbers * WORDS_PER_NUMBER / BLOCK_WORDS + 1;
    struct filter *filter = calloc(1, sizeof *filter + blocks * BLOCK_WORDS * sizeof(uint32_t));
    if (filter)
        filter->blocks = blocks;
    return filter;
}

void filter_free(struct filter *filter)
{
    free(filter);
}

// The last steps of splitmix64: neighbours land far from each other.
static uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

// Where the block of a number begins. `probes` gets the places in it, BLOCK_BITS each.
static size_t block_of(const struct filter *filter, uint64_t number, uint64_t *probes)
{
    *probes = mixed(number);
    return (mixed(*probes + 1) >> 32) * filter->blocks >> 32 << BLOCK_BITS;
}

void filter_add(struct filter *filter, unsigned lane, uint64_t number)
{
    uint64_t probes;
    uint32_t *block = filter->words + block_of(filter, number, &probes);
    for (int i = 0; i < PROBES; i++, probes >>= BLOCK_BITS)
        block[probes % BLOCK_WORDS] |= UINT32_C(1) << lane;
}

void filter_clear(struct filter *filter, unsigned lane)
{
    for (size_t i = 0; i < words_of(filter); i++)
        filter->words[i] &= ~(UINT32_C(1) << lane);
}

uint32_t filter_lanes(const struct filter *filter, uint64_t number)
{
    uint64_t probes;
    const uint32_t *block = filter->words + block_of(filter, number, &probes);
    uint32_t lanes = UINT32_MAX;
    for (int i = 0; i < PROBES; i++, probes >>= BLOCK_BITS)
        lanes &= block[probes % BLOCK_WORDS];
    return lanes;
}

size_t filter_bytes(const struct filter *filter)
{
    return sizeof *filter + words_of(filter) * sizeof(uint32_t);
}
