// The places that a claim took and that are still in `ready`: they leave it in runs of neighbours,
// one statement a run.
#pragma once

#include "engine/place.h"

enum { TAKEN_RUNS = 16 };  // open at once: one for each type that a claim takes in turns

// Zero is a valid start.
struct taken {
    struct {
        struct waiting first;
        int64_t last_job;
        size_t count;
    } runs[TAKEN_RUNS];
    size_t count;
    bool scattered;  // something came between places that were read as neighbours
};

// The place is to leave `ready`: at once, or with its neighbours.
CHECKED bool taken_add(struct tx *tx, struct taken *taken, const struct waiting *place,
                       struct pawl_error *err);

// All that were added leave. Before `ready` is read again, and before anything enters it: what came
// into the middle of a run would leave with it.
CHECKED bool taken_settle(struct tx *tx, struct taken *taken, struct pawl_error *err);
