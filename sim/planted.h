// Mistakes that can be put into the engine, to show that the simulator sees them.
//
// None of them is in the product: a statement is replaced as it is prepared, a function is wrapped
// by the linker, in this program only.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum planted {
    PLANTED_NONE,
    PLANTED_NO_FENCE,
    PLANTED_FENCE_BY_WORKER,
    PLANTED_ANSWER_BEFORE_COMMIT,
    PLANTED_NO_SYNC,
    PLANTED_NO_UNIQUE_SLOT,
    PLANTED_SWEEP_TAKES_COMMITTED,
    PLANTED_REPEATED_COMMIT_REFUSED,
    PLANTED_HEARTBEAT_WITHOUT_FENCE,
    PLANTED_ATTEMPT_COUNTED_AT_FAILURE,
    PLANTED_LOG_NOT_SEALED,  // these two were in the engine until the simulator found them
    PLANTED_LEASED_EARLY,
    PLANTED_BATCH_FORGETS_TIMEOUTS,
    PLANTED
};

const char *planted_name(enum planted planted);
const char *planted_says(enum planted planted);  // what is wrong with it
// Whether a write is not made: the one that ends the log after a failed sync.
bool planted_drops(const void *bytes, size_t count);
void planted_set(enum planted planted);          // for stores that are opened from now on
extern enum planted planted_now;
