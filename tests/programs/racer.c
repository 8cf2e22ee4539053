// One of many schedulers that race for the same slots.
//
//     racer STORE NAME tick SECONDS     ticks as fast as it can, each time as the leader
//     racer STORE NAME trigger COUNT    claims slots 1 to COUNT of the schedule by hand
//
// It says `ready`, begins when it is told anything, and says how many slots it claimed.
#include "actor.h"
#include "engine/slot.h"

static int64_t tick(struct actor *actor, const struct instance *me)
{
    struct call call;
    struct scheduling round = { .instance = me, .limit = 50, .wall = world_wall(world_real()) };
    call_announce(&call, actor, "tick", "-");
    bool done = call_open(&call, actor) && tx_execute(&call.tx, "DELETE FROM leader", &call.err)
             && slots_tick(&call.tx, &round, &call.err);
    call_must_end(&call, done);
    return (int64_t)round.claimed;
}

static int64_t trigger(struct actor *actor, int64_t slot)
{
    struct call call;
    struct job job;
    call_announce(&call, actor, "trigger", "-");
    bool done = call_open(&call, actor)
             && slot_trigger(&call.tx, S("race"), SECONDS(slot), &job, &call.err);
    return call_end(&call, done) ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct actor actor = { .log = -1 };
    int64_t number = 0, claimed = 0;
    if (argc < 5 || !str_int(str_of(argv[4]), &number))
        return 2;
    actor.name = argv[2];
    actor_open(&actor, &(struct db_options){ .url = str_of(argv[1]), .fleeting = true });
    struct instance me = { str_of(actor.name), str_of(actor.boot_id) };
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 2;
    bool by_hand = str_eq(str_of(argv[3]), S("trigger"));
    pawl_time end = world_wall(world_real()) + SECONDS(number);
    for (int64_t i = 1; by_hand ? i <= number : world_wall(world_real()) < end; i++) {
        claimed += by_hand ? trigger(&actor, i) : tick(&actor, &me);
        arena_reset(&actor.arena);
    }
    printf("%lld\n", (long long)claimed);
    db_close(actor.db);
    arena_end(&actor.arena);
    return 0;
}
