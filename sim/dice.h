// Numbers that follow from a seed. Each part of a run has dice of its own, so that a part which
// draws more, or is switched off, leaves what the others draw as it was.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline struct dice dice_of(uint64_t seed, uint64_t part)
{
    return (struct dice){ (seed * 7919 + part) * 0x9e3779b97f4a7c15 };
}

static inline uint64_t dice_roll(struct dice *dice)
{
    uint64_t number = dice->state += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

static inline size_t dice_pick(struct dice *dice, size_t count)  // 0 to count - 1
{
    return (size_t)(dice_roll(dice) % count);
}

static inline int64_t dice_between(struct dice *dice, int64_t min, int64_t max)
{
    return min + (int64_t)(dice_roll(dice) % (uint64_t)(max - min + 1));
}

static inline bool dice_chance(struct dice *dice, int64_t percent)
{
    return (int64_t)dice_pick(dice, 100) < percent;
}

static inline bool dice_rare(struct dice *dice, int64_t in_a_thousand)
{
    return (int64_t)dice_pick(dice, 1000) < in_a_thousand;
}
