// Space that is kept for a full disk, so that work can still be ended when no more can be taken.
//
// It is allocated behind the end of the lock file: nobody sees it, and every process of the store
// shares it. The first write that finds the disk full gives it back to the file system; from then
// on the store is short of space and takes no new jobs, while what ends, cancels or removes jobs
// goes on in the room that was given back. Once there is twice as much room it is taken again, and
// new jobs are. A file system that cannot allocate ahead has no reserve, and says when it is full.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RESERVE_BYTES ((int64_t)8 << 20)

struct reserve {
    int fd;        // of the lock file; its owner closes it
    bool had;      // it was whole when it was looked at last
    bool is_short; // the disk is full, or about to be
};

// Looks whether it is whole, takes it if there is room, and says in `is_short` how things are.
void reserve_look(struct reserve *reserve);

// A write has found the disk full. True when there was something to give back: it may be tried
// again.
bool reserve_give(struct reserve *reserve);
bool reserve_give_if_full(struct reserve *reserve);  // something else has failed: may be for that
