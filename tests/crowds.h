// Programs that enqueue and work on one store, each under a name of its own, and what is said of
// them when they are done: nothing lost, nothing done twice, by the word of the checker, which
// knows only what they wrote down and what is in the store (checker.h).
#pragma once

#include "process.h"

enum { CROWDS = 3 };

struct crowds {
    struct scratch scratch;
    uint64_t dice;
    struct process programs[CROWDS];
};

uint64_t crowds_roll(struct crowds *crowds);

void crowds_start(struct crowds *crowds, uint64_t seed);
void crowd_replace(struct crowds *crowds, int number);  // kill -9, and another of its name

// Kills those that run, lets others finish what there is, and judges. `title` is for the figures.
void crowds_end(struct crowds *crowds, const char *title);
