// When a schedule is due: a cron expression in a time zone, or every so often.
//
// The instants at which it is due are its slots. A slot of a cron expression is the first instant
// at which the clock on the wall shows a matching time or, when it jumps over it, a later one:
//   - a time inside the gap of a DST change is due once, at the first instant after the gap, and
//     is the same slot as a regular one there;
//   - a time that comes twice is due the first time only.
// The slots of an interval are its multiples since 1970-01-01T00:00:00Z, so that no restart moves
// them. All slots are in the years 1970 to 9999.
#pragma once

#include "base/world.h"
#include "model/cron.h"
#include "model/zone.h"

#define EVERY_US_MIN SECONDS(1)
#define EVERY_US_MAX DAYS(366)

struct timetable {
    bool interval;            // every `every_us`; else by `cron` in `zone`
    int64_t every_us;         // EVERY_US_MIN to EVERY_US_MAX
    struct cron cron;
    const struct zone *zone;  // NULL: UTC
};

// Reads an interval such as 15m. PAWL_INVALID when it is none, or too short or too long.
CHECKED bool timetable_every(struct str text, struct timetable *timetable, struct pawl_error *err);

// The first slot after `after` / the last slot at or before `at`. False when there is none.
bool timetable_next(const struct timetable *timetable, pawl_time after, pawl_time *slot);
bool timetable_last(const struct timetable *timetable, pawl_time at, pawl_time *slot);

// What a change of the clock did to a slot.
enum slot_shift { SLOT_REGULAR,
                  SLOT_AFTER_GAP,      // its time did not come: it is due when the gap is over
                  SLOT_FIRST_OF_TWO }; // its time comes twice: this is the first
enum slot_shift timetable_shift(const struct timetable *timetable, pawl_time slot);

// In words: `every 7 minutes from 9:00 to 17:59, Monday to Friday, Europe/Berlin`.
struct str timetable_words(struct arena *arena, const struct timetable *timetable);
