// The bucket is worked out in nanoseconds: a token of seven a second is not a whole number of
// microseconds.
#include "model/limit.h"

#include <assert.h>

const char *limit_scope_name(enum limit_scope scope)
{
    static const char *const names[] = {
        [LIMIT_QUEUE] = "queue", [LIMIT_TYPE] = "job_type", [LIMIT_ORG] = "org",
        [LIMIT_KEY] = "key",
    };
    _Static_assert(countof(names) == LIMIT_SCOPES, "one name per scope");
    assert(scope < LIMIT_SCOPES);
    return names[scope];
}

const char *limit_way_name(enum limit_way way)
{
    static const char *const names[] = {
        [LIMIT_BY_RUNNING] = "running", [LIMIT_BY_RATE] = "rate",
    };
    _Static_assert(countof(names) == LIMIT_WAYS, "one name per way");
    assert(way < LIMIT_WAYS);
    return names[way];
}

const char *rate_limited_name(enum rate_limited way)
{
    static const char *const names[] = {
        [RATE_LIMITED_RETRY] = "retry", [RATE_LIMITED_PAUSE] = "pause",
        [RATE_LIMITED_PAUSE_ALL] = "pause_all",
    };
    _Static_assert(countof(names) == RATE_LIMITED_WAYS, "one name per way");
    assert(way < RATE_LIMITED_WAYS);
    return names[way];
}

static const struct {
    char letter;
    int64_t us;
} units[] = { { 's', SECONDS(1) }, { 'm', MINUTES(1) }, { 'h', HOURS(1) }, { 'd', DAYS(1) } };

static bool count_parse(struct str text, int64_t *count)
{
    return str_int(text, count) && *count >= 1 && *count <= RATE_COUNT_MAX;
}

bool rate_parse(struct str text, struct rate *rate)
{
    struct str count, rest, unit, burst;
    *rate = (struct rate){0};
    if (!str_cut(text, '/', &count, &rest))
        return false;
    bool has_burst = str_cut(rest, ' ', &unit, &burst);
    for (size_t i = 0; unit.n == 1 && i < countof(units); i++)
        if (units[i].letter == unit.s[0])
            rate->per_us = units[i].us;
    if (rate->per_us == 0 || !count_parse(count, &rate->count))
        return false;
    rate->burst = rate->count;
    return !has_burst
        || (str_cut(burst, ' ', &unit, &rest) && str_eq(unit, S("burst"))
            && count_parse(rest, &rate->burst));
}

struct str rate_text(struct arena *arena, const struct rate *rate)
{
    if (rate->count == 0)
        return S("");
    size_t i = 0;
    while (i + 1 < countof(units) && units[i].us != rate->per_us)
        i++;
    struct str text = str_format(arena, "%lld/%c", (long long)rate->count, units[i].letter);
    return rate->burst == rate->count
        ? text
        : str_format(arena, "%.*s burst %lld", STR(text), (long long)rate->burst);
}

static int64_t token_ns(const struct rate *rate)
{
    assert(rate->count > 0 && rate->burst > 0);
    return rate->per_us * 1000 / rate->count;
}

// Neither before now nor further ahead than an empty bucket would be.
static int64_t bounded(const struct rate *rate, int64_t full_at_ns, pawl_time now)
{
    int64_t full = now * 1000, empty = full + token_ns(rate) * rate->burst;
    return full_at_ns < full ? full : full_at_ns > empty ? empty
                                                         : full_at_ns;
}

int64_t rate_room(const struct rate *rate, int64_t full_at_ns, pawl_time now)
{
    int64_t token = token_ns(rate), empty = now * 1000 + token * rate->burst;
    return (empty - bounded(rate, full_at_ns, now)) / token;
}

int64_t rate_take(const struct rate *rate, int64_t full_at_ns, pawl_time now)
{
    return bounded(rate, full_at_ns, now) + token_ns(rate);
}

pawl_time rate_next(const struct rate *rate, int64_t full_at_ns, pawl_time now)
{
    int64_t token = token_ns(rate);
    int64_t ahead = bounded(rate, full_at_ns, now) - now * 1000 - token * (rate->burst - 1);
    return ahead <= 0 ? now : now + (ahead + 999) / 1000;
}

bool limit_says_nothing(const struct limit *limit)
{
    return limit->max_running == 0 && limit->rate.count == 0
        && limit->on_rate_limited == RATE_LIMITED_RETRY;
}

bool limit_same(const struct limit *a, const struct limit *b)
{
    return a->max_running == b->max_running && a->rate.count == b->rate.count
        && a->rate.per_us == b->rate.per_us && a->rate.burst == b->rate.burst
        && a->on_rate_limited == b->on_rate_limited && a->pause_us == b->pause_us;
}
