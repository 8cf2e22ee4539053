// What every torture prints: how far it is while it goes on, and one line at its end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct torture {
    const char *name;
    int64_t planned;      // 0: not known
    int64_t tried, survived;
    int64_t not_reached;  // the fault was asked for at a place that was not come to
    int64_t told;         // when progress was told last, by the monotonic clock
};

// A number from the environment: how much of it is asked for.
int64_t torture_asked(const char *variable, int64_t otherwise);
// Whether this part is asked for: the variable names it, or is not set.
bool torture_picked(const char *variable, const char *part);

void torture_count(struct torture *t, bool survived);  // one more, and progress now and then
int64_t torture_end(struct torture *t);                // prints the line; answers what was found
