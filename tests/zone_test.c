// Time zones: offsets as the C library has them, gaps and overlaps, and files that are none.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tzdata.h"
#include "base/world.h"
#include "engine/zone_load.h"
#include "model/zone_rule.h"
#include "process.h"
#include "rehearsal.h"
#include "zones.h"

enum { HOUR = 3600, DAY = 86400, YEAR = 31556952 };

// ----- against the C library

static void expect_offset(const struct zone *zone, int64_t instant)
{
    int64_t ours = instant + zone_span(zone, instant).offset, theirs = clock_local(instant);
    expect(ours == theirs, PLACE(str_format(test_arena(), "%.*s at %lld: local %lld, not %lld",
                                            STR(zone_name(zone)), (long long)instant,
                                            (long long)ours, (long long)theirs)
                                     .s));
}

// Every change from 1970 on to far beyond the end of the lists, and the seconds around it.
TEST(SLOT_zone_offsets_are_those_of_the_c_library)
{
    struct zone_names all = zone_names();
    for (size_t i = 0; i < all.count; i++) {
        const struct zone *zone = must_zone(all.names[i]);
        int64_t instant = 0, end = (int64_t)200 * YEAR;
        clock_in(all.names[i]);
        while (instant < end) {
            struct zone_span span = zone_span(zone, instant);
            EXPECT(span.from <= instant && instant < span.until);
            int64_t until = span.until < end ? span.until : end;
            expect_offset(zone, instant);
            expect_offset(zone, instant + (until - instant) / 2);
            expect_offset(zone, until - 1);
            instant = until;
        }
    }
}

TEST(SLOT_zone_offsets_at_random_instants)
{
    struct zone_names all = zone_names();
    uint64_t dice = 7;
    for (size_t i = 0; i < all.count; i++) {
        const struct zone *zone = must_zone(all.names[i]);
        clock_in(all.names[i]);
        for (int n = 0; n < 200; n++)
            expect_offset(zone, draw(&dice, (int64_t)500 * YEAR));
    }
}

// ----- gaps and overlaps

TEST(SLOT_zone_first_and_reached)
{
    static const struct { const char *zone, *local, *instant; } rows[] = {
        // A regular day, a gap of an hour and its end.
        { "Europe/Berlin", "2026-01-15T12:00:00Z", "2026-01-15T11:00:00Z" },
        { "Europe/Berlin", "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z" },
        { "Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z" },
        { "Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z" },
        { "Europe/Berlin", "2026-03-29T03:00:01Z", "2026-03-29T01:00:01Z" },
        // An overlap: the first of two, then past the second.
        { "Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z" },
        { "Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z" },
        // After the end of the list: by the rule.
        { "Europe/Berlin", "2150-03-29T02:30:00Z", "2150-03-29T01:00:00Z" },
        { "Australia/Sydney", "2150-10-04T02:30:00Z", "2150-10-03T16:00:00Z" },
        // Half an hour.
        { "Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:30:00Z" },
        { "Australia/Lord_Howe", "2026-04-05T01:45:00Z", "2026-04-04T14:45:00Z" },
        { "Australia/Lord_Howe", "2026-04-05T02:00:00Z", "2026-04-04T15:30:00Z" },
        // A day that was left out.
        { "Pacific/Apia", "2011-12-29T23:59:59Z", "2011-12-30T09:59:59Z" },
        { "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z" },
        { "Pacific/Apia", "2011-12-31T00:00:00Z", "2011-12-30T10:00:00Z" },
        // A gap at midnight.
        { "Africa/Cairo", "2026-04-24T00:00:00Z", "2026-04-23T22:00:00Z" },
        { "Africa/Cairo", "2026-04-24T01:00:00Z", "2026-04-23T22:00:00Z" },
        // Winter is what is saved: the clock still goes ahead in spring.
        { "Europe/Dublin", "2026-03-29T01:30:00Z", "2026-03-29T01:00:00Z" },
        { "Europe/Dublin", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z" },
        // Changes of the offset that are no DST: Moscow goes back, Caracas ahead by half an hour.
        { "Europe/Moscow", "2014-10-26T01:30:00Z", "2014-10-25T21:30:00Z" },
        { "America/Caracas", "2016-05-01T02:45:00Z", "2016-05-01T07:00:00Z" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const struct zone *zone = must_zone(rows[i].zone);
        struct place place = PLACE(str_format(test_arena(), "%s %s", rows[i].zone,
                                              rows[i].local)
                                       .s);
        int64_t local = must_seconds(rows[i].local), instant = must_seconds(rows[i].instant);
        expect_int(zone_first(zone, local), instant, place);
        expect(zone_reached(zone, instant) >= local, place);
        expect(zone_reached(zone, instant - 1) < local, place);
    }
}

// During the second pass of a repeated hour the clock that counts stands still.
TEST(SLOT_zone_reached_stands_still_in_an_overlap)
{
    const struct zone *zone = must_zone("Europe/Berlin");
    int64_t change = must_seconds("2026-10-25T01:00:00Z"), local = change + (int64_t)2 * HOUR;
    EXPECT_INT(zone_reached(zone, change - 1), local - 1);
    EXPECT_INT(zone_reached(zone, change), local - 1);
    EXPECT_INT(zone_reached(zone, change + HOUR - 1), local - 1);
    EXPECT_INT(zone_reached(zone, change + HOUR), local);
}

// Whatever the zone, at and around every change: never back, and the first instant is the first.
static void expect_clock(const struct zone *zone, int64_t instant)
{
    struct place place = PLACE(str_format(test_arena(), "%.*s at %lld", STR(zone_name(zone)),
                                          (long long)instant)
                                   .s);
    int64_t local = instant + zone_span(zone, instant).offset;
    int64_t first = zone_first(zone, local);
    expect(first <= instant, place);
    expect(zone_reached(zone, first) >= local && zone_reached(zone, first - 1) < local, place);
    expect(zone_reached(zone, instant) >= zone_reached(zone, instant - 1), place);
    expect(zone_reached(zone, instant) >= local, place);
}

TEST(SLOT_zone_clock_never_goes_back)
{
    static const int64_t steps[] = { -DAY, -HOUR, -1800, -1, 0, 1, 1800, HOUR, DAY };
    struct zone_names all = zone_names();
    for (size_t i = 0; i < all.count; i++) {
        const struct zone *zone = must_zone(all.names[i]);
        int64_t end = (int64_t)120 * YEAR;
        for (int64_t instant = zone_span(zone, 0).until; instant < end;
             instant = zone_span(zone, instant).until)
            for (size_t n = 0; n < countof(steps); n++)
                expect_clock(zone, instant + steps[n]);
    }
}

// ----- texts

TEST(SLOT_zone_time_as_text)
{
    static const struct { const char *zone, *time, *text; } rows[] = {
        { "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00" },
        { "America/St_Johns", "2026-01-01T00:00:00.5Z", "2025-12-31T20:30:00.500000-03:30" },
        { "Africa/Monrovia", "1971-01-01T00:00:00Z", "1970-12-31T23:15:30-00:44:30" },
        { "Asia/Kathmandu", "1970-01-01T00:00:00Z", "1970-01-01T05:30:00+05:30" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        int64_t fraction = strchr(rows[i].time, '.') ? MILLISECONDS(500) : 0;
        pawl_time time = SECONDS(must_seconds(rows[i].time)) + fraction;
        expect_str(zone_time_text(test_arena(), must_zone(rows[i].zone), time),
                   str_of(rows[i].text), PLACE(rows[i].zone));
    }
    EXPECT_STR(zone_time_text(test_arena(), zone_utc(), -1),
               "1969-12-31T23:59:59.999999+00:00");
}

TEST(SLOT_zone_rules)
{
    static const char *const good[] = {
        "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "IST-1GMT0,M10.5.0,M3.5.0/1", "EST5EDT,0/0,J365/25", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "EET-2EEST,M3.4.4/50,M10.4.4/50", "AAA24:59:59",
    };
    static const char *const bad[] = {
        "", "CET", "CE-1", "-1", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J1", "CET-1CEST,366,1", "CET-1CEST,M3.5.0/168,M10.5.0", "<+01-1", "<>1x",
        "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1:60", "CET-1:",
    };
    struct zone_rule rule;
    struct pawl_error err = {0};
    for (size_t i = 0; i < countof(good); i++)
        expect_done(zone_rule_parse(str_of(good[i]), &rule, &err), &err, PLACE(good[i]));
    for (size_t i = 0; i < countof(bad); i++)
        expect_refused(zone_rule_parse(str_of(bad[i]), &rule, &err), PAWL_INVALID, &err,
                       PLACE(bad[i]));
}

// ----- rules against the C library

// A file with one offset, no changes, and a rule: all its times are by the rule.
static const struct zone *zone_by_rule(const char *rule)
{
    static const char header[44] = { "TZif2"
                                     "\0\0\0\0\0"
                                     "\0\0\0\0\0"
                                     "\0\0\0\0\0"
                                     "\0\0\0\0"
                                     "\0\0\0\0"
                                     "\0\0\0\0"
                                     "\0\0\0\0"
                                     "\0\0\0\1"
                                     "\0\0\0" };
    struct buf bytes = buf_new(test_arena(), 1000);
    struct pawl_error err = {0};
    struct zone *zone = NULL;
    for (int block = 0; block < 2; block++) {
        buf_add(&bytes, (struct str){ header, sizeof(header) });
        buf_add(&bytes, (struct str){ "\0\0\0\0\0\0", 6 });
    }
    buf_addf(&bytes, "\n%s\n", rule);
    MUST(zone_parse(test_arena(), str_of(rule), buf_str(&bytes), &zone, &err));
    return zone;
}

// Days counted with and without the leap day, hours before and after the day.
TEST(SLOT_zone_rules_of_every_form_are_those_of_the_c_library)
{
    static const char *const rules[] = {
        "AAA3BBB,J59,J60", "AAA3BBB,J60/0,J300/0", "AAA3BBB,58,59", "AAA3BBB,59/0,299",
        "AAA-3BBB,J300,J60", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "AAA-2BBB,M3.4.4/50,M10.4.4/50", "AAA1BBB-1:30,M2.1.3,M2.4.5", "AAA0",
    };
    uint64_t dice = 17;
    for (size_t i = 0; i < countof(rules); i++) {
        const struct zone *zone = zone_by_rule(rules[i]);
        clock_by(rules[i]);
        for (int n = 0; n < 5000; n++)
            expect_offset(zone, draw(&dice, (int64_t)100 * YEAR));
        for (int64_t at = 0; at < (int64_t)40 * YEAR; at = zone_span(zone, at).until) {
            expect_offset(zone, at);
            expect_offset(zone, at + 1);
        }
    }
}

// The C library only looks at the changes of one year, so these are by hand.
TEST(SLOT_zone_rules_may_change_the_clock_in_the_next_year)
{
    static const struct { const char *rule, *instant; int64_t offset; } rows[] = {
        { "EST5EDT,0/0,J365/25", "2025-12-31T23:59:59Z", INT64_C(-4) * HOUR },  // summer all year
        { "EST5EDT,0/0,J365/25", "2026-01-01T04:59:59Z", INT64_C(-4) * HOUR },
        { "EST5EDT,0/0,J365/25", "2026-01-01T05:00:00Z", INT64_C(-4) * HOUR },
        { "AAA0BBB,J1/-20,J200", "2025-12-31T03:59:59Z", 0 },
        { "AAA0BBB,J1/-20,J200", "2025-12-31T04:00:00Z", HOUR },
        { "AAA0BBB,J200,J365/30", "2026-01-01T04:59:59Z", HOUR },
        { "AAA0BBB,J200,J365/30", "2026-01-01T05:00:00Z", 0 },
        { "AAA0BBB,J1/-167,J365/167", "2025-12-25T01:00:00Z", HOUR },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        int64_t instant = must_seconds(rows[i].instant);
        struct zone_span span = zone_span(zone_by_rule(rows[i].rule), instant);
        expect_int(span.offset, rows[i].offset, PLACE(rows[i].rule));
        expect(span.from <= instant && instant < span.until, PLACE(rows[i].rule));
    }
}

// ----- names and files

TEST(SLOT_zone_names_that_are_none)
{
    static const struct { const char *name, *said; } rows[] = {
        { "", "there is no time zone ``" },
        { "Mars/Olympus", "it must be an IANA name such as Europe/Berlin or UTC" },
        { "Europe/Berlni", "did you mean Europe/Berlin?" },
        { "europe/berlin", "did you mean Europe/Berlin?" },
        { "Berlin", "did you mean Europe/Berlin?" },
        { "Europe", "there is no time zone `Europe`" },
        { "Europe/", "there is no time zone" },
        { "/Europe/Berlin", "there is no time zone" },
        { "Europe//Berlin", "there is no time zone" },
        { "Europe/Berlin/x", "there is no time zone" },
        { "../zoneinfo/Europe/Berlin", "there is no time zone" },
        { "Europe/../Europe/Berlin", "there is no time zone" },
        { "zone.tab", "there is no time zone" },
        { "Etc/GMT[1", "there is no time zone" },
        { "Etc/GMT{1", "there is no time zone" },
        { "Etc/GMT:1", "there is no time zone" },
        { "Etc/GMT+1~", "there is no time zone" },
        { "leapseconds", "cannot be used: it is cut, or no file of version 2 or later" },
        { "right/Europe/Berlin", "cannot be used: it counts leap seconds" },
        { "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "no time zone" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct pawl_error err = {0};
        const struct zone *zone = NULL;
        bool loaded = zone_load(test_arena(), str_of(rows[i].name), &zone, &err);
        expect(!loaded && err.code == PAWL_INVALID && strstr(err.message, rows[i].said),
               PLACE(str_format(test_arena(), "`%s`: %s", rows[i].name, err.message).s));
    }
}

TEST(SLOT_zone_utc_needs_no_file)
{
    struct pawl_error err = {0};
    const struct zone *zone = NULL;
    EXPECT(setenv("TZDIR", "/nowhere", 1) == 0);
    bool utc = zone_load(test_arena(), S("UTC"), &zone, &err);
    bool berlin = zone_load(test_arena(), S("Europe/Berlin"), &zone, &err);
    EXPECT(unsetenv("TZDIR") == 0);
    EXPECT(utc && !berlin);
    EXPECT_STR(str_of(err.message), "there is no time zone `Europe/Berlin`: in /nowhere are no "
                                    "time zones at all; they are in the package tzdata");
}

TEST(SLOT_zone_directory_that_is_empty_text_is_none)
{
    struct pawl_error err = {0};
    const struct zone *zone = NULL;
    EXPECT(setenv("TZDIR", "", 1) == 0);
    bool loaded = zone_load(test_arena(), S("Europe/Berlin"), &zone, &err);
    EXPECT(unsetenv("TZDIR") == 0);
    MUST(loaded);
}

// A file that is cut anywhere is refused; one with any byte changed is refused or at least
// harmless.
TEST(SLOT_zone_files_that_are_damaged)
{
    struct str bytes;
    struct pawl_error err = {0};
    struct zone *zone = NULL;
    MUST(tzdata_read(test_arena(), S("Europe/Dublin"), &bytes, &err));
    for (size_t n = 0; n < bytes.n; n++)
        EXPECT_REFUSED(PAWL_INVALID, zone_parse(test_arena(), S("cut"),
                                                (struct str){ bytes.s, n }, &zone, &err));
    for (size_t i = 0; i < bytes.n; i++) {
        struct str copy = str_dup(test_arena(), bytes);
        char *changed = arena_array(test_arena(), 1, bytes.n);
        EXPECT(changed);
        memcpy(changed, copy.s, bytes.n);
        changed[i] ^= (char)0xff;
        if (!zone_parse(test_arena(), S("odd"), (struct str){ changed, bytes.n }, &zone, &err))
            continue;
        for (int64_t t = 0; t < (int64_t)100 * YEAR; t += (int64_t)5 * YEAR)
            EXPECT(zone_reached(zone, zone_first(zone, t)) >= t);
    }
}

static char *dublin(size_t *n)
{
    struct str bytes;
    struct pawl_error err = {0};
    MUST(tzdata_read(test_arena(), S("Europe/Dublin"), &bytes, &err));
    char *copy = arena_array(test_arena(), 1, bytes.n);
    EXPECT(copy);
    *n = bytes.n;
    return memcpy(copy, bytes.s, bytes.n);
}

// The times of changes in the second block, of eight bytes each.
TEST(SLOT_zone_files_with_changes_beyond_all_time_are_refused)
{
    static const unsigned char far[] = { 0x80, 0x7f };
    enum { HEADER = 44, TIME_COUNT = 32 };
    for (size_t i = 0; i < countof(far); i++) {
        size_t n = 0;
        struct zone *zone = NULL;
        struct pawl_error err = {0};
        char *bytes = dublin(&n), *header = memmem(bytes + 4, n - 4, "TZif", 4);
        EXPECT(header != NULL);
        size_t count = (unsigned char)header[TIME_COUNT + 2] * 256U
                     + (unsigned char)header[TIME_COUNT + 3];
        EXPECT(count > 2);
        header[HEADER + (i ? (count - 1) * 8 : 0)] = (char)far[i];
        EXPECT_REFUSED(PAWL_INVALID, zone_parse(test_arena(), S("far"), (struct str){ bytes, n },
                                                &zone, &err));
        EXPECT(strstr(err.message, "make no sense") != NULL);
    }
}

TEST(SLOT_zone_files_without_a_rule_go_on_as_their_last_change_says)
{
    size_t n = 0;
    struct zone *zone = NULL;
    struct pawl_error err = {0};
    char *bytes = dublin(&n);
    char *end = memrchr(bytes, '\n', n - 1);
    EXPECT(end != NULL);
    end[1] = '\n';
    size_t left = (size_t)(end + 2 - bytes);
    MUST(zone_parse(test_arena(), S("plain"), (struct str){ bytes, left }, &zone, &err));
    int64_t winter = must_seconds("2500-01-01T00:00:00Z"),
            summer = must_seconds("2500-07-01T00:00:00Z");
    EXPECT_INT(zone_span(zone, winter).offset, zone_span(zone, summer).offset);
}

// A file that cannot be read is no name that is wrong.
TEST(SLOT_zone_files_that_cannot_be_read)
{
    static const char *const names[] = { "Round", "Long" };
    struct scratch scratch = scratch_open();
    EXPECT(symlink("Round", scratch_file(&scratch, "Round")) == 0);
    FILE *file = fopen(scratch_file(&scratch, "Long"), "w");
    EXPECT(file && ftruncate(fileno(file), 2 << 20) == 0 && fclose(file) == 0);
    for (size_t i = 0; i < countof(names); i++) {
        struct pawl_error err = {0};
        struct str bytes;
        EXPECT(setenv("TZDIR", scratch.path, 1) == 0);
        bool read = tzdata_read(test_arena(), str_of(names[i]), &bytes, &err);
        EXPECT(unsetenv("TZDIR") == 0);
        EXPECT(!read && err.code == PAWL_STORE);
        EXPECT(strstr(err.message, "cannot be read") != NULL);
    }
    scratch_close(&scratch);
}

// It must not be taken for a name that is wrong, which nobody would try again.
TEST(SLOT_zone_files_without_memory_are_not_taken_for_wrong_names)
{
    bool reached = true;
    for (int64_t n = 1; reached; n++) {
        SCOPED(arena) struct arena arena = {0};
        struct pawl_error err = {0};
        struct str bytes;
        rehearsal_arenas(n);
        bool read = tzdata_read(&arena, S("Europe/Berlin"), &bytes, &err);
        reached = rehearsal_calm();
        EXPECT(read ? !reached : reached && err.code == PAWL_NO_MEMORY);
    }
}

TEST(SLOT_zone_without_memory_is_refused)
{
    struct str bytes;
    struct pawl_error err = {0};
    bool reached = true;
    MUST(tzdata_read(test_arena(), S("Europe/Berlin"), &bytes, &err));
    for (int64_t n = 1; reached; n++) {
        SCOPED(arena) struct arena arena = {0};
        struct zone *zone = NULL;
        rehearsal_arenas(n);
        bool parsed = zone_parse(&arena, S("Europe/Berlin"), bytes, &zone, &err);
        reached = rehearsal_calm();
        EXPECT(parsed ? !reached || arena.failed : reached && err.code == PAWL_NO_MEMORY);
    }
}
