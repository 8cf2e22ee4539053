// The calendar in numbers alone: days since 1970 to year, month and day, and back.
//
// The C library's calendar depends on the environment, and this must not. It is the Gregorian
// calendar for every year, before 1582 too.
#pragma once

#include <stdint.h>

struct date {
    int64_t year, month, day;  // months from 1 to 12, days from 1
};

enum { DAY_SECONDS = 86400, HOUR_SECONDS = 3600, MINUTE_SECONDS = 60 };

int64_t days_of(struct date date);   // since 1970-01-01; 31 April is 1 May
struct date date_of(int64_t days);
int64_t weekday_of(int64_t days);    // 0: Sunday
int64_t month_days(int64_t year, int64_t month);

// Division that rounds down and the rest that is never negative, for times before 1970 too.
int64_t floor_div(int64_t number, int64_t by);
int64_t floor_mod(int64_t number, int64_t by);
