// Years count from 0000-03-01, so that the leap day is the last of its year, in eras of 400 years,
// which all have 146,097 days.
#include "base/calendar.h"

#include <stdbool.h>

enum { ERA_YEARS = 400, ERA_DAYS = 146097, DAYS_TO_1970 = 719468 };

int64_t floor_div(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}

int64_t floor_mod(int64_t number, int64_t by)
{
    int64_t rest = number % by;
    return rest < 0 ? rest + by : rest;
}

int64_t days_of(struct date date)
{
    int64_t year = date.month > 2 ? date.year : date.year - 1;
    int64_t era = floor_div(year, ERA_YEARS);
    int64_t year_of_era = year - era * ERA_YEARS;
    int64_t month = (date.month + 9) % 12;  // March is 0
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * ERA_DAYS + day_of_era - DAYS_TO_1970;
}

struct date date_of(int64_t days)
{
    days += DAYS_TO_1970;
    int64_t era = floor_div(days, ERA_DAYS);
    int64_t day = days - era * ERA_DAYS;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;  // March is 0
    return (struct date){
        .year = year + era * ERA_YEARS + (month > 9),
        .month = month > 9 ? month - 9 : month + 3,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
    };
}

int64_t weekday_of(int64_t days)
{
    return floor_mod(days + 4, 7);  // 1970 began on a Thursday
}

int64_t month_days(int64_t year, int64_t month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}
