// The fence: who may touch an execution, and until when.
#pragma once

#include "engine/execution.h"

// What is known of an execution and of the worker that asks for it.
struct held {
    struct execution execution;
    int64_t worker;  // the number of the worker that asks
    bool own;        // it is, or was, this worker's: same attempt, same owner
    bool live;       // own, not ended, and the lease has not expired
};

// Looks. PAWL_NOT_FOUND for an unknown execution, another org's included.
CHECKED bool fence_look(struct tx *tx, const struct lease *lease, struct held *held,
                        struct pawl_error *err);

// Looks, and refuses with PAWL_FENCED unless the lease is live.
CHECKED bool fence_pass(struct tx *tx, const struct lease *lease, struct held *held,
                        struct pawl_error *err);

// The refusal, saying what became of the lease. Answers false.
CHECKED bool fence_lost(struct tx *tx, const struct lease *lease, const struct held *held,
                        struct pawl_error *err);
#define fence_lost(...) REFUSES((fence_lost)(__VA_ARGS__))

// For the statement behind the check: one row must have changed, or the fence was passed in vain.
CHECKED bool fence_held(struct tx *tx, const struct lease *lease, const struct held *held,
                        int64_t changed, struct pawl_error *err);
