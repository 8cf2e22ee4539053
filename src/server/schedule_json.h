// What is told of schedules besides the objects of the engine: coming slots, and a backfill. For
// the routes, and for the command line on a store of its own.
#pragma once

#include "engine/slot.h"

struct slot_range {
    pawl_time after;
    size_t count;
};

// A slot as {scheduled_for, local_time, clock_change}, and the first ones after a time as a list.
// The caller owns them.
json_t *slot_json(struct arena *arena, const struct timetable *timetable, pawl_time slot);
CHECKED bool slots_json(struct arena *arena, const struct schedule *schedule,
                        const struct slot_range *range, json_t **list, struct pawl_error *err);

json_t *backfill_json(struct arena *arena, const struct backfill *backfill);

const char *clock_change_name(enum slot_shift shift);  // NULL: none
