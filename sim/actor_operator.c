// The operator: cancels, retries, changes, pauses, purges, and looks after dead letters. In the
// calm it lets go whatever is held or paused.
#include "actor.h"

struct watch {
    struct actor base;
};

#define ONE_OF(dice, list) ((list)[dice_pick((dice), countof(list))])

static bool some_job(struct sim *sim, struct dice *dice, struct request *request)
{
    const struct reference *model = &sim->match.model;
    if (model->job_count == 0)
        return false;
    const struct ref_job *job = &model->jobs[dice_pick(dice, model->job_count)];
    for (int i = 0; i < 8 && request->flag && !str_eq(job->dead_letter, S("open")); i++)
        job = &model->jobs[dice_pick(dice, model->job_count)];
    request->id = job->id;
    request->org = dice_chance(dice, 90) ? job->contract.org_id : ONE_OF(dice, sim_orgs);
    return true;
}

static void draw_change(struct sim *sim, struct dice *dice, struct request *request)
{
    request->change = (struct job_change){
        .has_run_at = dice_chance(dice, 40),
        .has_priority = dice_chance(dice, 40),
        .has_queue = dice_chance(dice, 40),
        .run_at = sim->match.model.now + dice_between(dice, -SECONDS(70), MINUTES(2)),
        .priority = dice_between(dice, -2, 2),
        .queue = ONE_OF(dice, sim_queues),
    };
}

static const struct {
    const struct call *call;
    size_t weight;
    bool of_queue, of_letters;
} doings[] = {
    { &call_cancel, 5, false, false },  { &call_retry, 3, false, false },
    { &call_change, 4, false, false },  { &call_finish_end, 2, false, false },
    { &call_replay, 5, false, true },   { &call_discard, 2, false, true },
    { &call_pause, 2, true, false },    { &call_resume, 4, true, false },
    { &call_purge, 1, true, false },    { &call_submit, 2, false, false },
};

static size_t draw_doing(struct dice *dice)
{
    size_t total = 0, chosen = 0;
    for (size_t i = 0; i < countof(doings); i++)
        total += doings[i].weight;
    size_t drawn = dice_pick(dice, total);
    for (; drawn >= doings[chosen].weight; chosen++)
        drawn -= doings[chosen].weight;
    return chosen;
}

static void intervene(struct sim *sim, struct watch *watch)
{
    struct dice *dice = &watch->base.dice;
    size_t doing = draw_doing(dice);
    struct request request = {
        .call = doings[doing].call,
        .process = actor_process(sim, &watch->base),
        .flag = doings[doing].of_letters,
    };
    if (doings[doing].of_queue) {
        request.text = sim_queues[dice_pick(dice, 2)];  // those that are always known
        request.org = dice_chance(dice, 50) ? S("") : ONE_OF(dice, sim_orgs);
        if (sim->swarm.rate[RATE_PAUSE] == 0)
            return;
    } else if (!some_job(sim, dice, &request)) {
        return;
    }
    draw_change(sim, dice, &request);
    actor_ask(sim, &watch->base, &request);
}

// One thing at a time: whatever is paused, then whatever is held.
static bool let_go(struct sim *sim, struct watch *watch)
{
    const struct reference *model = &sim->match.model;
    struct request request = { .process = actor_process(sim, &watch->base) };
    if (model->pause_count > 0) {
        request.call = &call_resume;
        request.org = model->pauses[0].org;
        request.text = model->pauses[0].queue;
        actor_ask(sim, &watch->base, &request);
        return true;
    }
    for (size_t i = 0; i < model->job_count; i++)
        if (model->jobs[i].where == REF_HELD) {
            request.call = &call_submit;
            request.org = model->jobs[i].contract.org_id;
            request.id = model->jobs[i].id;
            actor_ask(sim, &watch->base, &request);
            return true;
        }
    return false;
}

static void act(struct sim *sim, void *self, struct request *request)
{
    struct watch *watch = self;
    struct dice *dice = &watch->base.dice;
    (void)request;
    if (sim->calm)
        let_go(sim, watch);
    else if (dice_rare(dice, sim->swarm.rate[RATE_OPERATOR]))
        intervene(sim, watch);
    int64_t pause = dice_between(dice, MILLISECONDS(50), sim->calm ? MINUTES(1) : SECONDS(1));
    sim_later(sim, pause, act, watch, NULL);
}

static void hear(struct sim *sim, struct actor *actor, const struct request *answer)
{
    (void)answer;
    if (sim->calm)
        let_go(sim, (struct watch *)actor);
}

void operators_make(struct sim *sim)
{
    struct watch *watch = arena_new(&sim->arena, struct watch, 1);
    actor_add(sim, &watch->base, "operator", 0);
    watch->base.hear = hear;
    sim_later(sim, MILLISECONDS(100), act, watch, NULL);
}
