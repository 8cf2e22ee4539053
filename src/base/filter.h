// Which of 32 sets may hold a number: 32 Bloom filters side by side, one lane each.
//
// A lane never denies what was added to it. It claims what was not added once in some 15,000 times
// when it holds as many numbers as it was made for, and more often when it holds more.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FILTER_LANES = 32 };

struct filter;

// For so many numbers in each lane; NULL when there is no memory.
struct filter *filter_new(size_t lane_numbers);
void filter_free(struct filter *filter);  // NULL is fine

void filter_add(struct filter *filter, unsigned lane, uint64_t number);
void filter_clear(struct filter *filter, unsigned lane);

// Bit i is set when lane i may hold the number.
uint32_t filter_lanes(const struct filter *filter, uint64_t number);

size_t filter_bytes(const struct filter *filter);
