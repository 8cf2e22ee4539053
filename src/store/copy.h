// Copies of a whole store, and putting one in the place of another.
#pragma once

#include "store/db.h"

struct copy_watch {
    void *self;
    void (*progress)(void *self, int64_t bytes_done, int64_t bytes_total);  // NULL: none
};

// Copies the store as it is at one moment into the file `path`, in place of whatever is there, and
// syncs it. Others go on writing; their log cannot start over before this is done. The copy is one
// file, without a log. On false the file is worth nothing. Not inside a transaction.
CHECKED bool db_copy(struct db *db, const char *path, const struct copy_watch *watch,
                     struct pawl_error *err);

// Whether all parts of the store's file fit together; PAWL_DAMAGED says what does not. Reads it
// all; with `quick` it does not compare indexes with their tables.
CHECKED bool db_intact(struct db *db, bool quick, struct pawl_error *err);

// Copies the log of the store's file back into it and empties the log, so that the file is all
// there is. Only for who has sole use of it. PAWL_BUSY when somebody has it open, PAWL_DAMAGED when
// it cannot be read any more.
CHECKED bool store_settle(const char *path, struct pawl_error *err);

// Sole use of a store: nobody works on it, and nobody begins to until it is given back. Who only
// has it open is not noticed here, but by store_settle.
struct sole {
    int fd;  // of the lock file; 0: not taken
};

// PAWL_CONFLICT when a process works on the store.
CHECKED bool sole_take(struct sole *sole, struct str store_url, struct pawl_error *err);
void sole_end(struct sole *sole);  // for SCOPED(sole)
