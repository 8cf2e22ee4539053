// What schedulers do, on the store and on the model. Which slots come of a timetable is tested
// elsewhere; here each must be claimed once, whoever asks and whoever dies.
#include "sim.h"

#include "engine/slot.h"
#include "request.h"

static struct str keep(struct sim *sim, struct str text)
{
    return str_dup(&sim->arena, text);
}

// The job of a slot is as its schedule says; from here on it is a job like any other.
static struct contract keep_contract(struct sim *sim, const struct contract *c)
{
    struct contract kept = {
        .job_type = keep(sim, c->job_type),
        .org_id = keep(sim, c->org_id),
        .project_id = keep(sim, c->project_id),
        .idempotency_key = keep(sim, c->idempotency_key),
        .payload = keep(sim, c->payload),
        .queue = keep(sim, c->queue),
        .serial_key = keep(sim, c->serial_key),
        .scheduled_for = c->scheduled_for,
        .priority = c->priority,
        .policy = c->policy,
    };
    kept.policy.name = keep(sim, c->policy.name);
    kept.policy.category = keep(sim, c->policy.category);
    kept.policy.queue = keep(sim, c->policy.queue);
    return kept;
}

static void adopt_slot(struct sim *sim, const struct job *job)
{
    struct match *m = &sim->match;
    struct contract contract = keep_contract(sim, &job->contract);
    if (!ref_slot(&m->model, &contract)) {
        differ(m, "a slot was claimed twice");
        return;
    }
    m->focus = m->model.job_count - 1;
    adopt_job(m, m->focus, job);
}

static bool is_full(const struct sim *sim)
{
    const struct reference *model = &sim->match.model;
    return model->job_count + ref_callbacks_due(model) >= REF_JOBS_FULL - 8;
}

static void adopt_slots(struct sim *sim, size_t count)
{
    struct match *m = &sim->match;
    struct job_list list = {0};
    struct job_filter newest = { .limit = (int64_t)count };
    m->tx->caller = &sim_everybody;
    if (count == 0 || m->broken || m->unlike)
        return;
    if (!job_find(m->tx, &newest, &list, &m->err)) {
        answer(m, "find", false, PAWL_OK);
        return;
    }
    for (size_t i = list.count; i > 0; i--)
        adopt_slot(sim, &list.jobs[i - 1]);
    if (list.count < count)
        differ(m, "tick: %zu slots were claimed, and %zu jobs are there", count, list.count);
}

static void tick(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct scheduling s = {
        .instance = &sim->processes[r->process].instance,
        .wall = sim->world.wall,
        .limit = 100,
    };
    if (is_full(sim))
        return;
    bool done = slots_tick(m->tx, &s, &m->err);
    answer(m, "tick", done, PAWL_OK);
    if (!done || m->unlike)
        return;
    if (s.refused > 0)
        differ(m, "tick: slots could not be claimed: %s", s.why.message);
    if (s.took_over && sim->deaths > 0)
        SIM_SEEN("the lead was taken over");
    if (!s.leads && !s.clock_off)
        SIM_SEEN("a second scheduler stood by");
    adopt_slots(sim, s.claimed);
}
const struct call call_tick = { "tick", tick };

static void trigger(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct job job;
    pawl_time slot = r->change.run_at / SIM_SLOT_US * SIM_SLOT_US;
    if (is_full(sim))
        return;
    bool done = slot_trigger(m->tx, SIM_SCHEDULE, slot, &job, &m->err);
    enum pawl_code expected = ref_has_slot(&m->model, slot) ? PAWL_SLOT_CLAIMED : PAWL_OK;
    answer(m, "trigger", done, expected);
    if (m->code == PAWL_SLOT_CLAIMED)
        SIM_SEEN("a claimed slot was refused");
    if (done && !m->unlike)
        adopt_slot(sim, &job);
}
const struct call call_trigger = { "trigger", trigger };
