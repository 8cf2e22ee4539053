// Slots are found in local time and brought back to UTC. Both ways go through the same clock, one
// that never goes back (zone_reached, zone_first): so the slot before and the slot after an instant
// are two views of one list.
#include "model/timetable.h"

#include "base/calendar.h"
#include "base/time_text.h"

static const pawl_time slots_end = SECONDS(253402300800);  // the year 10000

static const struct zone *zone_of(const struct timetable *timetable)
{
    return timetable->zone ? timetable->zone : zone_utc();
}

bool timetable_every(struct str text, struct timetable *timetable, struct pawl_error *err)
{
    int64_t every_us = 0;
    if (!duration_parse(text, &every_us))
        return fail(err, PAWL_INVALID, "`%.*s` is no interval: it must be a number with one of the "
                                       "units ms s m h d, such as 15m",
                    STR(text));
    if (every_us < EVERY_US_MIN || every_us > EVERY_US_MAX)
        return fail(err, PAWL_INVALID, "an interval must be 1s to 366d, not %.*s", STR(text));
    *timetable = (struct timetable){ .interval = true, .every_us = every_us };
    return true;
}

bool timetable_next(const struct timetable *timetable, pawl_time after, pawl_time *slot)
{
    pawl_time from = after < 0 ? -1 : after;
    int64_t local = 0;
    if (from >= slots_end)
        return false;
    if (timetable->interval) {
        *slot = (floor_div(from, timetable->every_us) + 1) * timetable->every_us;
        return *slot < slots_end;
    }
    const struct zone *zone = zone_of(timetable);
    int64_t reached = zone_reached(zone, floor_div(from, SECONDS(1)));
    if (!cron_next(&timetable->cron, reached + 1, &local))
        return false;
    *slot = SECONDS(zone_first(zone, local));
    return *slot < slots_end;
}

bool timetable_last(const struct timetable *timetable, pawl_time at, pawl_time *slot)
{
    pawl_time until = at < slots_end ? at : slots_end - 1;
    int64_t local = 0;
    if (until < 0)
        return false;
    if (timetable->interval) {
        *slot = until - until % timetable->every_us;
        return true;
    }
    const struct zone *zone = zone_of(timetable);
    if (!cron_last(&timetable->cron, zone_reached(zone, until / SECONDS(1)), &local))
        return false;
    *slot = SECONDS(zone_first(zone, local));
    return *slot >= 0;
}

enum slot_shift timetable_shift(const struct timetable *timetable, pawl_time slot)
{
    if (timetable->interval)
        return SLOT_REGULAR;
    const struct zone *zone = zone_of(timetable);
    int64_t instant = floor_div(slot, SECONDS(1)), next = 0;
    struct zone_span span = zone_span(zone, instant);
    int64_t local = instant + span.offset;
    if (!cron_next(&timetable->cron, local, &next) || next != local)
        return SLOT_AFTER_GAP;
    // The end of the span is past this time, and then the clock goes back to before it.
    bool again = span.until + zone_span(zone, span.until).offset <= local;
    return again ? SLOT_FIRST_OF_TWO : SLOT_REGULAR;
}

struct str timetable_words(struct arena *arena, const struct timetable *timetable)
{
    if (timetable->interval)
        return str_format(arena, "every %.*s, counted from 1970-01-01T00:00:00Z",
                          STR(duration_text(arena, timetable->every_us)));
    return str_format(arena, "%.*s, %.*s", STR(cron_words(arena, &timetable->cron)),
                      STR(zone_name(zone_of(timetable))));
}
