// Rate limits: so many a second, and twice as many at once after a pause.
//
// A token bucket kept as one number, the time at which it would be full again.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RATE_MAX = 1000000, RATE_BURST = 2 };

struct bucket {
    int64_t full_at_ns;  // 0: full
};

// Takes one of `per_second` tokens at this time of a clock that never goes back. When there is
// none, `wait_us` says how long until there is. A rate of 0 is no limit.
bool bucket_take(struct bucket *bucket, int64_t per_second, int64_t now_us, int64_t *wait_us);

// For work in portions of up to `count`: the next one may begin when what was taken before has been
// paid off at the rate, but for a second's worth. What was not needed of it is given back.
bool bucket_take_many(struct bucket *bucket, int64_t per_second, int64_t count, int64_t now_us,
                      int64_t *wait_us);
void bucket_give_back(struct bucket *bucket, int64_t per_second, int64_t count);
