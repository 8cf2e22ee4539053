// Whose turn it is: which queue a claim takes its next job from, and the terms queues have (OPS-3).
//
// The critical queue goes first, but of ten jobs taken while others wait at most nine are critical.
// The others share by weight: a queue of weight 4 gets twice as much as one of weight 2 for as long
// as both have jobs, in even steps rather than in bursts. Nobody who waits is passed over for ever,
// whatever the others hold and whoever asks for which of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define CRITICAL_QUEUE S("q:critical")

enum { CRITICAL_RUN = 9,   // critical jobs in a row while others wait
       WEIGHT_MAX = 1000,
       WEIGHT_OTHER = 4,   // of a queue that nobody said anything about
       CRITICAL_DEPTH_MAX = 1000 };

// What holds for a queue.
struct queue_term {
    struct str name;
    int64_t weight;     // 1 to WEIGHT_MAX; the critical queue's is not looked at
    int64_t depth_max;  // how many jobs may wait in it; 0: as many as there is room for
};

struct queue_terms {
    const struct queue_term *rows;
    size_t count;
};

// The queues every store has (q:deadletter is none to wait in).
extern const struct queue_terms queue_terms_builtin;

// The terms of a queue: as given, else as built in, else those of any other. `given` may be NULL.
struct queue_term queue_term_of(const struct queue_terms *given, struct str name);
bool queue_term_known(const struct queue_terms *given, struct str name);  // given, or built in

// One who may be next.
struct contender {
    int64_t queue;
    int64_t weight;
    bool critical;
    bool empty;  // it has nothing, as far as is known
};

// Inside a queue the orgs that have jobs there take turns: each takes so many jobs in a row, times
// its weight, before the next one does. So a tenant with a million jobs does not delay the ten of
// another, and whose priorities are higher gains nothing over other tenants by that.
enum { SHARE_RUN = 16, SHARES_A_CLAIM = 16, SHARE_WEIGHT_MAX = 100 };

// How many in a row in a claim of so many: in a large one so many that it looks for the next org a
// few times only. All of them begin at once, so nobody waits longer for that.
int64_t share_run(size_t limit);

struct share_turn {
    int64_t org;   // whose turn it is, or was last; 0: nobody's yet
    int64_t left;  // jobs it may take before the next one
};

// What was taken so far, in the memory of whoever claims. Zero is a valid start. A queue's place is
// by its number; queues that share one take turns within it.
enum { TURN_PLACES = 64 };
struct turns {
    struct {
        struct share_turn share;
        int64_t pass;         // how far it is: rises with each job, slower for a greater weight
        int64_t last;         // the queue that was served last
        int64_t passed_over;  // critical jobs taken while it waited and no other queue was served
    } at[TURN_PLACES];
    int64_t floor;  // how far the one was that was served last: who was away starts there
};

// The index of who is next; `count` when all are empty.
size_t turns_next(const struct turns *turns, const struct contender *contenders, size_t count);

struct share_turn *turns_share(struct turns *turns, int64_t queue);

// It was given a job.
void turns_took(struct turns *turns, const struct contender *contenders, size_t count,
                size_t which);
