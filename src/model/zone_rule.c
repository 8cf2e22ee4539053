// Reads the rule of a time zone and turns it into instants: a small grammar, and days counted from
// the first of January or from the first of a month.
#include "model/zone_rule.h"

#include "base/calendar.h"

// Longer than any day: RFC 8536 allows changes up to a week away.
enum { OFFSET_HOURS_MAX = 24, CHANGE_HOURS_MAX = 167, CHANGE_DEFAULT = 2 * HOUR_SECONDS };

// ----- reading

static bool take(struct str *text, char mark)
{
    if (text->n == 0 || text->s[0] != mark)
        return false;
    *text = (struct str){ text->s + 1, text->n - 1 };
    return true;
}

static bool take_number(struct str *text, int64_t min, int64_t max, int64_t *number)
{
    size_t n = 0;
    *number = 0;
    for (; n < text->n && n < 3 && text->s[n] >= '0' && text->s[n] <= '9'; n++)
        *number = *number * 10 + (text->s[n] - '0');
    *text = (struct str){ text->s + n, text->n - n };
    return n > 0 && *number >= min && *number <= max;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// An abbreviation such as CET or <+0330>. Nobody asks for it.
static bool skip_name(struct str *text)
{
    struct str inside;
    if (take(text, '<'))
        return str_cut(*text, '>', &inside, text);
    size_t n = 0;
    while (n < text->n && is_letter(text->s[n]))
        n++;
    *text = (struct str){ text->s + n, text->n - n };
    return n >= 3;
}

// `[+-]h[h][:mm[:ss]]`
static bool take_time(struct str *text, int64_t hours_max, int64_t *seconds)
{
    int64_t hours = 0, minutes = 0, rest = 0;
    bool minus = take(text, '-');
    if (!minus)
        (void)take(text, '+');  // means nothing
    if (!take_number(text, 0, hours_max, &hours)
        || (take(text, ':') && !take_number(text, 0, 59, &minutes))
        || (take(text, ':') && !take_number(text, 0, 59, &rest)))
        return false;
    *seconds = hours * HOUR_SECONDS + minutes * MINUTE_SECONDS + rest;
    if (minus)
        *seconds = -*seconds;
    return true;
}

// Counts west of UTC as positive, as POSIX does, and answers seconds east.
static bool take_offset(struct str *text, int64_t *offset)
{
    if (!take_time(text, OFFSET_HOURS_MAX, offset))
        return false;
    *offset = -*offset;
    return true;
}

static bool take_date(struct str *text, struct zone_day *day)
{
    if (take(text, 'J')) {
        day->kind = ZONE_DAY_NO_LEAP;
        return take_number(text, 1, 365, &day->day);
    }
    if (!take(text, 'M')) {
        day->kind = ZONE_DAY_OF_YEAR;
        return take_number(text, 0, 365, &day->day);
    }
    day->kind = ZONE_DAY_OF_MONTH;
    return take_number(text, 1, 12, &day->month) && take(text, '.')
        && take_number(text, 1, 5, &day->week) && take(text, '.')
        && take_number(text, 0, 6, &day->day);
}

static bool take_day(struct str *text, struct zone_day *day)
{
    *day = (struct zone_day){ .seconds = CHANGE_DEFAULT };
    return take(text, ',') && take_date(text, day)
        && (!take(text, '/') || take_time(text, CHANGE_HOURS_MAX, &day->seconds));
}

static bool take_summer(struct str *text, struct zone_rule *rule)
{
    rule->changes = true;
    rule->summer = rule->standard + HOUR_SECONDS;
    return skip_name(text)
        && (text->n == 0 || text->s[0] == ',' || take_offset(text, &rule->summer))
        && take_day(text, &rule->begin) && take_day(text, &rule->end);
}

bool zone_rule_parse(struct str text, struct zone_rule *rule, struct pawl_error *err)
{
    struct str rest = text;
    *rule = (struct zone_rule){0};
    bool good = skip_name(&rest) && take_offset(&rest, &rule->standard)
        && (rest.n == 0 || take_summer(&rest, rule)) && rest.n == 0;
    return good || fail(err, PAWL_INVALID, "`%.*s` is no rule of a time zone", STR(text));
}

// ----- instants

static int64_t day_in_year(const struct zone_day *day, int64_t year)
{
    int64_t january = days_of((struct date){ year, 1, 1 });
    if (day->kind == ZONE_DAY_OF_YEAR)
        return january + day->day;
    if (day->kind == ZONE_DAY_NO_LEAP)
        return january + day->day - 1 + (day->day >= 60 && month_days(year, 2) == 29);
    int64_t first = days_of((struct date){ year, day->month, 1 });
    int64_t found = first + floor_mod(day->day - weekday_of(first), 7) + 7 * (day->week - 1);
    return found < first + month_days(year, day->month) ? found : found - 7;
}

int64_t zone_rule_begin(const struct zone_rule *rule, int64_t year)
{
    return day_in_year(&rule->begin, year) * DAY_SECONDS + rule->begin.seconds - rule->standard;
}

int64_t zone_rule_end(const struct zone_rule *rule, int64_t year)
{
    return day_in_year(&rule->end, year) * DAY_SECONDS + rule->end.seconds - rule->summer;
}
