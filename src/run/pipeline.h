// The commit pipeline: many callers, one writer, one fsync for all that has gathered.
//
// Threads hand operations over. The writer takes what is there, runs it in one transaction,
// commits, and only then answers everyone: the latency of one, the throughput of many, and no
// answer that is not on disk (OPS-9). Each operation is isolated: a refusal leaves its neighbours
// alone, and when a statement fails unexpectedly the group is taken back and its operations run
// one by one.
#pragma once

#include "store/db.h"

// One operation, from hand-over to answer. It belongs to the pipeline until it is answered.
struct operation {
    // Does the work. May be called again after its transaction was taken back, so it must leave
    // nothing outside the transaction but its own outputs, which the next call overwrites.
    bool (*run)(struct tx *tx, struct operation *self, struct pawl_error *err);
    // Called once, on the writer's thread, after the commit: must be short and must not block.
    void (*answered)(struct operation *self);
    struct arena *arena;          // what the operation reads and answers lives here; the caller's
    const struct caller *caller;  // in whose name
    bool always;                  // of the runner, which has only so many: not refused when full
    bool rides;                   // another follows at once: the writer is woken for both, and does
                                  // both in one transaction
    struct pawl_error error;      // the answer: PAWL_OK when it was done
    struct operation *next;       // the pipeline's own
};

struct pipeline_options {
    struct db_options db;
    size_t waiting_max;    // operations that may wait; 0: 10,000
    size_t group_max;      // operations in one transaction; 0: 1,000
    int64_t group_us_max;  // work in one transaction before it is committed; 0: 5 ms
    bool by_hand;          // no thread: the caller runs pipeline_round, as tests do
};

struct pipeline;

CHECKED bool pipeline_open(struct pipeline **pipeline, const struct pipeline_options *options,
                           struct pawl_error *err);

// Answers what was handed over, stops the writer and closes the store. NULL is fine.
void pipeline_close(struct pipeline *pipeline);

// Hands an operation over and comes back at once. PAWL_FULL when too many wait: try again later.
CHECKED bool pipeline_submit(struct pipeline *pipeline, struct operation *operation,
                             struct pawl_error *err);

// Hands an operation over and waits for its answer. PAWL_USAGE on the writer's own thread, which
// cannot wait for itself.
CHECKED bool pipeline_do(struct pipeline *pipeline, struct operation *operation,
                         struct pawl_error *err);

// Lets somebody add to each group, in its transaction, what follows from it: a claim that takes
// what was just enqueued starts it one fsync earlier. `more` is asked on the writer's thread before
// each commit, the transaction's `news` say whether something became ready in it, and NULL adds
// nothing. It must not wait for the pipeline. Pass NULL to end it: nobody is in it any more when
// this comes back.
typedef struct operation *(*pipeline_more)(void *self, struct tx *tx);
void pipeline_set_more(struct pipeline *pipeline, pipeline_more more, void *self);

// The terms of queues for transactions that begin from now on; NULL: as built in. They must outlive
// the pipeline.
void pipeline_set_terms(struct pipeline *pipeline, const struct queue_terms *terms);

// The rules for jobs that came in SQL (engine/posted.h), likewise.
void pipeline_set_rules(struct pipeline *pipeline, const struct contract_rules *rules);

// One round of the writer: takes a group, commits it, answers it. Says how many it answered; 0
// means that nothing waited.
size_t pipeline_round(struct pipeline *pipeline);

struct pipeline_figures {
    int64_t waiting;     // handed over and not yet taken
    int64_t operations;  // answered
    int64_t groups;      // transactions that were committed with more than nothing in them
    int64_t refused;     // at the door, because it was full
    int64_t alone;       // run by themselves after their group was taken back
    int64_t doubts;      // commits whose outcome had to be looked up
    int64_t checkpoints;
};

struct pipeline_figures pipeline_figures(struct pipeline *pipeline);
