// Every question is answered by the definition: is this value in that field, is it the last day of
// its month, which Friday is it? The calendar is timegm's and gmtime_r's.
#include "naive_cron.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "test.h"
#include "zones.h"

enum { DAY = 86400, FIELDS = 5, WORD_MAX = 64 };

struct naive_minutes naive_minutes(int64_t from, size_t count)
{
    enum { BACK = 25 * 60 };  // no clock was set back by more
    struct naive_minutes minutes = {
        .from = from,
        .count = count,
        .locals = arena_new(test_arena(), int64_t, count),
        .again = arena_new(test_arena(), bool, count),
    };
    EXPECT(minutes.locals && minutes.again);
    for (size_t i = 0; i < count; i++) {
        minutes.locals[i] = clock_local(from + (int64_t)i * 60);
        for (size_t n = 1; n <= BACK && n <= i && !minutes.again[i]; n++)
            minutes.again[i] = minutes.locals[i - n] == minutes.locals[i];
    }
    return minutes;
}

// ----- one value

static int month_index(const char *name)
{
    static const char *const names[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                         "jul", "aug", "sep", "oct", "nov", "dec" };
    for (int i = 0; i < 12; i++)
        if (strncasecmp(name, names[i], 3) == 0)
            return i + 1;
    return -1;
}

static int weekday_index(const char *name)
{
    static const char *const names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };
    for (int i = 0; i < 7; i++)
        if (strncasecmp(name, names[i], 3) == 0)
            return i;
    return -1;
}

// A number or a name; `*end` is behind it.
static int value_of(char *text, char **end)
{
    int month = month_index(text), weekday = weekday_index(text);
    if (month > 0 || weekday >= 0) {
        *end = text + 3;
        return month > 0 ? month : weekday;
    }
    return (int)strtol(text, end, 10);
}

static struct tm date_at(int64_t local)
{
    struct tm tm;
    time_t time = local;
    EXPECT(gmtime_r(&time, &tm));
    return tm;
}

static bool is_last_day(int64_t local)
{
    return date_at(local + DAY).tm_mday == 1;
}

static bool is_workday(int64_t local)
{
    int weekday = date_at(local).tm_wday;
    return weekday >= 1 && weekday <= 5;
}

// Is this the workday nearest to day `day` of its month? Tries the days around that one, the
// nearest first and the earlier one of two first, and the first workday of the same month is it.
static bool is_near(int64_t local, int day)
{
    static const int tries[] = { 0, -1, 1, -2, 2 };
    struct tm today = date_at(local);
    int64_t wanted = local + (int64_t)(day - today.tm_mday) * DAY;
    if (date_at(wanted).tm_mon != today.tm_mon)
        return false;
    for (size_t i = 0; i < countof(tries); i++) {
        int64_t at = wanted + (int64_t)tries[i] * DAY;
        if (is_workday(at) && date_at(at).tm_mon == today.tm_mon)
            return date_at(at).tm_mday == today.tm_mday;
    }
    return false;
}

static bool day_word(char *part, int64_t local)
{
    char *end;
    if (part[0] == 'L' && part[1] == 'W') {
        int64_t last = local;
        while (!is_last_day(last))
            last += DAY;
        return is_near(local, date_at(last).tm_mday);
    }
    if (part[0] == 'L') {
        int64_t later = local + (part[1] == '-' ? strtol(part + 2, &end, 10) * DAY : 0);
        return is_last_day(later) && date_at(later).tm_mon == date_at(local).tm_mon;
    }
    return is_near(local, (int)strtol(part, &end, 10));
}

static bool weekday_word(char *part, int64_t local)
{
    char *end;
    struct tm today = date_at(local);
    if (value_of(part, &end) % 7 != today.tm_wday)
        return false;
    if (*end == 'L')
        return date_at(local + (int64_t)7 * DAY).tm_mon != today.tm_mon;
    return (today.tm_mday - 1) / 7 + 1 == strtol(end + 1, &end, 10);
}

// ----- one part of a field

struct kind {
    int min, max;
    bool weekday;
};

// Walks from the first value to the last, round the end if need be, and looks whether it meets this
// one.
static bool in_range(char *part, int value, struct kind kind)
{
    char *end = part + 1;
    bool star = part[0] == '*' || part[0] == '?';
    int from = star ? kind.min : value_of(part, &end), to = star ? kind.max : from, step = 1;
    bool range = *end == '-';
    if (range)
        to = value_of(end + 1, &end);
    if (*end == '/') {
        step = (int)strtol(end + 1, &end, 10);
        from = kind.weekday && !range ? from % 7 : from;
        to = range ? to : kind.max;
    }
    int values = kind.max - kind.min + 1, length = to >= from ? to - from : to + values - from;
    for (int walked = 0; walked <= length; walked += step)
        if (kind.min + (from - kind.min + walked) % values == value)
            return true;
    return false;
}

static bool in_field(struct str word, int value, struct kind kind, int64_t local)
{
    char part[WORD_MAX];
    struct str one;
    bool found = false;
    for (bool more = true; more;) {
        more = str_cut(word, ',', &one, &word);
        EXPECT(one.n < WORD_MAX);
        memcpy(part, one.s, one.n);
        part[one.n] = '\0';
        if (kind.max == 31 && strpbrk(part, "LW"))
            found |= day_word(part, local);
        else if (kind.weekday && strpbrk(part, "L#"))
            found |= weekday_word(part, local);
        else
            found |= in_range(part, value, kind);
    }
    return found;
}

// ----- expressions

bool naive_match(const char *expression, int64_t local)
{
    static const struct kind kinds[FIELDS] = {
        { 0, 59, false }, { 0, 23, false }, { 1, 31, false }, { 1, 12, false }, { 0, 6, true },
    };
    struct str rest = str_of(expression), word;
    struct tm tm = date_at(local);
    const int values[FIELDS] = { tm.tm_min, tm.tm_hour, tm.tm_mday, tm.tm_mon + 1, tm.tm_wday };
    bool in[FIELDS], star[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        (void)str_cut(rest, ' ', &word, &rest);  // the last one has none behind it
        in[i] = in_field(word, values[i], kinds[i], local);
        star[i] = word.s[0] == '*' || word.s[0] == '?';
        if (i < 2 && !in[i])
            return false;
    }
    bool day = star[2] || star[4] ? in[2] && in[4] : in[2] || in[4];
    return in[3] && day;
}

void naive_slots(const struct naive_minutes *minutes, const char *expression, bool *due)
{
    for (size_t i = 0; i < minutes->count; i++) {
        int64_t local = minutes->locals[i];
        due[i] = !minutes->again[i] && naive_match(expression, local);
        if (i == 0 || minutes->again[i])
            continue;
        for (int64_t skipped = minutes->locals[i - 1] + 60; skipped < local && !due[i];
             skipped += 60)
            due[i] = naive_match(expression, skipped);
    }
}
