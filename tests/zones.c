// The C library reads the same files with a program of its own, which makes it a witness.
#include "zones.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time_text.h"
#include "base/tzdata.h"
#include "test.h"

enum { ZONES_MAX = 1000 };

struct zone_names zone_names(void)
{
    struct zone_names all = { .names = arena_new(test_arena(), const char *, ZONES_MAX) };
    struct str list = test_file_at("/usr/share/zoneinfo/zone.tab"), line, code, place, name;
    EXPECT(all.names);
    all.names[all.count++] = "UTC";
    for (bool more = true; more;) {
        more = str_cut(list, '\n', &line, &list);
        if (str_starts(line, S("#")) || !str_cut(line, '\t', &code, &line)
            || !str_cut(line, '\t', &place, &line))
            continue;
        (void)str_cut(line, '\t', &name, &line);  // a remark may follow
        EXPECT(all.count < ZONES_MAX);
        all.names[all.count++] = str_cstr(test_arena(), name);
    }
    EXPECT(all.count > 300);
    return all;
}

const struct zone *must_zone(const char *name)
{
    struct pawl_error err = {0};
    struct zone *zone = NULL;
    struct str bytes;
    MUST(tzdata_read(test_arena(), str_of(name), &bytes, &err));
    MUST(zone_parse(test_arena(), str_of(name), bytes, &zone, &err));
    return zone;
}

void clock_by(const char *rule)
{
    EXPECT(setenv("TZ", rule, 1) == 0);
    tzset();
}

void clock_in(const char *name)
{
    clock_by(str_format(test_arena(), ":%s", name).s);
}

int64_t clock_local(int64_t instant)
{
    struct tm tm;
    time_t time = instant;
    EXPECT(localtime_r(&time, &tm));
    return timegm(&tm);
}

int64_t must_seconds(const char *text)
{
    pawl_time time = 0;
    expect(time_parse(str_of(text), &time), PLACE(text));
    return time / SECONDS(1);
}

int64_t draw(uint64_t *dice, int64_t below)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*dice >> 33) % (uint64_t)below);
}
