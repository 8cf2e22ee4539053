// The calendar's numbers as people write them: reading and writing digits.

#include "base/time_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/calendar.h"

static const pawl_time time_end = SECONDS(253402300800);  // the year 10000

// A day that is not in the calendar, like 30 February, comes back in another month.
static bool date_exists(struct date date)
{
    return date_of(days_of(date)).month == date.month;
}

static bool take_mark(struct str *text, const char *marks)
{
    if (text->n == 0 || text->s[0] == '\0' || !strchr(marks, text->s[0]))
        return false;
    *text = (struct str){ text->s + 1, text->n - 1 };
    return true;
}

static bool take_digit(struct str *text, int64_t *number)
{
    if (text->n == 0 || text->s[0] < '0' || text->s[0] > '9')
        return false;
    *number = *number * 10 + (text->s[0] - '0');
    *text = (struct str){ text->s + 1, text->n - 1 };
    return true;
}

static bool take_number(struct str *text, int digits, int64_t max, int64_t *number)
{
    *number = 0;
    for (int i = 0; i < digits; i++) {
        if (!take_digit(text, number))
            return false;
    }
    return *number <= max;
}

// `.123456789`: at least one digit after the point; those past the microsecond are dropped.
static bool take_fraction(struct str *text, int64_t *microseconds)
{
    int64_t dropped = 0;
    int digits = 0;
    *microseconds = 0;
    if (!take_mark(text, "."))
        return true;
    while (digits < 6 && take_digit(text, microseconds))
        digits++;
    if (digits == 0)
        return false;
    for (; digits < 6; digits++)
        *microseconds *= 10;
    while (take_digit(text, &dropped))
        dropped = 0;
    return true;
}

static bool take_offset(struct str *text, int64_t *microseconds)
{
    int64_t hours, minutes;
    *microseconds = 0;
    if (take_mark(text, "Zz"))
        return true;
    bool west = text->n > 0 && text->s[0] == '-';
    if (!take_mark(text, "+-") || !take_number(text, 2, 23, &hours) || !take_mark(text, ":")
        || !take_number(text, 2, 59, &minutes))
        return false;
    *microseconds = (HOURS(hours) + MINUTES(minutes)) * (west ? -1 : 1);
    return true;
}

bool time_parse(struct str text, pawl_time *time)
{
    struct date date;
    int64_t hour, minute, second, fraction, offset;
    bool read = take_number(&text, 4, 9999, &date.year) && take_mark(&text, "-")
        && take_number(&text, 2, 12, &date.month) && take_mark(&text, "-")
        && take_number(&text, 2, 31, &date.day) && take_mark(&text, "Tt")
        && take_number(&text, 2, 23, &hour) && take_mark(&text, ":")
        && take_number(&text, 2, 59, &minute) && take_mark(&text, ":")
        && take_number(&text, 2, 60, &second) && take_fraction(&text, &fraction)
        && take_offset(&text, &offset) && text.n == 0 && date_exists(date);
    if (!read)
        return false;
    pawl_time of_day = HOURS(hour) + MINUTES(minute) + SECONDS(second);
    pawl_time whole = DAYS(days_of(date)) + of_day - offset;
    bool leap = second == 60;
    if (whole < 0 || whole >= time_end || (leap && whole % DAYS(1) != 0))
        return false;
    *time = leap ? whole : whole + fraction;
    return true;
}

// `-08`: the mark, and the number with leading zeros.
static char *put_part(char *at, char mark, int64_t number, int digits)
{
    *at = mark;
    for (int i = digits; i > 0; i--, number /= 10)
        at[i] = (char)('0' + number % 10);
    return at + digits + 1;
}

void time_add(struct buf *buf, pawl_time time)
{
    char text[32];
    int64_t of_day = time % DAYS(1);
    struct date date = date_of(time / DAYS(1) - (of_day < 0));
    int64_t ms = (of_day < 0 ? of_day + DAYS(1) : of_day) / MILLISECONDS(1);
    char *at = put_part(text, '-', date.month, 2);
    at = put_part(at, '-', date.day, 2);
    at = put_part(at, 'T', ms / 3600000, 2);
    at = put_part(at, ':', ms / 60000 % 60, 2);
    at = put_part(at, ':', ms / 1000 % 60, 2);
    at = put_part(at, '.', ms % 1000, 3);
    *at++ = 'Z';
    buf_add_int(buf, date.year, 4);
    buf_add(buf, (struct str){ text, (size_t)(at - text) });
}

struct str time_text(struct arena *arena, pawl_time time)
{
    struct buf text = buf_new(arena, SIZE_MAX);
    time_add(&text, time);
    return buf_str(&text);
}

// Largest first: the largest unit that divides a duration gives its shortest text.
static const struct { const char *name; int64_t microseconds; } units[] = {
    { "d", DAYS(1) }, { "h", HOURS(1) }, { "m", MINUTES(1) }, { "s", SECONDS(1) },
    { "ms", MILLISECONDS(1) },
};

bool duration_parse(struct str text, int64_t *microseconds)
{
    static const int64_t duration_max = DAYS(36525);
    int64_t number = 0;
    size_t digits = text.n;
    while (take_digit(&text, &number)) {
        if (number > duration_max)
            return false;
    }
    if (text.n == digits)
        return false;
    for (size_t i = 0; i < countof(units); i++) {
        if (!str_eq(text, str_of(units[i].name)))
            continue;
        if (number > duration_max / units[i].microseconds)
            return false;
        *microseconds = number * units[i].microseconds;
        return true;
    }
    return false;
}

struct str duration_text(struct arena *arena, int64_t microseconds)
{
    if (microseconds == 0)
        return S("0s");
    for (size_t i = 0; i < countof(units); i++) {
        if (microseconds % units[i].microseconds == 0)
            return str_format(arena, "%" PRId64 "%s", microseconds / units[i].microseconds,
                              units[i].name);
    }
    const char *sign = microseconds < 0 ? "-" : "";
    uint64_t size = microseconds < 0 ? -(uint64_t)microseconds : (uint64_t)microseconds;
    uint64_t fraction = size % 1000;
    int digits = 3;
    for (; fraction % 10 == 0; fraction /= 10)
        digits--;
    return str_format(arena, "%s%" PRIu64 ".%0*" PRIu64 "ms", sign, size / 1000, digits, fraction);
}
