// Stride scheduling: the one that is least far is next, and each job takes it further by a step that
// is smaller the greater its weight.
#include "model/weight.h"

#include <assert.h>

enum { STRIDE = 1 << 20 };

static const struct queue_term builtin[] = {
    { { "q:critical", 10 }, CRITICAL_RUN, CRITICAL_DEPTH_MAX },
    { { "q:default", 9 }, 4, 0 },
    { { "q:notifications", 15 }, 4, 0 },
    { { "q:planning", 10 }, 2, 0 },
    { { "q:exports", 9 }, 2, 0 },
    { { "q:maintenance", 13 }, 1, 0 },
};

const struct queue_terms queue_terms_builtin = { builtin, countof(builtin) };

static const struct queue_term *find(const struct queue_terms *terms, struct str name)
{
    for (size_t i = 0; i < terms->count; i++)
        if (str_eq(terms->rows[i].name, name))
            return &terms->rows[i];
    return NULL;
}

struct queue_term queue_term_of(const struct queue_terms *given, struct str name)
{
    const struct queue_term *term = given ? find(given, name) : NULL;
    if (!term)
        term = find(&queue_terms_builtin, name);
    return term ? *term : (struct queue_term){ name, WEIGHT_OTHER, 0 };
}

static size_t place_of(const struct contender *c)
{
    return (uint64_t)c->queue % TURN_PLACES;
}

static int64_t pass_of(const struct turns *turns, const struct contender *c)
{
    int64_t pass = turns->at[place_of(c)].pass;
    return pass > turns->floor ? pass : turns->floor;
}

// Of two in one place, the next by number after the one that was served last, and round again.
static bool sooner_in_place(const struct turns *turns, const struct contender *a,
                            const struct contender *b)
{
    int64_t last = turns->at[place_of(a)].last;
    bool a_after = a->queue > last, b_after = b->queue > last;
    return a_after != b_after ? a_after : a->queue < b->queue;
}

static bool sooner(const struct turns *turns, const struct contender *a, const struct contender *b)
{
    int64_t pass_a = pass_of(turns, a), pass_b = pass_of(turns, b);
    if (pass_a != pass_b)
        return pass_a < pass_b;
    if (place_of(a) == place_of(b))
        return sooner_in_place(turns, a, b);
    return a->weight != b->weight ? a->weight > b->weight : a->queue < b->queue;
}

size_t turns_next(const struct turns *turns, const struct contender *contenders, size_t count)
{
    size_t critical = count, other = count;
    for (size_t i = 0; i < count; i++) {
        const struct contender *c = &contenders[i];
        if (c->empty)
            continue;
        if (c->critical)
            critical = i;
        else if (other == count || sooner(turns, c, &contenders[other]))
            other = i;
    }
    bool critical_first = other == count || turns->critical_run < CRITICAL_RUN;
    return critical < count && critical_first ? critical : other;
}

static bool others_wait(const struct contender *contenders, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!contenders[i].empty && !contenders[i].critical)
            return true;
    return false;
}

void turns_took(struct turns *turns, const struct contender *contenders, size_t count,
                size_t which)
{
    assert(which < count);
    const struct contender *c = &contenders[which];
    if (c->critical) {
        turns->critical_run += others_wait(contenders, count);
        return;
    }
    assert(c->weight >= 1 && c->weight <= WEIGHT_MAX);
    int64_t pass = pass_of(turns, c);
    turns->critical_run = 0;
    turns->floor = pass;
    turns->at[place_of(c)].pass = pass + STRIDE / c->weight;
    turns->at[place_of(c)].last = c->queue;
}
