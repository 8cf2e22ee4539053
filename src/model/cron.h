// Cron expressions: which local times a schedule names. The syntax is in docs/schedules.md.
//
// An expression is kept as sets of bits, so that the next time is found by looking for the next bit
// and not by trying minute after minute. Local times are seconds since 1970 as the clock on the
// wall counts them, without any zone: see model/timetable.h.
#pragma once

#include "base/error.h"

enum { CRON_BYTES_MAX = 256, CRON_WEEKS = 5 };

struct cron {
    uint64_t seconds, minutes;  // bit n: the value n, in all of these
    uint32_t hours;
    uint32_t months;            // from bit 1
    uint32_t days;              // of the month, from bit 1
    uint32_t days_before_last;  // `L-n`; bit 0: `L`
    uint32_t near_days;         // `nW`: the weekday nearest to day n
    bool last_workday;          // `LW`
    uint8_t weekdays;           // bit 0: Sunday
    uint8_t weekdays_last;      // `5L`: the last Friday of the month
    uint8_t weekdays_nth[CRON_WEEKS];  // `5#2`: the second Friday, in [1]
    bool days_star, weekdays_star;     // the field begins with * or ?: both fields must agree
};

// Five fields, or six with seconds first, or @daily and the like. PAWL_INVALID names every field
// that is wrong, what is there and what may be there; and an expression that never comes, like 30
// February.
CHECKED bool cron_parse(struct str text, struct cron *cron, struct pawl_error *err);

// The days of a month that match: bit n is day n.
uint32_t cron_days(const struct cron *cron, int64_t year, int64_t month);

// The first local time at or after `local` / the last one at or before it, in the years 1969 to
// 10000. False when there is none: it looks at 400 years, in which the calendar repeats itself.
bool cron_next(const struct cron *cron, int64_t local, int64_t *found);
bool cron_last(const struct cron *cron, int64_t local, int64_t *found);

// The expression in words: `every 7 minutes from 9:00 to 17:59, Monday to Friday`.
struct str cron_words(struct arena *arena, const struct cron *cron);
