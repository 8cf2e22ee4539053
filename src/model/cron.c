// Finds the times that an expression names. A month's days become one set of bits; then the next
// time is the next bit in it, and the next one in the sets of hours, minutes and seconds.
#include "model/cron.h"

#include <assert.h>

#include "base/calendar.h"

enum { SATURDAY = 6, SUNDAY = 0 };

// A year around those that have slots, for the zones that are a day ahead or behind.
enum { YEAR_MIN = 1969, YEAR_MAX = 10000 };

// ----- the days of a month

struct month {
    int64_t days;
    int64_t first;  // the weekday of its first day
};

static uint32_t bit(int64_t n)
{
    assert(n <= 31);  // no month has more days
    return n < 0 ? 0 : (uint32_t)1 << n;
}

// Bit n of the answer is day n of the month: a week's bits, turned to begin with the first day's,
// again and again.
static uint32_t spread(uint32_t weekdays, struct month month)
{
    uint64_t week = (weekdays | weekdays << 7) >> month.first & 0x7f;
    return (uint32_t)((week | week << 7 | week << 14 | week << 21 | week << 28) << 1);
}

static int64_t weekday(struct month month, int64_t day)
{
    return (month.first + day - 1) % 7;
}

// The weekday nearest to a day, in the same month.
static int64_t workday_near(struct month month, int64_t day)
{
    if (weekday(month, day) == SATURDAY)
        return day > 1 ? day - 1 : day + 2;
    if (weekday(month, day) == SUNDAY)
        return day < month.days ? day + 1 : day - 2;
    return day;
}

static uint32_t by_day(const struct cron *cron, struct month month)
{
    uint32_t found = cron->days;
    for (uint32_t left = cron->days_before_last; left; left &= left - 1)
        found |= bit(month.days - __builtin_ctz(left));
    for (uint32_t left = cron->near_days; left; left &= left - 1) {
        int day = __builtin_ctz(left);
        if (day <= month.days)
            found |= bit(workday_near(month, day));
    }
    return cron->last_workday ? found | bit(workday_near(month, month.days)) : found;
}

static uint32_t by_weekday(const struct cron *cron, struct month month)
{
    static const uint32_t week = 0x7f << 1;  // the days 1 to 7
    uint32_t found = spread(cron->weekdays, month);
    if (cron->weekdays_last)
        found |= spread(cron->weekdays_last, month) & week << (month.days - 7);
    for (int i = 0; i < CRON_WEEKS; i++)
        if (cron->weekdays_nth[i])
            found |= spread(cron->weekdays_nth[i], month) & week << (7 * i);
    return found;
}

uint32_t cron_days(const struct cron *cron, int64_t year, int64_t month)
{
    struct month m = {
        .days = month_days(year, month),
        .first = weekday_of(days_of((struct date){ year, month, 1 })),
    };
    uint32_t all = (uint32_t)(((uint64_t)2 << m.days) - 2);
    uint32_t days = by_day(cron, m), weekdays = by_weekday(cron, m);
    bool both = cron->days_star || cron->weekdays_star;
    return all & (both ? days & weekdays : days | weekdays);
}

// ----- sets of bits

// The lowest value at or above `from` / the highest at or below it; -1 when there is none.
static int64_t at_or_above(uint64_t set, int64_t from)
{
    assert(from <= 63);  // of what is counted here minutes have the most: 60, past the last
    uint64_t left = set >> from << from;
    return left ? __builtin_ctzll(left) : -1;
}

static int64_t at_or_below(uint64_t set, int64_t from)
{
    uint64_t left = from < 0 ? 0 : set << (63 - from) >> (63 - from);
    return left ? 63 - __builtin_clzll(left) : -1;
}

// ----- the time of day, in seconds; -1: none

static int64_t time_of(int64_t hour, int64_t minute, int64_t second)
{
    return hour * HOUR_SECONDS + minute * MINUTE_SECONDS + second;
}

static int64_t time_next(const struct cron *cron, int64_t from)
{
    int64_t hour = from / HOUR_SECONDS, minute = from / MINUTE_SECONDS % 60;
    int64_t first_second = at_or_above(cron->seconds, 0), found;
    if (at_or_above(cron->hours, hour) == hour) {
        if (at_or_above(cron->minutes, minute) == minute
            && (found = at_or_above(cron->seconds, from % MINUTE_SECONDS)) >= 0)
            return time_of(hour, minute, found);
        if ((found = at_or_above(cron->minutes, minute + 1)) >= 0)
            return time_of(hour, found, first_second);
    }
    if ((found = at_or_above(cron->hours, hour + 1)) < 0)
        return -1;
    return time_of(found, at_or_above(cron->minutes, 0), first_second);
}

static int64_t time_last(const struct cron *cron, int64_t from)
{
    int64_t hour = from / HOUR_SECONDS, minute = from / MINUTE_SECONDS % 60;
    int64_t last_second = at_or_below(cron->seconds, 59), found;
    if (at_or_below(cron->hours, hour) == hour) {
        if (at_or_below(cron->minutes, minute) == minute
            && (found = at_or_below(cron->seconds, from % MINUTE_SECONDS)) >= 0)
            return time_of(hour, minute, found);
        if ((found = at_or_below(cron->minutes, minute - 1)) >= 0)
            return time_of(hour, found, last_second);
    }
    if ((found = at_or_below(cron->hours, hour - 1)) < 0)
        return -1;
    return time_of(found, at_or_below(cron->minutes, 59), last_second);
}

// ----- the day, in days since 1970

// Years repeat after 400, weekdays included: what did not come by then never comes.
static bool day_next(const struct cron *cron, struct date from, int64_t *day)
{
    int64_t end = from.year + 400 < YEAR_MAX ? from.year + 400 : YEAR_MAX;
    for (struct date date = from; date.year <= end; date = (struct date){ date.year + 1, 1, 1 }) {
        int64_t month = at_or_above(cron->months, date.month);
        for (; month > 0; month = at_or_above(cron->months, month + 1)) {
            int64_t first = month == date.month ? date.day : 1;
            int64_t found = at_or_above(cron_days(cron, date.year, month), first);
            if (found < 0)
                continue;
            *day = days_of((struct date){ date.year, month, found });
            return true;
        }
    }
    return false;
}

static bool day_last(const struct cron *cron, struct date from, int64_t *day)
{
    int64_t end = from.year - 400 > YEAR_MIN ? from.year - 400 : YEAR_MIN;
    for (struct date date = from; date.year >= end; date = (struct date){ date.year - 1, 12, 31 }) {
        int64_t month = at_or_below(cron->months, date.month);
        for (; month > 0; month = at_or_below(cron->months, month - 1)) {
            int64_t last = month == date.month ? date.day : 31;
            int64_t found = at_or_below(cron_days(cron, date.year, month), last);
            if (found < 0)
                continue;
            *day = days_of((struct date){ date.year, month, found });
            return true;
        }
    }
    return false;
}

bool cron_next(const struct cron *cron, int64_t local, int64_t *found)
{
    int64_t today = floor_div(local, DAY_SECONDS), day = 0;
    if (!day_next(cron, date_of(today), &day))
        return false;
    int64_t time = time_next(cron, day == today ? floor_mod(local, DAY_SECONDS) : 0);
    if (time < 0 && !day_next(cron, date_of(today + 1), &day))
        return false;
    *found = day * DAY_SECONDS + (time < 0 ? time_next(cron, 0) : time);
    return true;
}

bool cron_last(const struct cron *cron, int64_t local, int64_t *found)
{
    int64_t today = floor_div(local, DAY_SECONDS), day = 0;
    if (!day_last(cron, date_of(today), &day))
        return false;
    int64_t end = DAY_SECONDS - 1;
    int64_t time = time_last(cron, day == today ? floor_mod(local, DAY_SECONDS) : end);
    if (time < 0 && !day_last(cron, date_of(today - 1), &day))
        return false;
    *found = day * DAY_SECONDS + (time < 0 ? time_last(cron, end) : time);
    return true;
}
