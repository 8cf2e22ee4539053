// Sweepers, which let time do its work, and chaos, which makes things go wrong.
#include "actor.h"

// ----- sweepers

struct sweeper {
    struct actor base;
};

static void sweep_now(struct sim *sim, void *self, struct request *request)
{
    struct sweeper *sweeper = self;
    struct dice *dice = &sweeper->base.dice;
    (void)request;
    struct request ask = {
        .call = &call_sweep,
        .process = actor_process(sim, &sweeper->base),
        .limit = dice_chance(dice, 20) && !sim->calm ? 1 + dice_pick(dice, 2) : 1000,
    };
    actor_ask(sim, &sweeper->base, &ask);
    pawl_time next = ref_next(&sim->match.model, true), now = sim->match.model.now;
    int64_t pause = dice_between(dice, MILLISECONDS(50), SECONDS(2));
    if (sim->calm && next > now + pause)
        pause = next - now < MINUTES(10) ? next - now + 1 : MINUTES(10);
    sim_later(sim, pause, sweep_now, sweeper, NULL);
}

// In the calm workers sleep until there is something to do.
static void swept(struct sim *sim, struct actor *actor, const struct request *answer)
{
    (void)actor;
    (void)answer;
    if (sim->calm)
        workers_wake(sim);
}

void sweepers_make(struct sim *sim)
{
    size_t count = sim->swarm.rate[RATE_SECOND_PROCESS] ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        struct sweeper *sweeper = arena_new(&sim->arena, struct sweeper, 1);
        actor_add(sim, &sweeper->base, "sweeper", i);
        sweeper->base.hear = swept;
        sim_later(sim, MILLISECONDS(100), sweep_now, sweeper, NULL);
    }
}

// ----- chaos

struct chaos {
    struct actor base;
};

static const struct {
    enum fault_rate rate;
    enum machine_fault fault;
    const char *name;
} faults[] = {
    { RATE_KILL, FAULT_KILL, "kill" },
    { RATE_POWER_LOSS, FAULT_POWER_LOSS, "power loss" },
    { RATE_WRITE_FAILS, FAULT_WRITE_FAILS, "a write fails" },
    { RATE_SYNC_FAILS, FAULT_SYNC_FAILS, "a sync fails" },
};

static void light_fuses(struct sim *sim, struct dice *dice)
{
    for (size_t i = 0; i < countof(faults); i++) {
        if (machine.fuse[faults[i].fault] || !dice_rare(dice, sim->swarm.rate[faults[i].rate]))
            continue;
        machine.fuse[faults[i].fault] = dice_between(dice, 1, dice_chance(dice, 70) ? 6 : 80);
        journal_add(&sim->journal, sim_now(sim), "soon: %s", faults[i].name);
    }
}

static void fill_disk(struct sim *sim, struct dice *dice)
{
    if (machine.full ? dice_chance(dice, 30) : dice_rare(dice, sim->swarm.rate[RATE_DISK_FULL])) {
        machine.full = !machine.full;
        journal_add(&sim->journal, sim_now(sim), "the disk is %s",
                    machine.full ? "full" : "not full");
    }
}

static void jump_clock(struct sim *sim, struct dice *dice)
{
    if (!dice_rare(dice, sim->swarm.rate[RATE_CLOCK_JUMP] * 2))
        return;
    int64_t us = dice_between(dice, 1, dice_chance(dice, 80) ? SECONDS(10) : MINUTES(10));
    us = dice_chance(dice, 50) ? us : -us;
    world_jump(&sim->world, us);
    journal_add(&sim->journal, sim_now(sim), "the calendar jumps by %lld us", (long long)us);
    if (us < 0)
        SIM_SEEN("the calendar was set back");
}

static void trouble(struct sim *sim, void *self, struct request *request)
{
    struct chaos *chaos = self;
    struct dice *dice = &chaos->base.dice;
    (void)request;
    if (sim->calm)
        return;
    light_fuses(sim, dice);
    fill_disk(sim, dice);
    jump_clock(sim, dice);
    sim_later(sim, dice_between(dice, MILLISECONDS(20), MILLISECONDS(300)), trouble, chaos, NULL);
}

void chaos_make(struct sim *sim)
{
    struct chaos *chaos = arena_new(&sim->arena, struct chaos, 1);
    actor_add(sim, &chaos->base, "chaos", 0);
    sim_later(sim, MILLISECONDS(5), trouble, chaos, NULL);
}
