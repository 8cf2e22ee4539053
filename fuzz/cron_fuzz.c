// Any bytes as a cron expression: it is refused, or its slots keep their promises, in zones and at
// times at which clocks are set.
#include <assert.h>

#include "base/arena.h"
#include "base/tzdata.h"
#include "fuzz/fuzz.h"
#include "model/timetable.h"

static const char *const zone_names[] = { "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia",
                                          "Africa/Cairo" };

static const struct zone *zone_at(size_t index)
{
    static struct arena forever;
    static struct zone *zones[countof(zone_names)];
    struct str bytes, name = str_of(zone_names[index]);
    if (!zones[index]) {
        bool read = tzdata_read(&forever, name, &bytes, NULL)
            && zone_parse(&forever, name, bytes, &zones[index], NULL);
        assert(read);
    }
    return zones[index];
}

// The slots around an instant are one list, whichever way it is walked.
static void walk(const struct timetable *timetable, pawl_time at)
{
    pawl_time next = 0, last = 0, again = 0;
    if (timetable_next(timetable, at, &next)) {
        bool found = timetable_last(timetable, next, &again);
        assert(next > at && found && again == next);
    }
    if (timetable_last(timetable, at, &last)) {
        bool found = timetable_next(timetable, last - 1, &again);
        assert(last <= at && found && again == last);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const int64_t starts[] = { 0, 1325237400, 1774744200, 1776981600, 1792888200,
                                      1802278800, 253402300799 };
    SCOPED(arena) struct arena arena = {0};
    struct timetable timetable = {0};
    struct pawl_error err = {0};
    if (!cron_parse((struct str){ (const char *)bytes, n }, &timetable.cron, &err)) {
        assert(err.code == PAWL_INVALID && err.message[0]);
        return 0;
    }
    assert(cron_words(&arena, &timetable.cron).n > 0);
    for (size_t zone = 0; zone < countof(zone_names); zone++) {
        timetable.zone = zone_at(zone);
        for (size_t i = 0; i < countof(starts); i++)
            walk(&timetable, SECONDS(starts[i]));
    }
    return 0;
}
