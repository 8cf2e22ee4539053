// The rule that holds after the last change a time zone file lists: the POSIX text in its footer,
// such as `CET-1CEST,M3.5.0,M10.5.0/3` (RFC 8536, section 3.3).
#pragma once

#include "base/error.h"

// A day of every year, and the local time at which the clock changes on it.
struct zone_day {
    enum zone_day_kind { ZONE_DAY_OF_YEAR,      // n: 0 to 365, the leap day counted
                         ZONE_DAY_NO_LEAP,      // Jn: 1 to 365, 29 February never counted
                         ZONE_DAY_OF_MONTH } kind;  // Mm.w.d: the w-th weekday d of month m
    int64_t day;          // of the year, or of the week (0: Sunday)
    int64_t month, week;  // week 5: the last one
    int64_t seconds;      // from midnight; may be negative or days long
};

struct zone_rule {
    int64_t standard, summer;  // seconds east of UTC
    bool changes;              // else `standard` holds always
    struct zone_day begin, end;  // of summer time: in standard time, and in summer time
};

// PAWL_INVALID when the text is no such rule. The empty text is none.
CHECKED bool zone_rule_parse(struct str text, struct zone_rule *rule, struct pawl_error *err);

// When summer time begins and ends in a year, in seconds since 1970. In the south, and where winter
// is what is saved (Europe/Dublin), it ends before it begins.
int64_t zone_rule_begin(const struct zone_rule *rule, int64_t year);
int64_t zone_rule_end(const struct zone_rule *rule, int64_t year);
