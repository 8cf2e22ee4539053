// Cron by the letter, for tests: tries minute after minute, with the C library's clock, and shares
// nothing with the product but the rules. Slow, and simple enough to be believed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The minutes of some days, as the C library's local time shows them.
struct naive_minutes {
    int64_t from;     // UTC, a full minute
    size_t count;
    int64_t *locals;  // what the clock shows at each, in seconds as if it were UTC
    bool *again;      // and whether it has shown it before
};

struct naive_minutes naive_minutes(int64_t from, size_t count);

// Does an expression of five fields name this local minute?
bool naive_match(const char *expression, int64_t local);

// For each minute, whether a slot is due: its local time matches and was not shown before, or the
// clock jumped over a time that does. Those of the first day are not reliable, as nobody knows what
// was shown before.
void naive_slots(const struct naive_minutes *minutes, const char *expression, bool *due);
