// Two ways to do the same, measured in turns: whatever else the machine does hits both alike.
#pragma once

#include "bench/bench.h"

enum { TURNS = 5 };  // of which the median counts

struct way {
    long jobs;  // in one turn
    // Does so many and says how long that took.
    bool (*go)(void *self, long jobs, double *seconds, struct pawl_error *err);
    void *self;
};

struct rates {
    double per_s[2], ratio;  // of the second to the first
};

CHECKED bool take_turns(const struct bench_options *options, const char *what,
                        const struct way ways[2], struct rates *rates, struct pawl_error *err);
