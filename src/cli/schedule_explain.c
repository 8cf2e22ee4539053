// pawl schedule explain: an expression before it goes into a configuration.
#include <stdio.h>

#include "base/calendar.h"
#include "base/time_text.h"
#include "cli/output.h"
#include "cli/schedule.h"
#include "cli/value.h"
#include "engine/zone_load.h"
#include "model/json_field.h"
#include "server/schedule_json.h"

enum { SLOTS_SHOWN = 10 };

// `every 15m` and `15m` are intervals, everything else is cron.
static bool read_expression(struct str text, struct timetable *timetable, struct pawl_error *err)
{
    struct str prefix = S("every ");
    int64_t ignored;
    if (str_starts(text, prefix))
        return timetable_every((struct str){ text.s + prefix.n, text.n - prefix.n }, timetable,
                               err);
    if (duration_parse(text, &ignored))
        return timetable_every(text, timetable, err);
    return cron_parse(text, &timetable->cron, err);
}

static bool print_slots_json(struct cli *cli, const struct timetable *timetable,
                             const pawl_time *slots, size_t count, struct pawl_error *err)
{
    json_t *items = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(items, slot_json(&cli->arena, timetable, slots[i]));
    const struct json_field fields[] = {
        { "expression", json_text_or_null(cli->words[1]) },
        { "timezone", json_text_or_null(zone_name(timetable->zone)) },
        { "words", json_text_or_null(timetable_words(&cli->arena, timetable)) },
        { "items", items },
    };
    return print_json(&cli->arena, json_object_of(fields, countof(fields)), err);
}

static struct str weekday_text(const struct zone *zone, pawl_time time)
{
    static const char *const names[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    int64_t instant = floor_div(time, SECONDS(1));
    int64_t local = instant + zone_span(zone, instant).offset;
    return str_of(names[weekday_of(floor_div(local, DAY_SECONDS))]);
}

static void print_slots(struct cli *cli, const struct timetable *timetable,
                        const pawl_time *slots, size_t count)
{
    static const char *const headings[] = { "SLOT", "LOCAL", "DAY", "NOTE" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    for (size_t i = 0; i < count; i++) {
        table_add(&table, time_text(&cli->arena, slots[i]));
        table_add(&table, zone_time_text(&cli->arena, timetable->zone, slots[i]));
        table_add(&table, weekday_text(timetable->zone, slots[i]));
        table_add(&table, slot_note(clock_change_name(timetable_shift(timetable, slots[i]))));
    }
    printf("%.*s\n\n", STR(timetable_words(&cli->arena, timetable)));
    table_print_list(&table, "none will come");
}

// Both words are judged, whatever is wrong with the first.
static bool read_words(struct cli *cli, struct timetable *timetable, struct pawl_error *err)
{
    struct pawl_error why;
    const struct zone *zone = zone_utc();
    if (!read_expression(cli->words[1], timetable, &why))
        problem_add(&cli->problems, "EXPR", "%s", why.message);
    if (cli->given[OPTION_TIMEZONE]
        && !zone_load(&cli->arena, cli->value[OPTION_TIMEZONE], &zone, &why))
        problem_add(&cli->problems, "--timezone", "%s", why.message);
    timetable->zone = zone;
    return problems_none(&cli->problems, err);
}

bool schedule_explain(struct cli *cli, struct pawl_error *err)
{
    struct timetable timetable = {0};
    size_t wanted = SLOTS_SHOWN, count = 0;
    if (cli->given[OPTION_COUNT])
        wanted = (size_t)value_number(cli, OPTION_COUNT);
    pawl_time *slots = arena_new(&cli->arena, pawl_time, wanted);
    if (!slots)
        return fail(err, PAWL_NO_MEMORY, "no memory for %zu slots", wanted);
    if (!read_words(cli, &timetable, err))
        return false;
    pawl_time now = world_wall(cli->world);
    pawl_time at = cli->given[OPTION_FROM] ? value_time(cli, OPTION_FROM, now) - 1 : now;
    for (; count < wanted && timetable_next(&timetable, at, &at); count++)
        slots[count] = at;
    if (cli->given[OPTION_JSON])
        return print_slots_json(cli, &timetable, slots, count, err);
    print_slots(cli, &timetable, slots, count);
    return true;
}
