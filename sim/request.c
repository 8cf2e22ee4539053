// The network: every copy of a request goes its own way.
#include "request.h"

#include <assert.h>
#include <stdlib.h>

#include "actor.h"

static bool happens(struct sim *sim, enum fault_rate rate)
{
    return !sim->calm && dice_rare(&sim->network, sim->swarm.rate[rate]);
}

static int64_t travel_us(struct sim *sim)
{
    int64_t us = dice_between(&sim->network, 1, sim->swarm.latency_us);
    return happens(sim, RATE_DELAY) ? us + dice_between(&sim->network, 0, SECONDS(3)) : us;
}

static void arrive(struct sim *sim, void *self, struct request *request)
{
    (void)self;
    process_take(sim, request);
}

static void send_copy(struct sim *sim, const struct request *request)
{
    struct request *copy = malloc(sizeof *copy);
    assert(copy);
    *copy = *request;
    sim_later(sim, travel_us(sim), arrive, NULL, copy);
}

void request_send(struct sim *sim, const struct request *request)
{
    if (happens(sim, RATE_LOST_REQUEST))
        return;
    send_copy(sim, request);
    if (happens(sim, RATE_DUPLICATE)) {
        SIM_SEEN("a request arrived twice");
        send_copy(sim, request);
    }
}

static void answered(struct sim *sim, void *self, struct request *request)
{
    struct actor *actor = self;
    if (actor->awaiting == request->number) {
        actor->awaiting = 0;
        actor->hear(sim, actor, request);
    }
    free(request);
}

void request_answer(struct sim *sim, struct request *request)
{
    if (!request->from || happens(sim, RATE_LOST_REPLY)) {
        free(request);
        return;
    }
    sim_later(sim, travel_us(sim), answered, request->from, request);
}
