// Each token moves the time at which the bucket is full by the time it takes to come back. A bucket
// that would be full too far ahead is empty.
#include "model/rate.h"

#include <assert.h>

bool bucket_take(struct bucket *bucket, int64_t per_second, int64_t now_us, int64_t *wait_us)
{
    *wait_us = 0;
    if (per_second == 0)
        return true;
    assert(per_second > 0 && per_second <= RATE_MAX);
    int64_t token_ns = 1000000000 / per_second, now_ns = now_us * 1000;
    int64_t full_at = bucket->full_at_ns > now_ns ? bucket->full_at_ns : now_ns;
    int64_t ahead_max = token_ns * (RATE_BURST * per_second - 1);
    if (full_at - now_ns > ahead_max) {
        *wait_us = (full_at - now_ns - ahead_max + 999) / 1000;
        return false;
    }
    bucket->full_at_ns = full_at + token_ns;
    return true;
}

bool bucket_take_many(struct bucket *bucket, int64_t per_second, int64_t count, int64_t now_us,
                      int64_t *wait_us)
{
    int64_t now_ns = now_us * 1000, second_ns = 1000000000;
    int64_t full_at = bucket->full_at_ns > now_ns ? bucket->full_at_ns : now_ns;
    *wait_us = 0;
    if (per_second == 0)
        return true;
    assert(per_second > 0 && per_second <= RATE_MAX && count >= 0);
    if (full_at - now_ns >= second_ns) {
        *wait_us = (full_at - now_ns - second_ns) / 1000 + 1;
        return false;
    }
    bucket->full_at_ns = full_at + second_ns / per_second * count;
    return true;
}

void bucket_give_back(struct bucket *bucket, int64_t per_second, int64_t count)
{
    if (per_second > 0)
        bucket->full_at_ns -= 1000000000 / per_second * count;
}
