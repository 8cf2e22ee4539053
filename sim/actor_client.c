// Clients: enqueue jobs of every kind, repeat what was not answered, cancel what they have asked
// for.
#include "actor.h"

enum { REPEATS_MAX = 4 };

struct client {
    struct actor base;
    struct request request;  // the last one, to be repeated
    size_t repeats;
    pawl_time act_at;        // when it does the next thing, or looks whether it was answered
    bool has_job;
    struct id job;           // the last that was answered
};

static const struct str types[] = { { "mail", 4 }, { "report", 6 } };

#define ONE_OF(dice, list) ((list)[dice_pick((dice), countof(list))])

static struct policy some_policy(struct dice *dice)
{
    static const int64_t bases[] = { 0, MILLISECONDS(10), SECONDS(1), SECONDS(5) };
    static const int64_t ttls[] = { 0, MINUTES(1), HOURS(1), DAYS(7) };
    static const int64_t leases[] = { SECONDS(1), SECONDS(5), SECONDS(30) };
    static const int64_t timeouts[] = { SECONDS(1), SECONDS(4), SECONDS(30), MINUTES(10) };
    struct policy policy = *policy_builtin(S("default"));
    if (dice_chance(dice, 15))
        return policy;
    policy.name = S("own");
    policy.max_attempts = dice_between(dice, 1, 4);
    policy.step_attempts = dice_between(dice, 1, 3);
    policy.exponential = dice_chance(dice, 50);
    policy.jitter = dice_chance(dice, 50);
    policy.base_us = ONE_OF(dice, bases);
    policy.delay_us_max = policy.base_us * dice_between(dice, 1, 8);
    policy.timeout_us = ONE_OF(dice, timeouts);
    policy.lease_us = ONE_OF(dice, leases);
    policy.on_crash = dice_chance(dice, 70) ? ON_CRASH_RETRY : ON_CRASH_FAIL;
    policy.on_timeout = (enum on_timeout)dice_pick(dice, 3);
    policy.dead_letter = dice_chance(dice, 50);
    policy.key_ttl_us = ONE_OF(dice, ttls);
    return policy;
}

static void add_links(struct sim *sim, struct dice *dice, struct contract *c)
{
    const struct reference *model = &sim->match.model;
    if (!dice_rare(dice, sim->swarm.rate[RATE_LINKS]) || model->job_count == 0)
        return;
    size_t count = 1 + dice_pick(dice, 2);
    struct id *after = arena_new(&sim->arena, struct id, count);
    for (size_t i = 0; i < count; i++) {
        const struct ref_job *target = &model->jobs[dice_pick(dice, model->job_count)];
        bool same = i > 0 && id_eq(after[0], target->id);
        if (!same && (str_eq(target->contract.org_id, c->org_id) || dice_chance(dice, 5)))
            after[c->after_count++] = target->id;
    }
    c->after = after;
}

static void join_batch(struct sim *sim, struct dice *dice, struct contract *c)
{
    const struct reference *model = &sim->match.model;
    if (sim->swarm.rate[RATE_BATCHES] == 0 || model->batch_count == 0 || !dice_chance(dice, 25))
        return;
    const struct ref_batch *batch = &model->batches[dice_pick(dice, model->batch_count)];
    if (str_eq(batch->org, c->org_id) || dice_chance(dice, 5))
        c->batch = batch->id;
}

struct contract sim_contract(struct sim *sim, struct dice *dice, struct str org)
{
    const int64_t *rate = sim->swarm.rate;
    struct policy policy = some_policy(dice);
    struct contract c = {
        .job_type = ONE_OF(dice, types),
        .org_id = org,
        .actor_type = ACTOR_USER,
        .actor_id = S("client"),
        .request_id = S("r"),
        .correlation_id = S("c"),
        .payload = dice_chance(dice, 80) ? S("{}") : S("{\"n\":1}"),
        .policy = policy,
        .queue = sim_queues[dice_pick(dice, QUEUES)],
        .priority = dice_chance(dice, 30) ? dice_between(dice, -2, 2) : 0,
        .hold = dice_chance(dice, 5),
    };
    if (dice_rare(dice, rate[RATE_KEYS]))
        c.idempotency_key = str_format(&sim->arena, "key-%zu", dice_pick(dice, 12));
    if (dice_rare(dice, rate[RATE_SERIAL]))
        c.serial_key = dice_chance(dice, 70) ? S("x") : S("y");
    if (dice_rare(dice, rate[RATE_LATER]))
        c.scheduled_for = sim->match.model.now + dice_between(dice, -SECONDS(70), MINUTES(3));
    if (dice_rare(dice, rate[RATE_LATER]))
        c.max_wait_us = dice_between(dice, MILLISECONDS(1), SECONDS(40));
    add_links(sim, dice, &c);
    join_batch(sim, dice, &c);
    return c;
}

// A few jobs, most without keys: one that is known would refuse the whole batch.
static struct batch_request some_batch(struct sim *sim, struct dice *dice, struct str org)
{
    size_t count = 1 + dice_pick(dice, 4);
    struct contract *jobs = arena_new(&sim->arena, struct contract, count + 1);
    struct contract *callback = &jobs[count];
    for (size_t i = 0; i <= count; i++) {
        jobs[i] = sim_contract(sim, dice, org);
        jobs[i].batch = (struct id){0};
        if (dice_chance(dice, 95))
            jobs[i].idempotency_key = S("");
    }
    callback->idempotency_key = S("");
    callback->scheduled_for = callback->max_wait_us = 0;
    callback->after_count = 0;
    callback->hold = false;
    struct batch_request request = {
        .org_id = org,
        .name = S("night"),
        .content = dice_chance(dice, 80) ? S("one") : S("another"),
        .jobs = jobs,
        .count = count,
        .callback = dice_chance(dice, 80) ? callback : NULL,
    };
    if (dice_chance(dice, 60))
        request.idempotency_key = str_format(&sim->arena, "batch-%zu", dice_pick(dice, 8));
    return request;
}

static void act(struct sim *sim, void *self, struct request *request);

static void act_after(struct sim *sim, struct client *client, int64_t us)
{
    client->act_at = sim_now(sim) + us;
    sim_later(sim, us, act, client, NULL);
}

static void send(struct sim *sim, struct client *client)
{
    actor_ask(sim, &client->base, &client->request);
    act_after(sim, client, SECONDS(2));
}

static void ask_new(struct sim *sim, struct client *client)
{
    struct dice *dice = &client->base.dice;
    struct str org = sim_orgs[dice_chance(dice, 70) ? 0 : 1];
    client->repeats = 0;
    client->request = (struct request){
        .call = &call_enqueue,
        .process = actor_process(sim, &client->base),
        .org = org,
        .contract = sim_contract(sim, dice, org),
    };
    if (client->has_job && dice_chance(dice, 10)) {
        client->request.call = dice_chance(dice, 70) ? &call_cancel : &call_submit;
        client->request.id = client->job;
    }
    if (sim->swarm.rate[RATE_BATCHES] && dice_rare(dice, sim->swarm.rate[RATE_BATCHES])) {
        client->request.call = &call_batch;
        client->request.batch = some_batch(sim, dice, org);
    }
    send(sim, client);
}

// What has a key can be asked for again: at most one job comes of it.
static void act(struct sim *sim, void *self, struct request *request)
{
    struct client *client = self;
    (void)request;
    if (sim->calm || sim->match.model.job_count >= sim->swarm.jobs_max)
        return;
    if (client->act_at != sim_now(sim))
        return;  // that was another plan
    if (client->base.awaiting && client->repeats++ < REPEATS_MAX) {
        SIM_SEEN("a client repeated what was not answered");
        client->request.process = actor_process(sim, &client->base);
        send(sim, client);
        return;
    }
    ask_new(sim, client);
}

static void hear(struct sim *sim, struct actor *actor, const struct request *answer)
{
    struct client *client = (struct client *)actor;
    if (answer->call == &call_enqueue && !answer->unavailable && answer->code == PAWL_OK) {
        client->has_job = true;
        client->job = answer->job;
    }
    act_after(sim, client, dice_between(&actor->dice, 1, MILLISECONDS(400)));
}

void clients_make(struct sim *sim)
{
    for (size_t i = 0; i < sim->swarm.clients; i++) {
        struct client *client = arena_new(&sim->arena, struct client, 1);
        actor_add(sim, &client->base, "client", i);
        client->base.hear = hear;
        act_after(sim, client, (int64_t)i + 1);
    }
}
