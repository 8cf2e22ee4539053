// Shelves: ready jobs of an org that paused its share of a queue.
//
// A claim that met them again and again would walk past a million of them each time. So it puts the
// ones it meets aside, a bounded number in one claim: they stay in `ready`, under a number of their
// own instead of the queue's, where no claim looks. When the share is resumed they come back in
// pieces, the first at once, the others with the sweep. To everybody else they are ready.
#pragma once

#include "store/db.h"

struct waiting;

// The number that stands for the queue on the shelf of an org: -(queue << 31 | org).
static inline int64_t shelf_of(int64_t org, int64_t queue)
{
    return -(queue << 31 | org);
}

// The queue, of its own number or of a shelf's.
static inline int64_t shelf_queue(int64_t number)
{
    return number < 0 ? -number >> 31 : number;
}

CHECKED bool shelf_put(struct tx *tx, const struct waiting *place, struct pawl_error *err);

// Brings up to `limit` jobs of a share that was resumed back; `more` when there are others.
CHECKED bool shelf_bring_back(struct tx *tx, int64_t org, int64_t queue, size_t limit, bool *more,
                              struct pawl_error *err);

// The same for whichever share is due, for the sweep. `more` stays as it is when none is.
CHECKED bool shelf_sweep(struct tx *tx, size_t limit, bool *more, struct pawl_error *err);
