// The closing line of a loop that tries to break something.
#pragma once

#include <stdint.h>

// A number from the environment, or another when there is none.
int64_t torture_setting(const char *name, int64_t otherwise);

// Prints how often it was tried, how often all was well, what was found, and how many of the
// situations it is meant for did not come up.
void torture_sum(const char *name, int64_t tried, int64_t found, int64_t not_reached);
