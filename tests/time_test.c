// Worlds, times, durations, and the ids that are made of them.

#include "test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/id.h"
#include "base/time_text.h"
#include "base/world.h"

static const struct str nothing = { NULL, 0 };

// Dice that roll the same in every run.
static uint64_t roll(struct virtual_world *dice)
{
    if (!dice->world.self)
        virtual_world_init(dice, 0, 1);
    return world_random(&dice->world);
}

TEST(a_virtual_world_moves_only_when_told_to)
{
    struct virtual_world virtual;
    virtual_world_init(&virtual, SECONDS(1000), 7);
    const struct world *world = &virtual.world;
    EXPECT_INT(world_wall(world), SECONDS(1000));
    EXPECT_INT(world_wall(world), SECONDS(1000));
    int64_t before = world_monotonic(world);
    world_pass(&virtual, MINUTES(2));
    EXPECT_INT(world_wall(world), SECONDS(1120));
    EXPECT_INT(world_monotonic(world) - before, MINUTES(2));
    world_sleep(world, SECONDS(5));
    world_sleep(world, -SECONDS(5));
    EXPECT_INT(world_wall(world), SECONDS(1125));
}

TEST(a_virtual_calendar_jumps_while_its_monotonic_clock_does_not)
{
    struct virtual_world virtual;
    virtual_world_init(&virtual, DAYS(20000), 7);
    int64_t before = world_monotonic(&virtual.world);
    world_jump(&virtual, -HOURS(1));
    EXPECT_INT(world_wall(&virtual.world), DAYS(20000) - HOURS(1));
    EXPECT_INT(world_monotonic(&virtual.world), before);
}

TEST(virtual_dice_repeat_by_their_seed)
{
    struct virtual_world a, b, other;
    unsigned char bytes[2][13];
    virtual_world_init(&a, 0, 1);
    virtual_world_init(&b, 0, 1);
    virtual_world_init(&other, 0, 2);
    for (int i = 0; i < 100; i++) {
        uint64_t number = world_random(&a.world);
        EXPECT(number == world_random(&b.world));
        EXPECT(number != world_random(&other.world) && number != world_random(&other.world));
    }
    a.world.random(a.world.self, bytes[0], sizeof(bytes[0]));
    b.world.random(b.world.self, bytes[1], sizeof(bytes[1]));
    EXPECT(memcmp(bytes[0], bytes[1], sizeof(bytes[0])) == 0);
}

TEST(the_real_world_has_a_calendar_chance_and_a_clock_that_never_goes_back)
{
    const struct world *world = world_real();
    static const unsigned char zeros[100];
    unsigned char bytes[1000] = {0};
    EXPECT(world_wall(world) > DAYS(365 * 50));
    EXPECT(world_random(world) != world_random(world));
    world->random(world->self, bytes, sizeof(bytes));
    EXPECT(memcmp(bytes, zeros, 100) != 0 && memcmp(bytes + 900, zeros, 100) != 0);
    int64_t last = world_monotonic(world);
    for (int i = 0; i < 10000; i++) {
        int64_t now = world_monotonic(world);
        EXPECT(now >= last);
        last = now;
    }
}

static void ignore(int number)
{
    (void)number;
}

TEST(a_real_sleep_is_not_ended_by_a_signal)
{
    const struct world *world = world_real();
    struct sigaction action = { .sa_handler = ignore }, old;
    struct itimerval every_ms = { { 0, 1000 }, { 0, 1000 } }, never = {0};
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &every_ms, NULL);
    int64_t before = world_monotonic(world);
    world_sleep(world, MILLISECONDS(20));
    int64_t slept = world_monotonic(world) - before;
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    EXPECT(slept >= MILLISECONDS(20));
    world_sleep(world, 0);
    world_sleep(world, -1);
}

TEST(units_of_time_hold_a_hundred_years)
{
    EXPECT_INT(DAYS(36525), INT64_C(36525) * 86400 * 1000000);
    EXPECT_INT(HOURS(1) - MINUTES(59) - SECONDS(59) - MILLISECONDS(999), 1000);
}

TEST(an_id_has_the_layout_of_uuid_version_7)
{
    struct id id;
    EXPECT(id_parse(S("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), &id));  // of RFC 9562
    EXPECT_INT(id.high, INT64_C(0x017f22e279b0) << 12 | 0xcc3);
    EXPECT_INT(id.low, INT64_C(0x18c4dc0c0c07398f));
    EXPECT_STR(id_text(test_arena(), id), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(ids_survive_their_text)
{
    struct virtual_world dice = {0};
    char text[ID_TEXT + 1];
    for (int i = 0; i < 100000; i++) {
        struct id id = { (int64_t)(roll(&dice) >> 4), (int64_t)(roll(&dice) >> 2) }, again;
        id_format(id, text);
        EXPECT(strlen(text) == ID_TEXT && uuid_valid(str_of(text)));
        EXPECT(id_parse(str_of(text), &again) && id_eq(id, again));
    }
    id_format((struct id){ 0, 0 }, text);
    EXPECT_STR(str_of(text), "00000000-0000-7000-8000-000000000000");
    id_format((struct id){ INT64_MAX >> 3, INT64_MAX >> 1 }, text);
    EXPECT_STR(str_of(text), "ffffffff-ffff-7fff-bfff-ffffffffffff");
}

TEST(ids_of_any_other_form_are_refused)
{
    static const char *const bad[] = {
        "", "x", "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
        "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",  // version 4
        "017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "017f22e2-79b0-7cc3-d8c4-dc0c0c07398f",  // variants
        "017f22e279b07cc398c4dc0c0c07398f", "017f22e2079b0-7cc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398g", "017f22e-279b0-7cc3-98c4-dc0c0c07398f",
        "{17f22e2-79b0-7cc3-98c4-dc0c0c07398}", "017f22e2-79b0-7cc3-98c4-dc0c0c-7398f",
        "017f22e2 79b0-7cc3-98c4-dc0c0c07398f", "-17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    };
    struct id id;
    for (size_t i = 0; i < countof(bad); i++)
        expect(!id_parse(str_of(bad[i]), &id), PLACE(bad[i]));
    EXPECT(!id_parse(nothing, &id));
    EXPECT(!id_parse(S("017f22e2-79b0-7cc3-98c4-dc0c0c07398\0"), &id));
}

TEST(ids_rise_with_the_clock_without_it_and_against_it)
{
    int64_t last = 0;
    struct id id = id_after(last, MILLISECONDS(5) + 999, 1);
    EXPECT_INT(id.high, 5 << 12);
    for (int i = 0; i < 10000; i++) {  // more than one millisecond has room for
        last = id.high;
        id = id_after(last, MILLISECONDS(5), 1);
        EXPECT_INT(id.high, last + 1);
    }
    EXPECT_INT(id_after(id.high, MILLISECONDS(4), 1).high, id.high + 1);
    EXPECT_INT(id_after(id.high, -SECONDS(1), 1).high, id.high + 1);
    EXPECT_INT(id_after(id.high, MILLISECONDS(500), 1).high, 500 << 12);
}

TEST(ids_stay_in_their_bits_at_the_end_of_time)
{
    struct id id = id_after(0, INT64_MAX, UINT64_MAX);
    EXPECT_INT(id.high, INT64_MAX >> 3);
    EXPECT_INT(id.low, INT64_MAX >> 1);
    EXPECT_INT(id_after((INT64_MAX >> 3) - 1, 0, 0).high, INT64_MAX >> 3);
}

TEST(ids_are_equal_in_both_numbers)
{
    EXPECT(id_eq((struct id){ 1, 2 }, (struct id){ 1, 2 }));
    EXPECT(!id_eq((struct id){ 1, 2 }, (struct id){ 1, 3 }));
    EXPECT(!id_eq((struct id){ 1, 2 }, (struct id){ 2, 2 }));
}

TEST(uuids_are_any_version_in_lower_case)
{
    EXPECT(uuid_valid(S("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")));
    EXPECT(uuid_valid(S("00000000-0000-0000-0000-000000000000")));
    EXPECT(uuid_valid(S("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")));
    EXPECT(!uuid_valid(S("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")));
    EXPECT(!uuid_valid(S("f81d4fae-7dec-11d0-a765-00a0c91e6bf")));
    EXPECT(!uuid_valid(S("f81d4fae7dec11d0a76500a0c91e6bf6")));
    EXPECT(!uuid_valid(S("g81d4fae-7dec-11d0-a765-00a0c91e6bf6")));
    EXPECT(!uuid_valid(nothing));
}

TEST(times_are_read_in_every_form_of_rfc_3339)
{
    static const struct { const char *text; pawl_time time; } good[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "1970-01-01T00:00:00.000001Z", 1 },
        { "2026-08-22T10:00:00Z", SECONDS(1787392800) },
        { "2026-08-22t10:00:00z", SECONDS(1787392800) },
        { "2026-08-22T10:00:00-00:00", SECONDS(1787392800) },
        { "2026-08-22T12:00:00+02:00", SECONDS(1787392800) },
        { "2026-08-22T04:30:00-05:30", SECONDS(1787392800) },
        { "2026-08-23T09:59:00+23:59", SECONDS(1787392800) },
        { "2026-08-22T10:00:00.5Z", SECONDS(1787392800) + 500000 },
        { "2026-08-22T10:00:00.123456Z", SECONDS(1787392800) + 123456 },
        { "2026-08-22T10:00:00.1234569999999999999999999Z", SECONDS(1787392800) + 123456 },
        { "2026-08-22T10:00:00.000000999Z", SECONDS(1787392800) },
        { "2000-02-29T00:00:00Z", SECONDS(951782400) },
        { "2024-02-29T23:59:59Z", SECONDS(1709251199) },
        { "2016-12-31T23:59:60Z", SECONDS(1483228800) },
        { "2016-12-31T23:59:60.999Z", SECONDS(1483228800) },
        { "2017-01-01T00:59:60+01:00", SECONDS(1483228800) },
        { "1969-12-31T23:00:00-01:00", 0 },
        { "9999-12-31T23:59:59.999999Z", SECONDS(253402300800) - 1 },
    };
    for (size_t i = 0; i < countof(good); i++) {
        pawl_time time = -1;
        expect(time_parse(str_of(good[i].text), &time), PLACE(good[i].text));
        expect_int(time, good[i].time, PLACE(good[i].text));
    }
}

TEST(times_that_are_incomplete_or_do_not_exist_are_refused)
{
    static const char *const bad[] = {
        "", "2026-08-22", "2026-08-22T10:00Z", "2026-08-22T10:00:00", "10:00:00Z",
        "2026-08-22 10:00:00Z", " 2026-08-22T10:00:00Z", "2026-08-22T10:00:00Z ",
        "2026-08-22T10:00:00ZZ", "2026-08-22T10:00:00.Z", "2026-08-22T10:00:00,5Z",
        "2026-08-22T10:00:00+0200", "2026-08-22T10:00:00+02", "2026-08-22T10:00:00+2:00",
        "2026-08-22T10:00:00+24:00", "2026-08-22T10:00:00+02:60", "2026-08-22T10:00:00 +02:00",
        "2026-8-22T10:00:00Z", "26-08-22T10:00:00Z", "+2026-08-22T10:00:00Z", "20260822T100000Z",
        "2026-00-22T10:00:00Z", "2026-13-22T10:00:00Z", "2026-08-00T10:00:00Z",
        "2026-08-32T10:00:00Z", "2026-04-31T10:00:00Z", "2026-02-29T10:00:00Z",
        "2024-02-30T10:00:00Z", "2100-02-29T10:00:00Z", "2026-08-22T24:00:00Z",
        "2026-08-22T10:60:00Z", "2026-08-22T10:00:61Z", "2026-08-22T10:00:60Z",
        "2026-08-22T23:59:60+01:00", "1969-12-31T23:59:59Z", "1970-01-01T00:59:59+01:00",
        "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z",
        "10000-01-01T00:00:00Z", "2026-08-22T1a:00:00Z", "2026-08-22T10:00:00.1aZ",
        "2026/08/22T10:00:00Z", "2026-08-22T10.00.00Z", "-026-08-22T10:00:00Z",
    };
    pawl_time time;
    for (size_t i = 0; i < countof(bad); i++)
        expect(!time_parse(str_of(bad[i]), &time), PLACE(bad[i]));
    EXPECT(!time_parse(nothing, &time));
    EXPECT(!time_parse(S("2026-08-22T10:00:00\0"), &time));
    EXPECT(!time_parse(S("2026-08-22\0T10:00:00Z"), &time));
}

// Every prefix and every single wrong character of a good time, so that no byte goes unread.
TEST(times_with_any_one_wrong_byte_are_refused)
{
    char text[] = "2026-08-22T10:00:00.123+02:00";
    pawl_time time;
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        EXPECT(!time_parse((struct str){ text, i }, &time));
        char good = text[i];
        text[i] = '/';
        EXPECT(!time_parse(str_of(text), &time));
        text[i] = '\0';
        EXPECT(!time_parse((struct str){ text, sizeof(text) - 1 }, &time));
        text[i] = good;
    }
    EXPECT(time_parse(str_of(text), &time));
}

static int days_in(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

TEST(times_follow_the_calendar_from_1970_to_9999)
{
    SCOPED(arena) struct arena arena = {0};
    int64_t day = 0;
    char expected[64];
    for (int year = 1970; year <= 9999; year++) {
        for (int month = 1; month <= 12; month++) {
            pawl_time first = DAYS(day), last, time;
            day += days_in(year, month);
            last = DAYS(day) - 1;
            snprintf(expected, sizeof(expected), "%04d-%02d-01T00:00:00.000Z", year, month);
            EXPECT(str_eq(time_text(&arena, first), str_of(expected)));
            EXPECT(time_parse(str_of(expected), &time) && time == first);
            snprintf(expected, sizeof(expected), "%04d-%02d-%02dT23:59:59.999Z", year, month,
                     days_in(year, month));
            EXPECT(str_eq(time_text(&arena, last), str_of(expected)));
            EXPECT(time_parse(str_of(expected), &time) && time == last - 999);
            snprintf(expected, sizeof(expected), "%04d-%02d-%02dT00:00:00.000Z", year, month,
                     days_in(year, month) + 1);
            EXPECT(!time_parse(str_of(expected), &time));
            arena_reset(&arena);
        }
    }
}

TEST(times_survive_their_text_to_the_millisecond)
{
    struct virtual_world dice = {0};
    SCOPED(arena) struct arena arena = {0};
    for (int i = 0; i < 100000; i++) {
        pawl_time time = (pawl_time)(roll(&dice) % (uint64_t)SECONDS(253402300800)), again;
        struct str text = time_text(&arena, time);
        EXPECT_INT(text.n, 24);
        EXPECT(time_parse(text, &again));
        EXPECT_INT(again, time - time % 1000);
        arena_reset(&arena);
    }
}

TEST(times_with_an_offset_are_the_same_instant)
{
    struct virtual_world dice = {0};
    SCOPED(arena) struct arena arena = {0};
    for (int i = 0; i < 20000; i++) {
        pawl_time utc = DAYS(2) + (pawl_time)(roll(&dice) % (uint64_t)DAYS(2000000)), time;
        int minutes = (int)(roll(&dice) % 2879) - 1439, size = minutes < 0 ? -minutes : minutes;
        struct str local = time_text(&arena, utc + MINUTES(minutes));
        struct str text = str_format(&arena, "%.23s%c%02d:%02d", local.s, minutes < 0 ? '-' : '+',
                                     size / 60, size % 60);
        EXPECT(time_parse(text, &time));
        EXPECT_INT(time, utc - utc % 1000);
        arena_reset(&arena);
    }
}

TEST(times_before_1970_can_still_be_shown)
{
    EXPECT_STR(time_text(test_arena(), -1), "1969-12-31T23:59:59.999Z");
    EXPECT_STR(time_text(test_arena(), -DAYS(1)), "1969-12-31T00:00:00.000Z");
    EXPECT_STR(time_text(test_arena(), -DAYS(719528)), "0000-01-01T00:00:00.000Z");
    EXPECT(time_text(test_arena(), INT64_MAX).n > 24);
    EXPECT(time_text(test_arena(), INT64_MIN).n > 24);
}

TEST(durations_are_a_whole_number_and_a_unit)
{
    static const struct { const char *text; int64_t microseconds; } good[] = {
        { "0s", 0 }, { "500ms", 500000 }, { "5s", SECONDS(5) }, { "2m", MINUTES(2) },
        { "1h", HOURS(1) }, { "7d", DAYS(7) }, { "0090s", SECONDS(90) }, { "36525d", DAYS(36525) },
        { "3155760000000ms", DAYS(36525) },
    };
    static const char *const bad[] = {
        "", "5", "s", "ms", "-5s", "+5s", " 5s", "5s ", "5 s", "1.5s", "5S", "5M", "5us", "5sec",
        "1h30m", "5w", "36526d", "3155760000001ms", "99999999999999999999d", "1e3s", "0x5s",
        "9223372036854775808ms", "18446744073709551617s",
    };
    int64_t microseconds;
    for (size_t i = 0; i < countof(good); i++) {
        expect(duration_parse(str_of(good[i].text), &microseconds), PLACE(good[i].text));
        expect_int(microseconds, good[i].microseconds, PLACE(good[i].text));
    }
    for (size_t i = 0; i < countof(bad); i++)
        expect(!duration_parse(str_of(bad[i]), &microseconds), PLACE(bad[i]));
    EXPECT(!duration_parse(nothing, &microseconds));
    EXPECT(!duration_parse(S("5s\0"), &microseconds));
}

TEST(durations_are_written_in_the_shortest_exact_form)
{
    static const struct { int64_t microseconds; const char *text; } rows[] = {
        { 0, "0s" }, { SECONDS(90), "90s" }, { SECONDS(120), "2m" }, { 1500, "1.5ms" },
        { 1, "0.001ms" }, { 10, "0.01ms" }, { 1234567, "1234.567ms" }, { 1000, "1ms" },
        { 1500000, "1500ms" }, { HOURS(1), "1h" }, { HOURS(36), "36h" }, { DAYS(7), "7d" },
        { MINUTES(90), "90m" }, { -SECONDS(90), "-90s" }, { -1500, "-1.5ms" },
        { INT64_MAX, "9223372036854775.807ms" }, { INT64_MIN, "-9223372036854775.808ms" },
    };
    for (size_t i = 0; i < countof(rows); i++)
        expect_str(duration_text(test_arena(), rows[i].microseconds), str_of(rows[i].text),
                   PLACE(rows[i].text));
}

TEST(durations_of_whole_milliseconds_survive_their_text)
{
    struct virtual_world dice = {0};
    SCOPED(arena) struct arena arena = {0};
    static const int64_t steps[] = { MILLISECONDS(1), SECONDS(1), MINUTES(1), HOURS(1), DAYS(1) };
    for (int i = 0; i < 20000; i++) {
        int64_t step = steps[i % (int)countof(steps)], again;
        int64_t duration = (int64_t)(roll(&dice) % (uint64_t)(DAYS(36525) / step)) * step;
        EXPECT(duration_parse(duration_text(&arena, duration), &again));
        EXPECT_INT(again, duration);
        arena_reset(&arena);
    }
}
