// Transfer: a whole store into another, whatever database each is on (`pawl copy`).
//
// The source is at rest: nobody works on it, and a write transaction that is never committed keeps
// it so to the end. The target is empty, or a copy of the same source that was not done. Rows go
// table by table (sql/copy.sql), in the order of their keys and in pieces, each a transaction of
// the target's: so the last row of a table says where to go on, and a copy that was killed is taken
// up by running it again. While it is not done every program refuses the target.
//
// It is done when every row was compared with its original, when `verify` found nothing, and the
// seals of the audit trail fit. Files of artifacts go along, as links where that can be.
#pragma once

#include "engine/backup.h"

struct transfer {
    struct str from, to;  // URLs
    bool force;           // keep the copy of a store whose records contradict each other
    const struct world *world;
    struct copy_audience audience;
};

struct transfer_report {
    bool resumed;         // an earlier one had begun
    int64_t tables, rows; // in the target
    int64_t artifacts;    // files
    int64_t seals;        // of the audit trail
    struct verified found;
};

// PAWL_CONFLICT when the source is in use or the target is not empty, PAWL_DAMAGED when the copy is
// not what it should be.
CHECKED bool transfer_make(const struct transfer *transfer, struct transfer_report *report,
                           struct pawl_error *err);
