// The writer's connection to the store: opened, lost, opened again.
//
// A commit in doubt is found out by its witness: the last audit event that the transaction has
// added (tx_witness). A transaction is there as a whole or not at all, so one row tells about all.
#pragma once

#include "store/db.h"

struct reach {
    const struct db_options *options;
    const struct world *world;
    struct db *db;        // NULL after it had to be given up
    bool was_closed;      // since it was first opened
    int64_t next, pause;  // a database out of reach is not tried before then; 0: it is in reach
};

// Opens the store unless it is open. One that was given up because of a commit in doubt, or because
// its database was out of reach, is on disk and rung for before anything is done with it. While the
// database is out of reach it is tried now and then, and who comes in between is told so.
CHECKED bool reach_open(struct reach *store, struct pawl_error *err);
void reach_close(struct reach *store);

// After a commit in doubt: opens the store again, waiting for it some seconds, and looks.
CHECKED bool reach_look_up(struct reach *store, const struct witness *witness, bool *committed,
                           struct pawl_error *err);
