// When schedules are due: DST changes, properties of all slots, and a scan of minutes as witness.
#include "test.h"

#include <string.h>

#include "base/calendar.h"
#include "base/time_text.h"
#include "model/timetable.h"
#include "naive_cron.h"
#include "zones.h"

static struct timetable must_table(const char *expression, const char *zone)
{
    struct timetable table = { .zone = must_zone(zone) };
    struct pawl_error err = {0};
    MUST(cron_parse(str_of(expression), &table.cron, &err));
    return table;
}

static struct timetable must_every(const char *text)
{
    struct timetable table;
    struct pawl_error err = {0};
    MUST(timetable_every(str_of(text), &table, &err));
    return table;
}

// The slots after a time, as UTC without what is the same in all: `29T01:00 29T01:15`.
static struct str slots(const struct timetable *table, const char *after, int count)
{
    struct buf all = buf_new(test_arena(), 4096);
    pawl_time at = SECONDS(must_seconds(after));
    for (int i = 0; i < count; i++) {
        EXPECT(timetable_next(table, at, &at));
        struct str text = time_text(test_arena(), at);
        buf_addf(&all, "%s%.*s", i ? " " : "", 8, text.s + 8);
    }
    return buf_str(&all);
}

// ----- DST

TEST(SLOT_dst_slots)
{
    static const struct { const char *cron, *zone, *after, *slots; } rows[] = {
        // The gap from 2:00 to 3:00: once at its end, also when several times are in it and when a
        // regular one is there.
        { "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "28T01:30 29T01:00 30T00:30" },
        { "15,45 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "29T01:00 30T00:15" },
        { "*/30 2-3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "29T01:00 29T01:30 30T00:00" },
        { "*/20 * * * *", "Europe/Berlin", "2026-03-29T00:39:00Z", "29T00:40 29T01:00 29T01:20" },
        { "0 3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "29T01:00 30T01:00" },
        // The overlap from 2:00 to 3:00: the first pass only.
        { "30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z", "24T00:30 25T00:30 26T01:30" },
        { "*/30 * * * *", "Europe/Berlin", "2026-10-25T00:15:00Z", "25T00:30 25T02:00 25T02:30" },
        { "0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "25T00:00 25T02:00 25T03:00" },
        { "0 3 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "25T02:00 26T02:00" },
        // Half an hour.
        { "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "03T15:30 04T15:15" },
        { "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "04T14:45 05T15:15" },
        // Midnight does not come, and day and weekday are those that were meant.
        { "0 0 * * *", "Africa/Cairo", "2026-04-23T00:00:00Z", "23T22:00 24T21:00" },
        { "0 0 24 4 *", "Africa/Cairo", "2026-04-23T00:00:00Z", "23T22:00" },
        { "0 0 * * sun", "America/Asuncion", "2023-09-30T12:00:00Z", "01T04:00 08T03:00" },
        // A day that never came: its slots are one, at the first instant of the next day.
        { "0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "30T10:00" },
        { "0 */6 * * *", "Pacific/Apia", "2011-12-30T00:00:00Z", "30T04:00 30T10:00 30T16:00" },
        { "0 0 30,31 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "30T10:00 29T10:00" },
        // Winter is what is saved.
        { "30 1 * * *", "Europe/Dublin", "2026-03-28T12:00:00Z", "29T01:00 30T00:30" },
        { "30 1 * * *", "Europe/Dublin", "2026-10-24T12:00:00Z", "25T00:30 26T01:30" },
        // No DST, another offset.
        { "30 1 * * *", "Europe/Moscow", "2014-10-25T12:00:00Z", "25T21:30 26T22:30" },
        { "45 2 * * *", "America/Caracas", "2016-04-30T12:00:00Z", "01T07:00 02T06:45" },
        // Beyond the list of changes, by the rule.
        { "30 2 * * *", "Europe/Berlin", "2150-03-28T12:00:00Z", "29T01:00 30T00:30" },
        { "30 1 * * *", "America/New_York", "9999-11-06T12:00:00Z", "07T05:30 08T06:30" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct timetable table = must_table(rows[i].cron, rows[i].zone);
        int count = (int)(strlen(rows[i].slots) + 1) / 9;
        expect_str(slots(&table, rows[i].after, count), str_of(rows[i].slots),
                   PLACE(str_format(test_arena(), "%s %s", rows[i].cron, rows[i].zone).s));
    }
}

TEST(SLOT_dst_marks)
{
    static const struct { const char *cron, *slot; enum slot_shift shift; } rows[] = {
        { "30 2 * * *", "2026-03-28T01:30:00Z", SLOT_REGULAR },
        { "30 2 * * *", "2026-03-29T01:00:00Z", SLOT_AFTER_GAP },
        { "*/30 * * * *", "2026-03-29T01:00:00Z", SLOT_REGULAR },
        { "30 2 * * *", "2026-10-25T00:30:00Z", SLOT_FIRST_OF_TWO },
        { "0 2 * * *", "2026-10-25T00:00:00Z", SLOT_FIRST_OF_TWO },
        { "0 3 * * *", "2026-10-25T02:00:00Z", SLOT_REGULAR },
        { "59 1 * * *", "2026-10-24T23:59:00Z", SLOT_REGULAR },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct timetable table = must_table(rows[i].cron, "Europe/Berlin");
        pawl_time slot = SECONDS(must_seconds(rows[i].slot)), found = 0;
        expect(timetable_last(&table, slot, &found) && found == slot, PLACE(rows[i].slot));
        expect_int(timetable_shift(&table, slot), rows[i].shift, PLACE(rows[i].slot));
    }
}

// ----- calendars and bounds

TEST(SLOT_end_of_month_and_leap_years)
{
    static const struct { const char *cron, *after, *slots; } rows[] = {
        { "0 0 31 * *", "2026-01-31T00:00:00Z", "31T00:00 31T00:00 31T00:00 31T00:00" },
        { "0 0 29 2 *", "2026-01-01T00:00:00Z", "29T00:00" },
        { "59 59 23 31 12 *", "2026-01-01T00:00:00Z", "31T23:59" },
        { "0 0 L 2 *", "2026-01-01T00:00:00Z", "28T00:00 28T00:00 29T00:00" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct timetable table = must_table(rows[i].cron, "UTC");
        int count = (int)(strlen(rows[i].slots) + 1) / 9;
        expect_str(slots(&table, rows[i].after, count), str_of(rows[i].slots),
                   PLACE(rows[i].cron));
    }
    struct timetable leap = must_table("0 0 29 2 *", "UTC");
    pawl_time slot = SECONDS(must_seconds("2096-02-29T00:00:00Z"));
    EXPECT(timetable_next(&leap, slot, &slot));
    EXPECT_INT(slot, SECONDS(must_seconds("2104-02-29T00:00:00Z")));
}

TEST(SLOT_nothing_before_1970_or_after_9999)
{
    const pawl_time end = SECONDS(must_seconds("9999-12-31T23:59:59Z")) + SECONDS(1);
    const struct timetable tables[] = { must_table("* * * * *", "UTC"),
                                        must_table("* * * * *", "Pacific/Kiritimati"),
                                        must_table("* * * * *", "America/Adak"),
                                        must_every("1m") };
    for (size_t i = 0; i < countof(tables); i++) {
        pawl_time slot = -1;
        EXPECT(timetable_next(&tables[i], INT64_MIN, &slot));
        EXPECT_INT(slot, 0);
        EXPECT(timetable_last(&tables[i], 0, &slot));
        EXPECT_INT(slot, 0);
        EXPECT(!timetable_last(&tables[i], -1, &slot));
        EXPECT(!timetable_last(&tables[i], INT64_MIN, &slot));
        EXPECT(timetable_last(&tables[i], INT64_MAX, &slot));
        EXPECT_INT(slot, end - MINUTES(1));
        EXPECT(!timetable_next(&tables[i], slot, &slot));
        EXPECT(!timetable_next(&tables[i], INT64_MAX, &slot));
    }
}

// ----- intervals

TEST(SLOT_intervals_count_from_1970)
{
    struct timetable table = must_every("7m");
    pawl_time slot = 0, at = SECONDS(must_seconds("2026-11-16T10:00:00Z")) + 1;
    EXPECT(timetable_next(&table, at, &slot));
    EXPECT(slot % MINUTES(7) == 0 && slot > at && slot - MINUTES(7) <= at);
    EXPECT(timetable_last(&table, slot, &at));
    EXPECT_INT(at, slot);
    EXPECT(timetable_last(&table, slot - 1, &at));
    EXPECT_INT(at, slot - MINUTES(7));
    EXPECT_INT(timetable_shift(&table, slot), SLOT_REGULAR);
    EXPECT_STR(timetable_words(test_arena(), &table),
               "every 7m, counted from 1970-01-01T00:00:00Z");
}

TEST(SLOT_intervals_have_bounds)
{
    static const char *const bad[] = { "", "15", "m", "0s", "999ms", "367d", "-1m", "1w", "1.5h" };
    struct timetable table;
    struct pawl_error err = {0};
    for (size_t i = 0; i < countof(bad); i++)
        expect_refused(timetable_every(str_of(bad[i]), &table, &err), PAWL_INVALID, &err,
                       PLACE(bad[i]));
    EXPECT_INT(must_every("1s").every_us, SECONDS(1));
    EXPECT_INT(must_every("366d").every_us, DAYS(366));
}

TEST(SLOT_words_end_with_the_zone)
{
    struct timetable table = must_table("*/7 9-17 * * 1-5", "Europe/Berlin");
    EXPECT_STR(timetable_words(test_arena(), &table),
               "every 7 minutes from 9:00 to 17:59, Monday to Friday, Europe/Berlin");
    table.zone = NULL;
    EXPECT_STR(timetable_words(test_arena(), &table),
               "every 7 minutes from 9:00 to 17:59, Monday to Friday, UTC");
}

// ----- expressions by the dice

static const char *const minutes_fields[] = {
    "*", "*/15", "*/7", "0", "30", "15,45", "5/10", "0-29/3", "50-10", "59", "0,1,2,58,59",
};
static const char *const hours_fields[] = {
    "*", "*", "*", "2", "1-3", "0", "23", "*/2", "22-3", "0,2,12", "1/5",
};
static const char *const days_fields[] = {
    "*", "*", "*", "*", "?", "1", "*/2", "L", "25-5", "L-2", "LW", "15W", "1,L", "29-31", "1W,31W",
    "1-31",
};
static const char *const months_fields[] = {
    "*", "*", "*", "*", "mar,oct", "nov-apr", "*/3", "3/1",
};
static const char *const weekdays_fields[] = {
    "*", "*", "*", "*", "sun", "1-5", "fri-mon", "7", "sunL", "sun#1,sun#5", "*/2", "0-7", "5-7",
    "mon#2,6L", "2/2",
};

#define PICK(list) ((list)[draw(dice, (int64_t)countof(list))])

static const char *draw_expression(uint64_t *dice)
{
    const char *minute = PICK(minutes_fields), *hour = PICK(hours_fields);
    const char *day = PICK(days_fields), *month = PICK(months_fields);
    return str_format(test_arena(), "%s %s %s %s %s", minute, hour, day, month,
                      PICK(weekdays_fields))
        .s;
}

static const char *const odd_zones[] = {
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
    "Europe/Dublin", "Africa/Cairo", "America/Sao_Paulo", "Asia/Beirut", "America/Caracas",
    "Asia/Pyongyang", "Africa/Casablanca", "Antarctica/Troll", "America/Nuuk", "Pacific/Chatham",
    "Europe/Moscow", "Asia/Tehran", "America/Havana", "Pacific/Kwajalein", "Asia/Gaza",
};

// An instant near one of the zone's changes since 1973; offsets before had seconds in places.
static int64_t draw_change(const struct zone *zone, uint64_t *dice)
{
    static const int64_t first = 94694400, years = (int64_t)130 * 365 * 86400;
    int64_t at = first + draw(dice, years);
    struct zone_span span = zone_span(zone, at);
    return span.until < first + years ? span.until : at;
}

// ----- properties

static void expect_mirror(const struct timetable *table, pawl_time at, struct place place)
{
    pawl_time next = 0, last = 0, again = 0;
    expect(timetable_next(table, at, &next) && next > at, place);
    expect(timetable_last(table, next, &again) && again == next, place);
    expect(timetable_last(table, at, &last) && last <= at, place);
    expect(timetable_last(table, next - 1, &again) && again == last, place);
    expect(timetable_next(table, last - 1, &again) && again == last, place);
    expect(timetable_next(table, last, &again) && again == next, place);
}

TEST(SLOT_the_last_slot_mirrors_the_next)
{
    uint64_t seed = 11, *dice = &seed;
    for (int i = 0; i < 3000; i++) {
        const char *zone = PICK(odd_zones), *expression = draw_expression(dice);
        struct timetable table = must_table(expression, zone);
        pawl_time change = SECONDS(draw_change(table.zone, dice));
        for (int n = 0; n < 20; n++) {
            pawl_time at = change + draw(dice, HOURS(6)) - HOURS(3);
            expect_mirror(&table, n == 0 ? change : at,
                          PLACE(str_format(test_arena(), "%s %s at %lld", expression, zone,
                                           (long long)at)
                                    .s));
        }
    }
}

// ----- brute force

// Slots and minutes must agree from `first` on, forwards and backwards.
static void expect_slots(const struct timetable *table, const struct naive_minutes *minutes,
                         const bool *due, size_t first, struct place place)
{
    pawl_time slot = 0, at = SECONDS(minutes->from + (int64_t)first * 60) - 1;
    size_t found = 0, listed = 0;
    const pawl_time begin = at + 1;
    const pawl_time end = SECONDS(minutes->from + (int64_t)minutes->count * 60);
    for (size_t i = first; i < minutes->count; i++)
        listed += due[i];
    for (; timetable_next(table, at, &slot) && slot < end; at = slot, found++)
        expect(slot % MINUTES(1) == 0 && due[slot / MINUTES(1) - minutes->from / 60], place);
    expect_int((int64_t)found, (int64_t)listed, place);
    for (at = end - 1; timetable_last(table, at, &slot) && slot >= begin; at = slot - 1)
        found--;
    expect_int((int64_t)found, 0, place);
}

TEST(SLOT_slots_are_those_of_a_scan_of_minutes)
{
    enum { ROUNDS = 60, EXPRESSIONS = 15, BEFORE = 3 * 1440, COUNT = 6 * 1440, FIRST = 1500 };
    uint64_t seed = 13, *dice = &seed;
    static bool due[COUNT];
    for (int round = 0; round < ROUNDS; round++) {
        const char *zone_name = odd_zones[round % (int)countof(odd_zones)];
        int64_t from = draw_change(must_zone(zone_name), dice) / 60 * 60 - (int64_t)BEFORE * 60;
        clock_in(zone_name);
        struct naive_minutes minutes = naive_minutes(from, COUNT);
        for (int i = 0; i < EXPRESSIONS; i++) {
            const char *expression = draw_expression(dice);
            struct timetable table = must_table(expression, zone_name);
            naive_slots(&minutes, expression, due);
            expect_slots(&table, &minutes, due, FIRST,
                         PLACE(str_format(test_arena(), "%s %s from %lld", expression, zone_name,
                                          (long long)from)
                                   .s));
        }
    }
}
