// Schedulers: one in each process, of which one leads. And somebody who triggers slots by hand.
#include "actor.h"

struct scheduler {
    struct actor base;
    int process;
};

static void act(struct sim *sim, void *self, struct request *request)
{
    struct scheduler *s = self;
    struct dice *dice = &s->base.dice;
    (void)request;
    if (sim->calm)
        return;
    struct request ask = { .call = &call_tick, .process = s->process };
    if (dice_chance(dice, 5)) {
        ask.call = &call_trigger;
        ask.org = sim_orgs[0];
        ask.change.run_at = sim->match.model.now + dice_between(dice, -MINUTES(1), MINUTES(2));
    }
    actor_ask(sim, &s->base, &ask);
    sim_later(sim, SECONDS(1), act, s, NULL);
}

static void hear(struct sim *sim, struct actor *actor, const struct request *answer)
{
    (void)sim;
    (void)actor;
    (void)answer;
}

void schedulers_make(struct sim *sim)
{
    if (sim->swarm.rate[RATE_SCHEDULE] == 0)
        return;
    for (int i = 0; i < PROCESSES; i++) {
        if (!sim->processes[i].wanted)
            continue;
        struct scheduler *s = arena_new(&sim->arena, struct scheduler, 1);
        actor_add(sim, &s->base, "scheduler", (size_t)i);
        s->base.hear = hear;
        s->process = i;
        sim_later(sim, MILLISECONDS(300), act, s, NULL);
    }
}
