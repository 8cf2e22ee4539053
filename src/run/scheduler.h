// The scheduler: claims slots as their time comes, if this process leads (SLOT-1).
//
// It has no thread. The runner's dispatcher hands its round to the pipeline together with its own
// tick, once a second, and when a slot is due; one that meets contention is tried again by the next
// (RUN-11). What is claimed is a job like any other.
#pragma once

#include "engine/slot.h"
#include "run/pipeline.h"

struct pawl;
struct runner;

struct scheduler {
    struct operation operation;
    struct runner *runner;
    struct arena arena;
    struct scheduling round;
    int64_t at;            // monotonic, when it was handed over
    pawl_time now;         // by the store's clock, then

    // Guarded by the runner's mutex.
    bool under_way, answered;
    int64_t next;          // monotonic, when the next round is due
    bool leads, clock_off; // as last told
    char leader[129];      // who led instead; empty: nobody
};

// With the mutex held: hands a round over if one is due, or if a tick that follows at once can take
// it along. Gives it up in between.
void scheduler_go_on(struct runner *runner, bool tick_follows);
// With the mutex held, after its answer: tells what came of it. Gives it up in between.
void scheduler_finish(struct runner *runner);
// With the mutex held: when it should go on; monotonic. INT64_MAX when it does not.
int64_t scheduler_next(const struct runner *runner);
// There may be something to schedule now.
void scheduler_wake(struct pawl *pawl);
