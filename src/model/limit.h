// Limits: how many jobs may run at once, and how many may begin in a time.
//
// A rate is a token bucket kept as one number, the time at which it would be full again. A job that
// begins moves it by the time one token takes to come back. However far ahead it is found, because
// a clock was set back or the rate was another, it is never taken for more than an empty bucket.
#pragma once

#include "base/arena.h"
#include "base/text.h"
#include "base/world.h"

// What a limit is for. The numbers are in the store: never change one.
enum limit_scope {
    LIMIT_QUEUE,  // all jobs of a queue
    LIMIT_TYPE,   // all jobs of a type, whatever their org
    LIMIT_ORG,    // all jobs of an org
    LIMIT_KEY,    // the jobs of a type and an org with one limit_key
    LIMIT_SCOPES
};
const char *limit_scope_name(enum limit_scope scope);

// How a limit is reached.
enum limit_way { LIMIT_BY_RUNNING, LIMIT_BY_RATE, LIMIT_WAYS };
const char *limit_way_name(enum limit_way way);

enum { RATE_COUNT_MAX = 1000000, RUNNING_MAX = 1000000 };

struct rate {
    int64_t count;   // 1 to RATE_COUNT_MAX; 0: no limit
    int64_t per_us;  // in this time
    int64_t burst;   // at most so many at once
};

// `100/s`, `10/m`, `500/h`, `1000/d`; `10/m burst 3` for fewer or more at once than 10.
#define RATE_WANT "a rate such as 100/s, 10/m or 500/h, or with another burst: 10/m burst 3"
bool rate_parse(struct str text, struct rate *rate);
struct str rate_text(struct arena *arena, const struct rate *rate);  // empty: no limit

int64_t rate_room(const struct rate *rate, int64_t full_at_ns, pawl_time now);  // tokens there are
int64_t rate_take(const struct rate *rate, int64_t full_at_ns, pawl_time now);  // its full_at then
pawl_time rate_next(const struct rate *rate, int64_t full_at_ns, pawl_time now);  // of a token

// What an answer `rate_limited` means to the other jobs of a type.
enum rate_limited {
    RATE_LIMITED_RETRY,      // nothing
    RATE_LIMITED_PAUSE,      // those of the same org wait, too
    RATE_LIMITED_PAUSE_ALL,  // all of them do
    RATE_LIMITED_WAYS
};
const char *rate_limited_name(enum rate_limited way);

#define RATE_LIMITED_PAUSE_US SECONDS(30)     // when the provider does not say how long
#define RATE_LIMITED_PAUSE_US_MAX HOURS(24)

struct limit {
    int64_t max_running;  // 0: no limit
    struct rate rate;
    enum rate_limited on_rate_limited;  // of a type
    int64_t pause_us;                   // 0: RATE_LIMITED_PAUSE_US
};

bool limit_says_nothing(const struct limit *limit);
bool limit_same(const struct limit *a, const struct limit *b);
