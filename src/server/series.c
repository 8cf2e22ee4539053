// A hash table of places, open addressing, never more than half full; nothing is ever removed.
#include "server/series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2048 };
_Static_assert(SLOTS >= 2 * SERIES_MAX, "a search ends at a free slot");

static const struct str other[LABELS_MAX] = { { "other", 5 }, { "other", 5 }, { "other", 5 } };

static struct str cut(struct str label)
{
    size_t n = label.n < LABEL_BYTES_MAX ? label.n : LABEL_BYTES_MAX;
    return (struct str){ label.s, n };
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

// Only spreads, guards nothing: a flood of names ends at SERIES_MAX whatever their hashes are.
static uint64_t hash_of(const struct str *labels, size_t label_count)
{
    uint64_t hash = label_count, word;
    for (size_t k = 0; k < label_count; k++) {
        struct str label = cut(labels[k]);
        hash = mix(hash, label.n);
        for (; label.n >= sizeof word; label.s += sizeof word, label.n -= sizeof word) {
            memcpy(&word, label.s, sizeof word);
            hash = mix(hash, word);
        }
        word = 0;
        if (label.n)
            memcpy(&word, label.s, label.n);
        hash = mix(hash, word);
    }
    return hash;
}

static bool has_labels(const struct series *series, const struct str *labels, size_t label_count)
{
    for (size_t k = 0; k < label_count; k++)
        if (!str_eq(series->labels[k], cut(labels[k])))
            return false;
    return true;
}

// Where the series is, or the free slot where it would be.
static uint16_t *slot_of(struct series_set *set, const struct str *labels, size_t label_count)
{
    assert(set->index);
    size_t at = hash_of(labels, label_count) % SLOTS;
    while (set->index[at] && !has_labels(&set->all[set->index[at] - 1], labels, label_count))
        at = (at + 1) % SLOTS;
    return &set->index[at];
}

static bool make_room(struct series_set *set)
{
    if (!set->index)
        set->index = calloc(SLOTS, sizeof *set->index);
    if (!set->index || set->count < set->capacity)
        return set->index != NULL;
    size_t capacity = set->capacity ? 2 * set->capacity : 4;
    struct series *all = reallocarray(set->all, capacity, sizeof *all);
    if (!all)
        return false;
    set->all = all;
    set->capacity = capacity;
    return true;
}

// The labels are copied: one allocation, owned by the first of them.
static bool copy_labels(struct series *series, const struct str *labels, size_t label_count)
{
    char *bytes = malloc((size_t)LABELS_MAX * LABEL_BYTES_MAX);
    if (!bytes)
        return false;
    for (size_t k = 0; k < LABELS_MAX; k++) {
        struct str label = k < label_count ? cut(labels[k]) : S("");
        series->labels[k] = (struct str){ bytes, label.n };
        if (label.n)
            memcpy(bytes, label.s, label.n);
        bytes += label.n;
    }
    return true;
}

static struct series *add(struct series_set *set, const struct str *labels, size_t label_count)
{
    struct series made = {0};
    if (!make_room(set) || !copy_labels(&made, labels, label_count))
        return NULL;
    *slot_of(set, labels, label_count) = (uint16_t)(set->count + 1);
    set->all[set->count] = made;
    return &set->all[set->count++];
}

struct series *series_at(struct series_set *set, const struct str *labels, size_t label_count)
{
    assert(label_count <= LABELS_MAX);
    uint16_t place = set->index ? *slot_of(set, labels, label_count) : 0;
    if (place)
        return &set->all[place - 1];
    if (set->count < SERIES_MAX - 1)
        return add(set, labels, label_count);
    set->folded++;
    place = *slot_of(set, other, label_count);
    return place ? &set->all[place - 1] : add(set, other, label_count);
}

// What is folded is not remembered: it is to be counted as such.
struct series *series_known(struct series_set *set, uint64_t key, const struct str *labels,
                            size_t label_count)
{
    size_t slot = mix(0, key) % SERIES_KNOWN;
    if (set->known[slot].key == key && key != 0)
        return &set->all[set->known[slot].place];
    int64_t folded = set->folded;
    struct series *series = series_at(set, labels, label_count);
    if (series && folded == set->folded) {
        set->known[slot].key = key;
        set->known[slot].place = (size_t)(series - set->all);
    }
    return series;
}

void series_end(struct series_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free((char *)(uintptr_t)set->all[i].labels[0].s);
    free(set->all);
    free(set->index);
    *set = (struct series_set){0};
}

void series_record(struct series *series, const double *bounds, size_t bound_count, double value)
{
    size_t bucket = 0;
    while (bucket < bound_count && value > bounds[bucket])
        bucket++;
    if (bucket < bound_count)
        series->buckets[bucket]++;
    series->value += value;
    series->count++;
}
