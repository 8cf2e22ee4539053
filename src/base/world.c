// The only file that asks the system for the time, for chance or for a pause. The virtual world
// answers the same questions from three numbers, so a run with the same seed is the same run.

#include "base/world.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    int failed = clock_gettime(clock, &now);
    assert(!failed);
    return SECONDS(now.tv_sec) + now.tv_nsec / 1000;
}

static pawl_time real_wall(void *self)
{
    (void)self;
    return clock_us(CLOCK_REALTIME);
}

static int64_t real_monotonic(void *self)
{
    (void)self;
    return clock_us(CLOCK_MONOTONIC);
}

// A system without entropy must not run with ids that can be guessed: that is the end.
static void real_random(void *self, void *bytes, size_t n)
{
    enum { ENTROPY_BYTES_MAX = 256 };  // the most that getentropy gives at once
    (void)self;
    for (size_t done = 0; done < n;) {
        size_t part = n - done < ENTROPY_BYTES_MAX ? n - done : ENTROPY_BYTES_MAX;
        int failed = getentropy((char *)bytes + done, part);
        assert(!failed);
        done += part;
    }
}

static void real_sleep(void *self, int64_t microseconds)
{
    (void)self;
    if (microseconds <= 0)
        return;
    struct timespec left = {
        .tv_sec = microseconds / SECONDS(1),
        .tv_nsec = (long)(microseconds % SECONDS(1)) * 1000,
    };
    // defensive: it is ended early by signals, and by nothing else while its numbers are in range
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

const struct world *world_real(void)
{
    static const struct world real = { NULL, real_wall, real_monotonic, real_random, real_sleep };
    return &real;
}

pawl_time world_wall(const struct world *world)
{
    return world->wall(world->self);
}

int64_t world_monotonic(const struct world *world)
{
    return world->monotonic(world->self);
}

int64_t world_end_of(const struct world *world, int64_t microseconds)
{
    int64_t now = world_monotonic(world);
    if (microseconds < 0)
        return now;
    return microseconds < INT64_MAX - now ? now + microseconds : INT64_MAX;
}

uint64_t world_random(const struct world *world)
{
    uint64_t number;
    world->random(world->self, &number, sizeof(number));
    return number;
}

void world_sleep(const struct world *world, int64_t microseconds)
{
    world->sleep(world->self, microseconds);
}

static pawl_time virtual_wall(void *self)
{
    return ((struct virtual_world *)self)->wall;
}

static int64_t virtual_monotonic(void *self)
{
    return ((struct virtual_world *)self)->monotonic;
}

// SplitMix64: small, and every seed is a good one, also 0.
static uint64_t roll(uint64_t *dice)
{
    uint64_t number = *dice += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

static void virtual_random(void *self, void *bytes, size_t n)
{
    struct virtual_world *virtual = self;
    for (size_t done = 0; done < n;) {
        uint64_t number = roll(&virtual->dice);
        size_t part = n - done < sizeof(number) ? n - done : sizeof(number);
        memcpy((char *)bytes + done, &number, part);
        done += part;
    }
}

static void virtual_sleep(void *self, int64_t microseconds)
{
    if (microseconds > 0)
        world_pass(self, microseconds);
}

void virtual_world_init(struct virtual_world *virtual, pawl_time start, uint64_t seed)
{
    *virtual = (struct virtual_world){
        .world = { virtual, virtual_wall, virtual_monotonic, virtual_random, virtual_sleep },
        .wall = start,
        .dice = seed,
    };
}

void world_pass(struct virtual_world *virtual, int64_t microseconds)
{
    assert(microseconds >= 0);
    virtual->wall += microseconds;
    virtual->monotonic += microseconds;
}

void world_jump(struct virtual_world *virtual, int64_t microseconds)
{
    virtual->wall += microseconds;
}
