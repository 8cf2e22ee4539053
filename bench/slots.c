// What the scheduler costs: a tick with nothing due beside how many schedules there are, and many
// slots that are due at one instant. Fsync on, beside one raw commit.
//
//     build/bench/slots [SCHEDULES]
#include <stdio.h>
#include <stdlib.h>

#include "bench/place.h"
#include "engine/slot.h"
#include "store/names.h"

enum { TICKS = 200, SCHEDULES = 10000, DUE = 1000, LIMIT = 50 };

struct clock {
    struct db *db;
    struct virtual_world world;
    struct arena arena;
    struct instance instance;
    int64_t longest_us;  // transaction
};

static const struct caller bench_caller = {
    .org_id = { "00000000-0000-7000-8000-000000000000", 36 },
    .actor_type = ACTOR_SYSTEM,
    .actor_id = { "bench", 5 },
    .request_id = { "bench", 5 },
    .correlation_id = { "bench", 5 },
};

static int64_t stopwatch(void)
{
    return world_monotonic(world_real());
}

static bool make(struct clock *c, const char *prefix, int64_t count, int64_t every_us,
                 struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(c->db, TX_WRITE, &c->arena, &tx, err))
        return false;
    tx.caller = &bench_caller;
    for (int64_t i = 0; i < count; i++) {
        enum schedule_put what;
        struct schedule s = {
            .name = str_format(&c->arena, "%s%lld", prefix, (long long)i),
            .job_type = S("bench.slot"),
            .every_us = every_us,
            .coalesce_said = true,
            .coalesce = true,
            .misfire_grace_us = HOURS(1),
            .max_instances = 1,
            .expected_us = HOURS(1),
        };
        if (!schedule_put(&tx, &s, SCHEDULE_FROM_API, &what, err))
            return false;
    }
    return tx_commit(&tx, err);
}

static bool tick(struct clock *c, struct scheduling *round, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    int64_t from = stopwatch();
    *round = (struct scheduling){ .instance = &c->instance, .limit = LIMIT };
    arena_reset(&c->arena);
    if (!tx_begin(c->db, TX_WRITE, &c->arena, &tx, err))
        return false;
    round->wall = tx.now;
    if (!slots_tick(&tx, round, err) || !tx_commit(&tx, err))
        return false;
    int64_t took = stopwatch() - from;
    if (took > c->longest_us)
        c->longest_us = took;
    return true;
}

static bool idle_tick_us(struct clock *c, double *us, struct pawl_error *err)
{
    struct scheduling round;
    if (!tick(c, &round, err))
        return false;
    int64_t from = stopwatch();
    for (int i = 0; i < TICKS; i++)
        if (!tick(c, &round, err))
            return false;
    *us = (double)(stopwatch() - from) / TICKS;
    return true;
}

static bool all_due(struct clock *c, size_t *claimed, int64_t *us, struct pawl_error *err)
{
    struct scheduling round;
    int64_t from = stopwatch();
    c->longest_us = 0;
    *claimed = 0;
    do {
        if (!tick(c, &round, err))
            return false;
        *claimed += round.claimed;
    } while (round.more);
    *us = stopwatch() - from;
    return true;
}

static bool measure(struct clock *c, int64_t schedules, struct pawl_error *err)
{
    double few = 0, many = 0;
    size_t claimed = 0;
    int64_t us = 0;
    if (!make(c, "first", 1, DAYS(30), err) || !idle_tick_us(c, &few, err)
        || !make(c, "idle", schedules, DAYS(30), err) || !idle_tick_us(c, &many, err))
        return false;
    printf("a tick with nothing due, 1 schedule        %8.1f us\n", few);
    printf("a tick with nothing due, %lld schedules %7.1f us\n", (long long)schedules, many);
    if (!make(c, "due", DUE, MINUTES(1), err))
        return false;
    world_pass(&c->world, MINUTES(1));
    if (!all_due(c, &claimed, &us, err))
        return false;
    printf("%zu slots due at one instant               %8.1f ms, %.0f us each\n", claimed,
           (double)us / 1000, (double)us / (double)claimed);
    printf("the longest of its transactions            %8.1f ms, of %d slots\n",
           (double)c->longest_us / 1000, LIMIT);
    return true;
}

int main(int argc, char **argv)
{
    struct clock c = { .instance = { S("bench"), S("boot-1") } };
    struct pawl_error err = {0};
    SCOPED(arena) struct arena arena = {0};
    int64_t schedules = SCHEDULES;
    const char *directory = getenv("TMPDIR");
    if (argc > 1 && !str_int(str_of(argv[1]), &schedules))
        return 2;
    virtual_world_init(&c.world, SECONDS(1800000000), 1);
    if (!place_make(directory ? directory : "/var/tmp", &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct db_options options = {
        .url = str_format(&arena, "sqlite:%s", place_path(&arena, PLACE_STORE)),
        .world = &c.world.world,
    };
    bool done = db_open(&c.db, &options, &err) && measure(&c, schedules, &err);
    if (!done)
        fprintf(stderr, "%s\n", err.message);
    db_close(c.db);
    arena_end(&c.arena);
    place_remove();
    return done ? 0 : 1;
}
