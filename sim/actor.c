// The table of actors, and what they have in common.
#include "actor.h"

#include <assert.h>
#include <stdio.h>

static const struct {
    const char *name;
    actor_kind *make;
} kinds[] = {
    { "clients", clients_make },     { "workers", workers_make }, { "sweepers", sweepers_make },
    { "operators", operators_make }, { "schedulers", schedulers_make }, { "chaos", chaos_make },
};

void actors_make(struct sim *sim)
{
    for (size_t i = 0; i < countof(kinds); i++)
        kinds[i].make(sim);
}

void actor_add(struct sim *sim, struct actor *actor, const char *kind, size_t number)
{
    assert(sim->actor_count < ACTORS_MAX);
    snprintf(actor->name, sizeof actor->name, "%s-%zu", kind, number);
    actor->dice = dice_of(sim->options.seed, 3000 + sim->actor_count);
    sim->actors[sim->actor_count++] = actor;
}

void actor_ask(struct sim *sim, struct actor *actor, struct request *request)
{
    request->from = actor;
    request->number = actor->awaiting = ++actor->sent;
    request_send(sim, request);
}

int actor_process(struct sim *sim, struct actor *actor)
{
    bool second = sim->swarm.rate[RATE_SECOND_PROCESS] > 0;
    return second ? (int)dice_pick(&actor->dice, PROCESSES) : 0;
}
