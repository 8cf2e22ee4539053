// What a seed is about: how often each thing goes wrong, and who is there. Many of them not at all,
// so that what one kind of fault does is not always hidden behind the others.
#pragma once

#include "dice.h"

// One row in swarm.c each.
enum fault_rate {
    RATE_LOST_REQUEST,
    RATE_LOST_REPLY,
    RATE_DUPLICATE,
    RATE_DELAY,
    RATE_KILL,
    RATE_POWER_LOSS,
    RATE_WRITE_FAILS,
    RATE_SYNC_FAILS,
    RATE_DISK_FULL,
    RATE_CLOCK_JUMP,
    RATE_LAZY,
    RATE_STALLED,
    RATE_ZOMBIE,
    RATE_ERRORS,
    RATE_RELEASE,
    RATE_FINISH,
    RATE_FOLLOW_UP,
    RATE_KEYS,
    RATE_SERIAL,
    RATE_LATER,
    RATE_LINKS,
    RATE_OPERATOR,
    RATE_PAUSE,
    RATE_SCHEDULE,
    RATE_SECOND_PROCESS,
    RATE_BATCHES,
    RATES
};

struct swarm {
    int64_t rate[RATES];  // in a thousand
    size_t clients, workers;
    size_t jobs_max;
    size_t group;          // calls that one transaction takes together
    int64_t latency_us;
};

const char *rate_name(enum fault_rate rate);
void swarm_draw(struct swarm *swarm, uint64_t seed, uint64_t without);
