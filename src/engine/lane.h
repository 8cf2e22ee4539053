// Lanes: the ready jobs of a queue in the order a claim takes them.
//
// `ready` is ordered by queue, type, rank and job. A claim that names its types reads only theirs,
// so jobs nobody here can run cost nothing; the heads of the types are merged by rank, then age
// (RUN-9).
#pragma once

#include "base/list.h"
#include "engine/execution.h"
#include "engine/place.h"

struct lanes {
    const struct claim *claim;
    int64_t org;      // whose jobs; 0: of every org
    int64_t queue;
    bool has_pauses;  // somebody paused a share of the queue: some may have to be put aside
    bool only_queue;  // of the claim
    struct list all;
};

// Reads the heads of the lanes. `room` is how many jobs are wanted at most.
CHECKED bool lanes_open(struct tx *tx, struct lanes *lanes, size_t room, struct pawl_error *err);

// The next candidate, in the arena of the transaction; NULL when there is none.
CHECKED bool lanes_take(struct tx *tx, struct lanes *lanes, size_t room,
                        const struct waiting **place, struct pawl_error *err);
