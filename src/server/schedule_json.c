// A slot is an instant: people want to know what their clock shows then, and whether it was set
// forward or back.
#include "server/schedule_json.h"

#include "model/json_field.h"

const char *clock_change_name(enum slot_shift shift)
{
    static const char *const names[] = {
        [SLOT_AFTER_GAP] = "after_gap",
        [SLOT_FIRST_OF_TWO] = "first_of_two",
    };
    return names[shift];
}

json_t *slot_json(struct arena *arena, const struct timetable *timetable, pawl_time slot)
{
    const struct zone *zone = timetable->zone ? timetable->zone : zone_utc();
    const char *change = clock_change_name(timetable_shift(timetable, slot));
    const struct json_field fields[] = {
        { "scheduled_for", json_time_or_null(arena, slot) },
        { "local_time", json_text_or_null(zone_time_text(arena, zone, slot)) },
        { "clock_change", json_text_or_null(str_of(change)) },
    };
    return json_object_of(fields, countof(fields));
}

bool slots_json(struct arena *arena, const struct schedule *schedule,
                const struct slot_range *range, json_t **list, struct pawl_error *err)
{
    struct timetable timetable;
    pawl_time slot = range->after;
    if (!schedule_timetable(arena, schedule, &timetable, err))
        return false;
    *list = json_array();
    for (size_t i = 0; i < range->count && timetable_next(&timetable, slot, &slot); i++)
        json_array_append_new(*list, slot_json(arena, &timetable, slot));
    return *list || fail(err, PAWL_NO_MEMORY, "no memory for the slots");
}

json_t *backfill_json(struct arena *arena, const struct backfill *b)
{
    json_t *claimed = json_array(), *taken = json_array();
    for (size_t i = 0; i < b->claimed_count; i++) {
        struct str job = b->dry_run ? S("") : id_text(arena, b->jobs[i]);
        const struct json_field fields[] = {
            { "scheduled_for", json_time_or_null(arena, b->claimed[i]) },
            { "job_id", json_text_or_null(job) },
        };
        json_array_append_new(claimed, json_object_of(fields, countof(fields)));
    }
    for (size_t i = 0; i < b->taken_count; i++)
        json_array_append_new(taken, json_time_or_null(arena, b->taken[i]));
    const struct json_field fields[] = {
        { "dry_run", json_boolean(b->dry_run) },
        { "count", json_integer((json_int_t)b->claimed_count) },
        { "claimed", claimed },
        { "taken", taken },
    };
    return json_object_of(fields, countof(fields));
}
