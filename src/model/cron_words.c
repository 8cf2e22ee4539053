// An expression in words, made from its sets of bits: two expressions that mean the same read the
// same. Parts that say nothing ("in every month") are left out.
#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "model/cron.h"

enum { WORDS_BYTES_MAX = 4096,
       TIMES_MAX = 4,
       MINUTES = 60,
       HOURS_A_DAY = 24,
       MONTHS = 12,
       WEEK = 7,
       MONTH = 31 };

static const char *const weekday_names[] = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday",
                                             "Friday", "Saturday" };
static const char *const month_names[] = { "", "January", "February", "March", "April", "May",
                                           "June", "July", "August", "September", "October",
                                           "November", "December" };
static const char *const nth_names[] = { "first", "second", "third", "fourth", "fifth" };

// ----- sets

// `values` of them, from `min` on.
struct set {
    uint64_t bits;
    int min, values;
    const char *const *names;  // NULL: numbers
};

static bool has(struct set set, int value)
{
    return set.bits >> value & 1;
}

static int size(struct set set)
{
    return __builtin_popcountll(set.bits);
}

static bool is_full(struct set set)
{
    return size(set) == set.values;
}

static int lowest(struct set set)
{
    return __builtin_ctzll(set.bits);
}

static int highest(struct set set)
{
    return 63 - __builtin_clzll(set.bits);
}

static bool is_run(struct set set)
{
    return highest(set) - lowest(set) + 1 == size(set);
}

// n when it is every nth value from the first one on, as `*/n` makes it; 0: it is not.
static int step(struct set set)
{
    int second = 0;
    if (size(set) < 2 || lowest(set) != set.min)
        return 0;
    for (second = set.min + 1; !has(set, second);)
        second++;
    int n = second - set.min;
    for (int value = set.min; value < set.min + set.values; value++)
        if (has(set, value) != ((value - set.min) % n == 0))
            return 0;
    return n;
}

// ----- lists: `1, 3 to 5 and 9`

struct words {
    struct buf buf;
    size_t items, added;  // of the list at hand
};

static void begin_list(struct words *words, size_t items)
{
    words->items = items;
    words->added = 0;
}

static void between(struct words *words)
{
    if (words->added > 0)
        buf_add(&words->buf, words->added + 1 == words->items ? S(" and ") : S(", "));
    words->added++;
}

static void add_value(struct words *words, struct set set, int value)
{
    if (set.names)
        buf_addf(&words->buf, "%s", set.names[value]);
    else
        buf_addf(&words->buf, "%d", value);
}

// Where a run of at least three that begins at `from` ends; else `from`.
static int run_end(struct set set, int from)
{
    int to = from;
    while (to + 1 < set.min + set.values && has(set, to + 1))
        to++;
    return to >= from + 2 ? to : from;
}

static size_t list_items(struct set set)
{
    size_t items = 0;
    for (int value = set.min; value < set.min + set.values; value++) {
        if (!has(set, value))
            continue;
        items++;
        value = run_end(set, value);
    }
    return items;
}

// The values of a set as further items of the list at hand.
static void add_items(struct words *words, struct set set)
{
    for (int value = set.min; value < set.min + set.values; value++) {
        if (!has(set, value))
            continue;
        int to = run_end(set, value);
        between(words);
        add_value(words, set, value);
        if (to > value) {
            buf_add(&words->buf, S(" to "));
            add_value(words, set, to);
        }
        value = to;
    }
}

static void add_set(struct words *words, struct set set)
{
    begin_list(words, list_items(set));
    add_items(words, set);
}

// ----- the time of day

struct clock {
    struct set seconds, minutes, hours;
};

static bool on_the_minute(const struct clock *clock)
{
    return clock->seconds.bits == 1;
}

static int times(const struct clock *clock)
{
    return size(clock->hours) * size(clock->minutes) * size(clock->seconds);
}

// `at 9:00, 12:30 and 17:00`
static void add_times(struct words *words, const struct clock *clock)
{
    begin_list(words, (size_t)times(clock));
    buf_add(&words->buf, S("at "));
    for (int time = 0; time < HOURS_A_DAY * 3600; time++) {
        int hour = time / 3600, minute = time / 60 % 60, second = time % 60;
        if (!has(clock->hours, hour) || !has(clock->minutes, minute)
            || !has(clock->seconds, second))
            continue;
        between(words);
        buf_addf(&words->buf, "%d:%02d", hour, minute);
        if (!on_the_minute(clock))
            buf_addf(&words->buf, ":%02d", second);
    }
}

// `every 7 minutes`, `at minute 5 and 20`
static void add_unit(struct words *words, struct set set, const char *unit)
{
    if (step(set) == 1)
        buf_addf(&words->buf, "every %s", unit);
    else if (step(set) > 1)
        buf_addf(&words->buf, "every %d %ss", step(set), unit);
    else {
        buf_addf(&words->buf, "at %s ", unit);
        add_set(words, set);
    }
}

static void add_hours(struct words *words, const struct clock *clock)
{
    struct set hours = clock->hours;
    if (is_full(hours))
        return;
    if (is_run(hours)) {
        buf_addf(&words->buf, " from %d:00 to %d:59", lowest(hours), highest(hours));
        return;
    }
    buf_addf(&words->buf, " in hour ");
    add_set(words, hours);
}

// One minute in many hours: `every 2 hours at minute 5`.
static void add_hourly(struct words *words, const struct clock *clock)
{
    struct set hours = clock->hours;
    int minute = lowest(clock->minutes);
    if (is_run(hours) && !is_full(hours)) {
        buf_addf(&words->buf, "every hour from %d:%02d to %d:%02d", lowest(hours), minute,
                 highest(hours), minute);
        return;
    }
    add_unit(words, hours, "hour");
    if (minute > 0)
        buf_addf(&words->buf, " at minute %d", minute);
}

static void add_clock(struct words *words, const struct clock *clock)
{
    if (times(clock) <= TIMES_MAX) {
        add_times(words, clock);
        return;
    }
    if (on_the_minute(clock) && size(clock->minutes) == 1
        && (step(clock->hours) || is_run(clock->hours))) {
        add_hourly(words, clock);
        return;
    }
    if (on_the_minute(clock))
        add_unit(words, clock->minutes, "minute");
    else
        add_unit(words, clock->seconds, "second");
    if (!on_the_minute(clock) && !is_full(clock->minutes)) {
        buf_add(&words->buf, S(" in minute "));
        add_set(words, clock->minutes);
    }
    add_hours(words, clock);
}

// ----- days

// `day 1 and 15, the last day and the weekday nearest to day 20 of the month`
static void add_days(struct words *words, const struct cron *cron, struct set days)
{
    struct set before = { cron->days_before_last, 0, MONTH, NULL };
    struct set near = { cron->near_days, 1, MONTH, NULL };
    if (step(days) > 1)
        buf_addf(&words->buf, "every %d days from day 1", step(days));
    else if (days.bits)
        buf_add(&words->buf, S("day "));
    begin_list(words, (step(days) > 1 ? 1 : list_items(days)) + (size_t)size(before)
                          + (size_t)size(near) + cron->last_workday);
    if (step(days) > 1)
        words->added++;
    else
        add_items(words, days);
    for (int n = 0; n < before.values; n++) {
        if (!has(before, n))
            continue;
        between(words);
        if (n > 0)
            buf_addf(&words->buf, "%d %s before ", n, n > 1 ? "days" : "day");
        buf_add(&words->buf, S("the last day"));
    }
    for (int day = near.min; day <= near.values; day++) {
        if (!has(near, day))
            continue;
        between(words);
        buf_addf(&words->buf, "the weekday nearest to day %d", day);
    }
    if (cron->last_workday) {
        between(words);
        buf_add(&words->buf, S("the last weekday"));
    }
    buf_add(&words->buf, S(" of the month"));
}

// `Monday to Friday`, `Monday and the last Friday of the month`
static void add_weekdays(struct words *words, const struct cron *cron, struct set weekdays)
{
    uint64_t rows[CRON_WEEKS + 1] = { [CRON_WEEKS] = cron->weekdays_last };
    size_t items = list_items(weekdays) + (size_t)__builtin_popcount(cron->weekdays_last);
    for (int i = 0; i < CRON_WEEKS; i++) {
        rows[i] = cron->weekdays_nth[i];
        items += (size_t)__builtin_popcount(cron->weekdays_nth[i]);
    }
    begin_list(words, items);
    add_items(words, weekdays);
    for (int i = 0; i <= CRON_WEEKS; i++) {
        for (int day = 0; day < WEEK; day++) {
            if (!(rows[i] >> day & 1))
                continue;
            between(words);
            buf_addf(&words->buf, "the %s %s of the month", i < CRON_WEEKS ? nth_names[i] : "last",
                     weekday_names[day]);
        }
    }
}

static struct set days_of_month(const struct cron *cron)
{
    return (struct set){ cron->days, 1, MONTH, NULL };
}

static struct set days_of_week(const struct cron *cron)
{
    return (struct set){ cron->weekdays, 0, WEEK, weekday_names };
}

static bool is_daily(const struct cron *cron)
{
    bool any_day = is_full(days_of_month(cron)), any_weekday = is_full(days_of_week(cron));
    return cron->days_star || cron->weekdays_star ? any_day && any_weekday
                                                  : any_day || any_weekday;
}

// A field that begins with a star narrows the other one.
static void add_dates(struct words *words, const struct cron *cron)
{
    struct set days = days_of_month(cron), weekdays = days_of_week(cron);
    bool both = cron->days_star || cron->weekdays_star;
    bool any_day = is_full(days), any_weekday = is_full(weekdays);
    buf_add(&words->buf, S(", "));
    if (!any_day)
        add_days(words, cron, days);
    if (!any_day && !any_weekday)
        buf_add(&words->buf, both ? S(" if it is ") : S(" or "));
    if (!any_weekday)
        add_weekdays(words, cron, weekdays);
}

struct str cron_words(struct arena *arena, const struct cron *cron)
{
    struct words words = { .buf = buf_new(arena, WORDS_BYTES_MAX) };
    struct clock clock = {
        .seconds = { cron->seconds, 0, MINUTES, NULL },
        .minutes = { cron->minutes, 0, MINUTES, NULL },
        .hours = { cron->hours, 0, HOURS_A_DAY, NULL },
    };
    struct set months = { cron->months, 1, MONTHS, month_names };
    if (is_daily(cron) && times(&clock) <= TIMES_MAX)
        buf_add(&words.buf, S("every day "));
    add_clock(&words, &clock);
    if (!is_daily(cron))
        add_dates(&words, cron);
    if (!is_full(months)) {
        buf_add(&words.buf, S(", in "));
        add_set(&words, months);
    }
    return buf_str(&words.buf);
}
