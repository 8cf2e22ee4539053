// A run is the places of one lane and rank that were read, and taken, one after the other.
#include "engine/taken.h"

bool taken_settle(struct tx *tx, struct taken *taken, struct pawl_error *err)
{
    while (taken->count > 0) {
        const struct waiting *first = &taken->runs[--taken->count].first;
        int64_t changed = 0, count = (int64_t)taken->runs[taken->count].count;
        if (!sql_run_counting(tx, Q_READY_DELETE_RUN, &changed, err, INT(first->queue),
                              INT(first->type), INT(first->org), INT(first->rank),
                              INT(first->job), INT(taken->runs[taken->count].last_job)))
            return false;
        if (changed != count)
            return fail(err, PAWL_STORE, "a claim took %lld jobs and left %lld places",
                        (long long)count, (long long)changed);
    }
    return true;
}

// Whether the place comes right behind the run.
static bool continues(const struct taken *taken, size_t i, const struct waiting *place)
{
    const struct waiting *first = &taken->runs[i].first;
    return !taken->scattered && first->nth > 0 && place->nth == first->nth + taken->runs[i].count
        && place->type == first->type && place->rank == first->rank && place->org == first->org
        && place->queue == first->queue;
}

bool taken_add(struct tx *tx, struct taken *taken, const struct waiting *place,
               struct pawl_error *err)
{
    size_t i = 0;
    while (i < taken->count && !continues(taken, i, place))
        i++;
    if (i == TAKEN_RUNS && !taken_settle(tx, taken, err))
        return false;
    if (i >= taken->count) {
        i = taken->count++;
        taken->runs[i].first = *place;
        taken->runs[i].count = 0;
    }
    taken->runs[i].last_job = place->job;
    taken->runs[i].count++;
    return true;
}
