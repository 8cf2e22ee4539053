// Each rate is drawn from its own dice: one that is switched off leaves the others as they were.
#include "swarm.h"

#include "base/text.h"

static const struct {
    const char *name;
    int64_t present;  // percent of the seeds that have it at all
    int64_t max;      // in a thousand, where they do
} rates[] = {
    [RATE_LOST_REQUEST] = { "lost-request", 40, 100 },
    [RATE_LOST_REPLY] = { "lost-reply", 50, 150 },
    [RATE_DUPLICATE] = { "duplicate", 40, 150 },
    [RATE_DELAY] = { "delay", 40, 200 },
    [RATE_KILL] = { "kill", 35, 30 },
    [RATE_POWER_LOSS] = { "power-loss", 35, 30 },
    [RATE_WRITE_FAILS] = { "write-fails", 20, 20 },
    [RATE_SYNC_FAILS] = { "sync-fails", 25, 20 },
    [RATE_DISK_FULL] = { "disk-full", 15, 15 },
    [RATE_CLOCK_JUMP] = { "clock-jump", 25, 20 },
    [RATE_LAZY] = { "lazy", 40, 500 },
    [RATE_STALLED] = { "stalled", 50, 200 },
    [RATE_ZOMBIE] = { "zombie", 50, 500 },
    [RATE_ERRORS] = { "errors", 70, 400 },
    [RATE_RELEASE] = { "release", 40, 200 },
    [RATE_FINISH] = { "finish", 50, 500 },
    [RATE_FOLLOW_UP] = { "follow-up", 40, 150 },
    [RATE_KEYS] = { "keys", 70, 700 },
    [RATE_SERIAL] = { "serial", 60, 700 },
    [RATE_LATER] = { "later", 50, 400 },
    [RATE_LINKS] = { "links", 40, 400 },
    [RATE_OPERATOR] = { "operator", 60, 1000 },
    [RATE_PAUSE] = { "pause", 30, 1000 },
    [RATE_SCHEDULE] = { "schedule", 40, 1000 },
    [RATE_SECOND_PROCESS] = { "second-process", 40, 1000 },
    [RATE_BATCHES] = { "batches", 30, 150 },
};
_Static_assert(countof(rates) == RATES, "one row per rate");

const char *rate_name(enum fault_rate rate)
{
    return rates[rate].name;
}

void swarm_draw(struct swarm *swarm, uint64_t seed, uint64_t without)
{
    struct dice dice = dice_of(seed, 1000);
    *swarm = (struct swarm){
        .clients = 1 + dice_pick(&dice, 4),
        .workers = 1 + dice_pick(&dice, dice_chance(&dice, 70) ? 4 : 16),
        .jobs_max = 20 + dice_pick(&dice, 100),
        .group = dice_chance(&dice, 50) ? 1 : 2 + dice_pick(&dice, 14),
        .latency_us = dice_between(&dice, 100, 50000),
    };
    for (enum fault_rate rate = 0; rate < RATES; rate++) {
        struct dice own = dice_of(seed, 2000 + rate);
        bool present = dice_chance(&own, rates[rate].present);
        int64_t drawn = dice_between(&own, 1, rates[rate].max);
        bool off = without & ((uint64_t)1 << rate);
        swarm->rate[rate] = present && !off ? drawn : 0;
    }
}
