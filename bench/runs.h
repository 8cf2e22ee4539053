// Jobs that really run: threads that enqueue, and the library's runner with empty handlers.
#pragma once

#include <semaphore.h>
#include <stdatomic.h>

#include "bench/stand.h"

enum { RUNS_PAUSE_US = 100 };  // between two looks at a job that is to end

struct runs {
    struct stand *stand;
    int64_t asked;             // jobs enqueued for the runner so far
    sem_t began;               // a handler that says so has begun ...
    _Atomic int64_t began_at;  // ... at this time, monotonic
};

// Registers the handlers. The runner begins with the first runs_drain.
CHECKED bool runs_open(struct runs *runs, struct stand *stand, struct pawl_error *err);
void runs_end(struct runs *runs);  // stops the runner; with the zero value: nothing

// Enqueues `jobs` one by one from so many threads at once, while the runner rests. For take_turns.
struct runs_crew {
    struct runs *runs;
    long threads;
};
CHECKED bool runs_enqueue(void *crew, long jobs, double *seconds, struct pawl_error *err);

// Enqueues `jobs` more while the runner rests, then lets it work until all have ended, and says how
// long that took.
CHECKED bool runs_drain(struct runs *runs, long jobs, double *seconds, struct pawl_error *err);

// Enqueues one job while the runner works and has nothing to do: how long from the call until the
// handler began. Comes back when the job has ended.
CHECKED bool runs_pickup(struct runs *runs, double *microseconds, struct pawl_error *err);
