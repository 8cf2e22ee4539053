// The world is a parameter: clock, random and sleep reach Pawl through this struct, no other way.
//
// Production passes world_real(). Tests and the simulator pass a virtual world, in which time moves
// only when told to and the dice follow a seed, so that a run can be repeated exactly.
#pragma once

#include "base/text.h"
#include "pawl.h"

#define SECONDS(n) (1000000 * (int64_t)(n))
#define MILLISECONDS(n) (1000 * (int64_t)(n))
#define MINUTES(n) (SECONDS(n) * 60)
#define HOURS(n) (MINUTES(n) * 60)
#define DAYS(n) (HOURS(n) * 24)

struct world {
    void *self;
    pawl_time (*wall)(void *self);                            // what the calendar says; may jump
    int64_t (*monotonic)(void *self);                         // microseconds; never goes back
    void (*random)(void *self, void *bytes, size_t n);        // unpredictable in production
    void (*sleep)(void *self, int64_t microseconds);
};

const struct world *world_real(void);

pawl_time world_wall(const struct world *world);
int64_t world_monotonic(const struct world *world);
// By the monotonic clock: the end of a time somebody gave. A negative one is over now, one that the
// clock cannot count has no end.
int64_t world_end_of(const struct world *world, int64_t microseconds);
uint64_t world_random(const struct world *world);
void world_sleep(const struct world *world, int64_t microseconds);

struct virtual_world {
    struct world world;  // pass &virtual.world
    pawl_time wall;
    int64_t monotonic;
    uint64_t dice;
};

void virtual_world_init(struct virtual_world *virtual, pawl_time start, uint64_t seed);
void world_pass(struct virtual_world *virtual, int64_t microseconds);  // time goes by
void world_jump(struct virtual_world *virtual, int64_t microseconds);  // only the calendar moves
