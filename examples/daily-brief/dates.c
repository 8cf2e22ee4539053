// A cursor walks over the text; each helper takes what it knows and says whether it was there.
#include "dates.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define countof(array) (sizeof(array) / sizeof((array)[0]))

struct moment {
    int year, month, day, hour, minute, second;
    int offset_minutes;  // of its zone
};

// ----- the calendar

static bool leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && leap(year));
}

// Days since 1970. Years begin in March here, so that the leap day is the last of its year.
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t m = month <= 2 ? month + 9 : month - 3;
    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719469;
}

static bool exists(const struct moment *m)
{
    return m->year >= 1970 && m->year <= 9999 && m->month >= 1 && m->month <= 12 && m->day >= 1
        && m->day <= days_of(m->year, m->month) && m->hour <= 23 && m->minute <= 59
        && m->second <= 60;
}

static bool settle(const struct moment *m, int64_t *at)
{
    if (!exists(m))
        return false;
    int64_t minutes = (int64_t)m->hour * 60 + m->minute - m->offset_minutes;
    *at = days_since_1970(m->year, m->month, m->day) * DAY_SECONDS + minutes * 60 + m->second;
    return true;
}

// ----- the cursor

static void blanks(const char **p)
{
    while (isspace((unsigned char)**p))
        (*p)++;
}

static bool literal(const char **p, char c)
{
    if (**p != c)
        return false;
    (*p)++;
    return true;
}

static bool number(const char **p, int digits_min, int digits_max, int *value)
{
    int digits = 0;
    for (*value = 0; digits < digits_max && isdigit((unsigned char)**p); digits++)
        *value = *value * 10 + *(*p)++ - '0';
    return digits >= digits_min;
}

static bool done(const char **p)
{
    blanks(p);
    return **p == 0;
}

// +01:00 and +0100.
static bool offset(const char **p, int *minutes)
{
    int hours, rest, sign = **p == '-' ? -1 : 1;
    if (**p != '+' && **p != '-')
        return false;
    (*p)++;
    if (!number(p, 2, 2, &hours))
        return false;
    literal(p, ':');
    if (!number(p, 2, 2, &rest) || hours > 14 || rest > 59)
        return false;
    *minutes = sign * (hours * 60 + rest);
    return true;
}

// ----- RFC 3339

static bool rfc3339(const char *p, struct moment *m)
{
    *m = (struct moment){ .month = 1, .day = 1 };
    if (!number(&p, 4, 4, &m->year) || !literal(&p, '-') || !number(&p, 2, 2, &m->month))
        return false;
    if (literal(&p, '-') && !number(&p, 2, 2, &m->day))
        return false;
    if (done(&p))
        return true;  // a day is enough
    if (*p == 'T' || *p == 't')
        p++;
    if (!number(&p, 2, 2, &m->hour) || !literal(&p, ':') || !number(&p, 2, 2, &m->minute))
        return false;
    if (literal(&p, ':') && !number(&p, 2, 2, &m->second))
        return false;
    if (literal(&p, '.'))
        while (isdigit((unsigned char)*p))
            p++;
    return literal(&p, 'Z') || literal(&p, 'z') ? done(&p)
                                                : offset(&p, &m->offset_minutes) && done(&p);
}

// ----- RFC 822

static bool month_name(const char **p, int *month)
{
    static const char names[][4] = { "jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec" };
    for (int i = 0; i < 12; i++)
        if (strncasecmp(*p, names[i], 3) == 0) {
            while (isalpha((unsigned char)**p))  // March is as good as Mar
                (*p)++;
            *month = i + 1;
            return true;
        }
    return false;
}

static bool zone(const char **p, int *minutes)
{
    static const struct {
        const char *name;
        int hours;
    } zones[] = {
        { "GMT", 0 }, { "UTC", 0 }, { "UT", 0 }, { "Z", 0 }, { "EST", -5 }, { "EDT", -4 },
        { "CST", -6 }, { "CDT", -5 }, { "MST", -7 }, { "MDT", -6 }, { "PST", -8 }, { "PDT", -7 },
    };
    if (offset(p, minutes))
        return true;
    size_t length = strspn(*p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (size_t i = 0; i < countof(zones); i++)
        if (strlen(zones[i].name) == length && strncmp(*p, zones[i].name, length) == 0) {
            *minutes = zones[i].hours * 60;
            *p += length;
            return true;
        }
    return false;
}

static bool year(const char **p, int *value)
{
    const char *from = *p;
    if (!number(p, 2, 4, value))
        return false;
    if (*p - from == 2)
        *value += *value < 70 ? 2000 : 1900;
    return true;
}

static bool rfc822(const char *p, struct moment *m)
{
    *m = (struct moment){0};
    const char *comma = strchr(p, ',');
    if (comma)
        p = comma + 1;  // the day of the week adds nothing
    blanks(&p);
    if (!number(&p, 1, 2, &m->day))
        return false;
    blanks(&p);
    if (!month_name(&p, &m->month))
        return false;
    blanks(&p);
    if (!year(&p, &m->year))
        return false;
    blanks(&p);
    if (!number(&p, 1, 2, &m->hour) || !literal(&p, ':') || !number(&p, 2, 2, &m->minute))
        return false;
    if (literal(&p, ':') && !number(&p, 2, 2, &m->second))
        return false;
    if (done(&p))
        return true;  // without a zone: UTC
    return zone(&p, &m->offset_minutes) && done(&p);
}

// -----

bool date_parse(const char *text, int64_t *at)
{
    struct moment moment;
    blanks(&text);
    return (rfc3339(text, &moment) || rfc822(text, &moment)) && settle(&moment, at);
}

static struct tm parts_of(int64_t at)
{
    struct tm tm = {0};
    time_t time = (time_t)at;
    gmtime_r(&time, &tm);  // of times date_parse can give
    return tm;
}

void date_time(int64_t at, char text[TIME_BYTES])
{
    struct tm tm = parts_of(at);
    strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void date_day(int64_t at, char day[DAY_BYTES])
{
    struct tm tm = parts_of(at);
    strftime(day, DAY_BYTES, "%Y-%m-%d", &tm);
}

void date_title(int64_t at, char title[TITLE_BYTES])
{
    char weekday[16], month[24];
    struct tm tm = parts_of(at);
    strftime(weekday, sizeof(weekday), "%A", &tm);
    strftime(month, sizeof(month), "%B %Y", &tm);
    snprintf(title, TITLE_BYTES, "%s %d %s", weekday, tm.tm_mday, month);
}

bool date_of_day(const char *day, int64_t *at)
{
    return strlen(day) == DAY_BYTES - 1 && date_parse(day, at) && *at % DAY_SECONDS == 0;
}
