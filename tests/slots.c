// Words for tests of slots.
#include "slots.h"

#include <stdio.h>

const struct instance me = { .name = { "one", 3 }, .boot_id = { "boot-1", 6 } };

struct schedule every_five_minutes(void)
{
    return (struct schedule){
        .name = S("ingest"),
        .job_type = S("brief.ingest"),
        .every_us = MINUTES(5),
        .coalesce_said = true,
        .coalesce = true,
        .misfire_grace_us = MINUTES(5),
        .max_instances = 1,
        .expected_us = MINUTES(2),
    };
}

void put(struct box *box, const struct schedule *schedule)
{
    enum schedule_put what;
    OK(schedule_put(tx, schedule, SCHEDULE_FROM_API, &what, err));
}

struct schedule_view seen(struct box *box, const char *name)
{
    struct schedule_view view;
    OK(schedule_load(tx, str_of(name), &view, err));
    return view;
}

struct scheduling tick_as(struct box *box, const struct instance *instance)
{
    struct scheduling s = {
        .instance = instance,
        .limit = 50,
        .wall = world_wall(&box->world.world),
    };
    OK_FROM(s, slots_tick(tx, &s, err));
    return s;
}

struct scheduling tick(struct box *box)
{
    return tick_as(box, &me);
}

// To the next five minutes, and a second more.
void to_next_slot(struct box *box)
{
    pawl_time now = world_wall(&box->world.world);
    pass(box, MINUTES(5) - now % MINUTES(5) + SECONDS(1));
}

pawl_time slot_before_now(struct box *box)
{
    pawl_time now = world_wall(&box->world.world);
    return now - now % MINUTES(5);
}

int64_t runs(struct box *box, const char *status)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM job_runs WHERE status LIKE '%s'", status);
    return box_number(box, sql);
}

int64_t skips(struct box *box, const char *reason)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT coalesce(sum(slots), 0) FROM slot_skips WHERE reason = '%s'",
             reason);
    return box_number(box, sql);
}

// Runs the one job there is to its good end.
void work(struct box *box)
{
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
}
