// A store on the test stand: a handle of the library, and jobs that come and go through it.
//
// Jobs are enqueued through pawl.h. Every other transition is the engine's own operation on a group
// of jobs, handed to the commit pipeline of the handle: what the library's runner does, without
// the threads that run handlers. Those are in runs.h.
#pragma once

#include "engine/execution.h"

struct stand_options {
    const char *store;    // its URL
    long batch;           // jobs in one transaction, up to CLAIM_MAX
    long orgs, types;     // whose jobs these are, and of what kind, in turn
    struct str payload;
    long workers;         // of the runner
};

struct stand {
    struct stand_options options;
    struct pawl *pawl;
    struct arena arena;            // lives as long as the stand
    struct arena group_arena;      // of one group
    const char **org_names, **type_names;
    struct str *type_texts;
    struct pawl_job *jobs;         // room for a batch
    struct lease *leases;          // held, room for a batch ...
    struct execution *executions;  // ... and, side by side, what the claim said
    size_t lease_count;
    double claim_s;                // how long its claims took so far
    long made;                     // so many jobs so far: whose turn it is
    struct turns turns;            // what its claims took: a worker keeps that from one to the next
};

#define STAND_QUEUE "q:bench"

// With the zero value stand_end does nothing.
CHECKED bool stand_open(struct stand *stand, const struct stand_options *options,
                        struct pawl_error *err);
void stand_end(struct stand *stand);

// Enqueues so many jobs in batches. Of `type`, or NULL: of the stand's own types in turn.
CHECKED bool stand_enqueue(struct stand *stand, const char *type, long jobs,
                           struct pawl_error *err);

// Enqueues one that runs, for as long as a lease can last, and so many that wait behind it.
CHECKED bool stand_block(struct stand *stand, long jobs, struct pawl_error *err);

// What a worker does with a group of jobs, each in one transaction.
enum transition {
    TRANSITION_CLAIM,
    TRANSITION_START,
    TRANSITION_HEARTBEAT,
    TRANSITION_COMMIT,
    TRANSITION_DONE,
    TRANSITIONS
};
const char *transition_name(enum transition transition);

// Does it with the leases that are held; TRANSITION_CLAIM takes up to `limit` of the stand's own
// types. `lease_count` says how many it is about, 0 when nothing was left.
CHECKED bool stand_move(struct stand *stand, enum transition transition, size_t limit,
                        struct pawl_error *err);

// Claims and starts, then commits and ends, `jobs` of the stand's own types in batches: two
// transactions for each. PAWL_CONFLICT when there are not so many.
CHECKED bool stand_drain(struct stand *stand, long jobs, struct pawl_error *err);
