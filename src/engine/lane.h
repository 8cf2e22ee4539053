// Lanes: the ready jobs of a queue in the order a claim takes them.
//
// `ready` is ordered by queue, type, org, rank and job. A claim that names its types reads only
// theirs, so jobs nobody here can run cost nothing. Orgs take turns; of the org whose turn it is,
// the heads of the types are merged by rank, then age (RUN-9).
#pragma once

#include "base/list.h"
#include "engine/execution.h"
#include "engine/gate.h"
#include "engine/place.h"
#include "model/weight.h"

struct lanes {
    const struct claim *claim;
    struct gates *gates;      // what limits let through
    int64_t org;              // whose jobs; 0: of every org, in turns
    int64_t queue;
    bool has_pauses;          // somebody paused a share of the queue: it has no turn
    bool only_queue;          // of the claim
    struct share_turn *turn;  // the orgs'
    int64_t current;          // the org whose jobs the lanes are at; 0: none
    bool alone;               // no other org has a job in these lanes
    int64_t fruitless_since;  // the org whose turn began first since a job was taken; 0: none did
    struct list all;
};

// Finds the lanes. The turn may be somebody's already.
CHECKED bool lanes_open(struct tx *tx, struct lanes *lanes, struct pawl_error *err);

// The next candidate of the org whose turn it is, in the arena of the transaction; NULL when it has
// none or its turn is over. `room` is how many jobs are wanted at most.
CHECKED bool lanes_take(struct tx *tx, struct lanes *lanes, size_t room,
                        const struct waiting **place, struct pawl_error *err);

// A candidate became a job of the claim.
void lanes_took(struct lanes *lanes);

// The turn goes to the next org. What was taken must have left `ready`, or it would be found again.
// `more` when there is one that was not asked since the last job was taken.
CHECKED bool lanes_next_share(struct tx *tx, struct lanes *lanes, bool *more,
                              struct pawl_error *err);
