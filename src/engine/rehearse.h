// A migration tried out: on a copy of the store, which is then verified and thrown away.
#pragma once

#include "engine/backup.h"

struct rehearsal {
    struct str store;  // its URL
    const struct world *world;
    struct copy_audience audience;
};

struct rehearsal_report {
    int64_t before, after;  // versions of the schema
    int64_t took_us;        // the migration itself: so long others wait for the store
    struct verified found;
};

// The store itself is only read. The copy is made beside it and needs as much room.
CHECKED bool migration_rehearse(const struct rehearsal *rehearsal, struct rehearsal_report *report,
                                struct pawl_error *err);
