// Stride scheduling: the one that is least far is next, and each job takes it further, by a step
// that is smaller the greater its weight.
#include "model/weight.h"

#include <assert.h>

enum { STRIDE = 1 << 20 };
_Static_assert(TURN_PLACES <= 64, "one bit of a number for each place");

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

// As given, else as built in; NULL: neither.
static const struct queue_term *known(const struct queue_terms *given, struct str name)
{
    const struct queue_term *term = given ? find(given, name) : NULL;
    return term ? term : find(&queue_terms_builtin, name);
}

bool queue_term_known(const struct queue_terms *given, struct str name)
{
    return known(given, name) != NULL;
}

struct queue_term queue_term_of(const struct queue_terms *given, struct str name)
{
    const struct queue_term *term = known(given, name);
    return term ? *term : (struct queue_term){ name, WEIGHT_OTHER, 0 };
}

static size_t place_of(const struct contender *c)
{
    return (uint64_t)c->queue % TURN_PLACES;
}

int64_t share_run(size_t limit)
{
    size_t run = limit / SHARES_A_CLAIM;
    return run > SHARE_RUN ? (int64_t)run : SHARE_RUN;
}

struct share_turn *turns_share(struct turns *turns, int64_t queue)
{
    return &turns->at[place_of(&(struct contender){ .queue = queue })].share;
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
    bool waited_enough = false;
    for (size_t i = 0; i < count; i++) {
        const struct contender *c = &contenders[i];
        if (c->empty)
            continue;
        if (c->critical) {
            critical = i;
            continue;
        }
        waited_enough |= turns->at[place_of(c)].passed_over >= CRITICAL_RUN;
        if (other == count || sooner(turns, c, &contenders[other]))
            other = i;
    }
    return critical < count && !waited_enough ? critical : other;
}

// Those who waited were passed over once more, or had their turn: one of them did. Each place once,
// and only of those who were asked for, so that claims for other queues do not disturb the count.
static void note_others(struct turns *turns, const struct contender *contenders, size_t count,
                        bool passed_over)
{
    uint64_t noted = 0;
    for (size_t i = 0; i < count; i++) {
        const struct contender *c = &contenders[i];
        uint64_t bit = UINT64_C(1) << place_of(c);
        if (c->empty || c->critical || (noted & bit))
            continue;
        noted |= bit;
        int64_t *times = &turns->at[place_of(c)].passed_over;
        *times = passed_over ? *times + 1 : 0;
    }
}

void turns_took(struct turns *turns, const struct contender *contenders, size_t count,
                size_t which)
{
    assert(which < count);
    const struct contender *c = &contenders[which];
    note_others(turns, contenders, count, c->critical);
    if (c->critical)
        return;
    assert(c->weight >= 1 && c->weight <= WEIGHT_MAX);
    int64_t pass = pass_of(turns, c);
    turns->floor = pass;
    turns->at[place_of(c)].pass = pass + STRIDE / c->weight;
    turns->at[place_of(c)].last = c->queue;
}
