// Workers: claim, start, beat, commit, end; good ones, lazy ones that never beat, ones that stall
// past their lease, zombies that go on after they were told that it is over.
//
// Those of a process die with it, except zombies. A worker that hears nothing repeats its call: to
// do again what was done is no mistake.
#include "actor.h"

enum { REPEATS_MAX = 5,
       RUNS_MAX = GIVEN_MAX };

enum stage { LEASED,
             RUNNING,
             COMMITTED };

struct run {
    struct given given;
    enum stage stage;
    size_t beats;  // before it ends
    bool cancelled;
};

struct worker_actor {
    struct actor base;
    struct str id;
    int home;                // the process it lives in; -1: it is remote
    struct worker who;       // as it claims now
    bool lazy, zombie;
    struct run runs[RUNS_MAX];
    size_t run_count;
    struct request request;  // the last one
    size_t repeats;
    pawl_time act_at;        // when it does the next thing, or looks whether it was answered
    bool asleep;             // in the calm, until somebody wakes it
};

static const struct str results[] = { { "", 0 }, { "{\"n\":1}", 7 }, { "{\"n\":2}", 7 } };

static void act(struct sim *sim, void *self, struct request *request);

static bool happens(struct sim *sim, struct worker_actor *w, enum fault_rate rate)
{
    return !sim->calm && dice_rare(&w->base.dice, sim->swarm.rate[rate]);
}

static void act_after(struct sim *sim, struct worker_actor *w, int64_t us)
{
    w->act_at = sim_now(sim) + us;
    sim_later(sim, us, act, w, NULL);
}

static void send(struct sim *sim, struct worker_actor *w)
{
    if (w->home < 0)
        w->request.process = actor_process(sim, &w->base);
    actor_ask(sim, &w->base, &w->request);
    act_after(sim, w, SECONDS(2));  // has it been answered by then?
}

static void ask(struct worker_actor *w, const struct call *call)
{
    w->request = (struct request){ .call = call, .process = w->home < 0 ? 0 : w->home };
    w->repeats = 0;
    if (w->run_count > 0) {
        w->request.lease = w->runs[0].given.lease;
        w->request.org = w->runs[0].given.org;
    }
}

static void forget_run(struct worker_actor *w)
{
    w->run_count--;
    for (size_t i = 0; i < w->run_count; i++)
        w->runs[i] = w->runs[i + 1];
}

// ----- what it asks for

static void claim(struct sim *sim, struct worker_actor *w)
{
    static const int64_t leases[] = { 0, 0, 0, SECONDS(1), SECONDS(3) };
    struct dice *dice = &w->base.dice;
    if (w->home >= 0) {
        w->who.instance = sim->processes[w->home].instance.name;
        w->who.boot_id = sim->processes[w->home].instance.boot_id;
    }
    ask(w, &call_claim);
    w->request.claim = (struct claim){
        .worker = w->who,
        .queues = sim_queues,
        .queue_count = sim->calm || dice_chance(dice, 80) ? QUEUES : 1 + dice_pick(dice, QUEUES),
        .in_order = true,
        .limit = 1 + dice_pick(dice, RUNS_MAX),
        .lease_us = leases[dice_pick(dice, countof(leases))],
        .start = dice_chance(dice, 50),
    };
    if (!sim->calm && dice_chance(dice, 20))
        w->request.org = sim_orgs[dice_pick(dice, ORGS)];
    send(sim, w);
}

static void fail_run(struct sim *sim, struct worker_actor *w)
{
    static const int64_t waits[] = { 0, 0, 0, SECONDS(2), MINUTES(3) };
    struct dice *dice = &w->base.dice;
    ask(w, &call_fail);
    w->request.error = (struct work_error){
        .class = dice_chance(dice, 70) ? ERROR_TRANSIENT
                                       : (enum error_class)(1 + dice_pick(dice, ERROR_CLASSES - 1)),
        .message = S("it did not work"),
        .retry_after_us = waits[dice_pick(dice, countof(waits))],
    };
    if (w->runs[0].cancelled)
        w->request.error.class = ERROR_CANCELLED;
    send(sim, w);
}

static void add_follow_up(struct sim *sim, struct worker_actor *w)
{
    struct contract *contract = arena_new(&sim->arena, struct contract, 1);
    struct str org = sim->match.model.jobs[w->runs[0].given.job].contract.org_id;
    *contract = sim_contract(sim, &w->base.dice, org);
    contract->scheduled_for = 0;
    contract->after_count = 0;
    w->request.commit.follow_ups = contract;
    w->request.commit.follow_up_count = 1;
}

static void commit(struct sim *sim, struct worker_actor *w)
{
    struct dice *dice = &w->base.dice;
    ask(w, &call_commit);
    w->request.commit = (struct commit){
        .result = results[dice_pick(dice, countof(results))],
        .done = dice_chance(dice, 40),
    };
    w->request.flag = dice_chance(dice, 10);
    if (!w->request.commit.done)
        w->request.commit.finish = happens(sim, w, RATE_FINISH);
    if (happens(sim, w, RATE_FOLLOW_UP))
        add_follow_up(sim, w);
    send(sim, w);
    if (happens(sim, w, RATE_DELAY)) {  // does not wait for the answer: the two may pass each other
        struct request done = w->request;
        done.call = &call_done;
        done.from = NULL;
        request_send(sim, &done);
    }
}

static void beat(struct sim *sim, struct worker_actor *w)
{
    struct dice *dice = &w->base.dice;
    if (dice_chance(dice, 25)) {
        ask(w, &call_step);
        w->request.flag = dice_chance(dice, 70);
        w->request.text = results[1 + dice_chance(dice, 10)];
    } else {
        ask(w, &call_heartbeat);
        w->request.flag = dice_chance(dice, 30);
    }
    w->request.limit = dice_pick(dice, 101);
    send(sim, w);
}

static void go_on(struct sim *sim, struct worker_actor *w)
{
    struct run *run = &w->runs[0];
    if (happens(sim, w, RATE_RELEASE)) {
        ask(w, &call_release);
        send(sim, w);
    } else if (run->stage == LEASED) {
        ask(w, &call_start);
        send(sim, w);
    } else if (run->stage == RUNNING && run->beats > 0 && !w->lazy) {
        run->beats--;
        beat(sim, w);
    } else if (run->cancelled || happens(sim, w, RATE_ERRORS)) {
        fail_run(sim, w);
    } else if (run->stage == RUNNING) {
        commit(sim, w);
    } else {
        ask(w, &call_done);
        send(sim, w);
    }
}

// ----- when

static int64_t think_us(struct sim *sim, struct worker_actor *w)
{
    struct dice *dice = &w->base.dice;
    int64_t lease_us = w->run_count > 0 ? w->runs[0].given.lease_us : SECONDS(1);
    if (sim->calm)
        return MILLISECONDS(5);
    if (happens(sim, w, RATE_STALLED))
        return lease_us + dice_between(dice, -SECONDS(1), lease_us);
    if (w->lazy)
        return dice_between(dice, 1, lease_us);
    return dice_between(dice, 1, w->run_count > 0 ? lease_us / 4 : SECONDS(2));
}

static void act(struct sim *sim, void *self, struct request *request)
{
    struct worker_actor *w = self;
    (void)request;
    if (w->act_at != sim_now(sim))
        return;  // that was another plan
    w->act_at = 0;
    if (w->base.awaiting && w->request.call != &call_claim && w->repeats++ < REPEATS_MAX) {
        SIM_SEEN("a worker repeated what was not answered");
        send(sim, w);
        return;
    }
    if (w->base.awaiting && w->run_count > 0)
        forget_run(w);
    w->base.awaiting = 0;
    if (w->run_count > 0)
        go_on(sim, w);
    else
        claim(sim, w);
}

static void think(struct sim *sim, struct worker_actor *w)
{
    act_after(sim, w, think_us(sim, w));
}

// ----- what it hears

static void take(struct sim *sim, struct worker_actor *w, const struct request *answer)
{
    for (size_t i = 0; i < answer->given_count; i++) {
        const struct given *given = &answer->given[i];
        w->runs[i] = (struct run){
            .given = *given,
            .stage = given->finish ? COMMITTED : given->started ? RUNNING
                                                                : LEASED,
            .beats = dice_pick(&w->base.dice, 4),
        };
        w->runs[i].given.org = answer->org;
    }
    w->run_count = answer->given_count;
    if (sim->calm && w->run_count == 0) {
        w->asleep = true;
        return;
    }
    think(sim, w);
}

// Told no: an honest worker drops the run, a zombie does not believe it.
static void refused(struct sim *sim, struct worker_actor *w)
{
    bool goes_on = w->zombie && !sim->calm && dice_chance(&w->base.dice, 60);
    if (goes_on)
        w->runs[0].stage = RUNNING;
    else
        forget_run(w);
}

static void moved(struct worker_actor *w, const struct request *answer)
{
    struct run *run = &w->runs[0];
    const struct call *call = answer->call;
    run->cancelled |= answer->cancel_requested;
    if (call == &call_start)
        run->stage = RUNNING;
    else if (call == &call_commit && !answer->commit.done)
        run->stage = COMMITTED;
    else if (call != &call_heartbeat && call != &call_step)
        forget_run(w);
}

static void hear(struct sim *sim, struct actor *actor, const struct request *answer)
{
    struct worker_actor *w = (struct worker_actor *)actor;
    if (answer->call == &call_claim && !answer->unavailable) {
        take(sim, w, answer);
        return;
    }
    if (answer->call == &call_claim) {
        think(sim, w);
        return;
    }
    if (answer->unavailable) {
        w->base.awaiting = w->request.number;  // the timer repeats it
        return;
    }
    if (answer->code == PAWL_OK)
        moved(w, answer);
    else if (answer->call != &call_step)
        refused(sim, w);
    think(sim, w);
}

static void died(struct sim *sim, struct actor *actor, int process)
{
    struct worker_actor *w = (struct worker_actor *)actor;
    if (w->home != process)
        return;
    if (w->zombie && w->run_count > 0) {
        SIM_SEEN("a worker outlived its process");
        return;
    }
    w->run_count = 0;
    w->base.awaiting = 0;
    think(sim, w);
}

void workers_wake(struct sim *sim)
{
    for (size_t i = 0; i < sim->actor_count; i++) {
        struct worker_actor *w = (struct worker_actor *)sim->actors[i];
        if (w->base.hear != hear || !w->asleep)
            continue;
        w->asleep = false;
        think(sim, w);
    }
}

void workers_make(struct sim *sim)
{
    for (size_t i = 0; i < sim->swarm.workers; i++) {
        struct worker_actor *w = arena_new(&sim->arena, struct worker_actor, 1);
        actor_add(sim, &w->base, "worker", i);
        struct dice *dice = &w->base.dice;
        w->base.hear = hear;
        w->base.died = died;
        w->home = dice_chance(dice, 50) ? actor_process(sim, &w->base) : -1;
        w->who.worker_id = str_format(&sim->arena, "worker-%zu", dice_pick(dice, 1 + i));
        w->lazy = dice_rare(dice, sim->swarm.rate[RATE_LAZY]);
        w->zombie = dice_rare(dice, sim->swarm.rate[RATE_ZOMBIE]);
        think(sim, w);
    }
}
