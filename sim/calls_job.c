// What clients and operators ask for, on the store and on the model.
#include "sim.h"

#include "engine/finish.h"
#include "engine/letter.h"
#include "engine/queue.h"
#include "request.h"

static size_t index_of(const struct sim *sim, struct id id)
{
    const struct reference *model = &sim->match.model;
    for (size_t i = 0; i < model->job_count; i++)
        if (id_eq(model->jobs[i].id, id))
            return i;
    return SIZE_MAX;
}

// Whoever would make another job is not heard then; whatever ends one always is.
static bool is_full(const struct sim *sim)
{
    return ref_full(&sim->match.model);
}

static void enqueue(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct job job;
    bool deduplicated = false, expected = false;
    size_t before = m->model.job_count;
    if (is_full(sim))
        return;
    bool done = job_enqueue(m->tx, &r->contract, &job, &deduplicated, &m->err);
    answer(m, "enqueue", done, ref_enqueue(&m->model, &r->contract, &m->focus, &expected));
    if (m->code == PAWL_CONFLICT)
        SIM_SEEN("a batch that had ended took no other job");
    if (!done || m->unlike)
        return;
    if (deduplicated != expected)
        differ(m, "enqueue: deduplicated or not");
    if (deduplicated)
        SIM_SEEN("a known key was answered with its job");
    if (m->model.job_count > before && r->contract.batch.high)
        SIM_SEEN("a job joined a batch");
    if (m->model.job_count > before)
        adopt_job(m, m->focus, &job);
    if (!id_eq(m->model.jobs[m->focus].id, job.id))
        differ(m, "enqueue: another job");
    r->job = job.id;
}
const struct call call_enqueue = { "enqueue", enqueue };

typedef bool on_job(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);
typedef enum pawl_code on_model(struct reference *r, struct id id);

static void on_one(struct sim *sim, struct request *r, on_job *act, on_model *model)
{
    struct match *m = &sim->match;
    struct job job;
    size_t before = m->model.job_count;
    bool makes_one = model == ref_retry || model == ref_replay;
    m->focus = index_of(sim, r->id);
    bool done = act(m->tx, r->id, &job, &m->err);
    answer(m, r->call->name, done, model(&m->model, r->id));
    if (makes_one && !m->unlike && !m->broken && m->model.job_count > before)
        adopt_job(m, before, &job);
}

static void submit(struct sim *sim, struct request *r)
{
    on_one(sim, r, job_submit, ref_submit);
}
const struct call call_submit = { "submit", submit };

static void cancel(struct sim *sim, struct request *r)
{
    on_one(sim, r, job_cancel, ref_cancel);
    if (sim->match.code == PAWL_ALREADY_COMMITTED)
        SIM_SEEN("a cancel came after the commit");
}
const struct call call_cancel = { "cancel", cancel };

static void retry(struct sim *sim, struct request *r)
{
    if (!is_full(sim))
        on_one(sim, r, job_retry, ref_retry);
}
const struct call call_retry = { "retry", retry };

static void end_finish(struct sim *sim, struct request *r)
{
    on_one(sim, r, finish_end, ref_finish_end);
    if (sim->match.code == PAWL_OK)
        SIM_SEEN("an operator ended a commit phase");
}
const struct call call_finish_end = { "finish-end", end_finish };

static void replay(struct sim *sim, struct request *r)
{
    if (is_full(sim))
        return;
    on_one(sim, r, letter_replay, ref_replay);
    if (sim->match.code == PAWL_CLOSED)
        SIM_SEEN("a closed letter was refused");
    if (sim->match.code == PAWL_OK)
        SIM_SEEN("a letter was replayed");
}
const struct call call_replay = { "replay", replay };

static bool discard_one(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    return letter_discard(tx, id, S("nobody needs it"), job, err);
}

static void discard(struct sim *sim, struct request *r)
{
    on_one(sim, r, discard_one, ref_discard);
}
const struct call call_discard = { "discard", discard };

static void change(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct job job;
    m->focus = index_of(sim, r->id);
    bool done = job_change(m->tx, r->id, &r->change, &job, &m->err);
    answer(m, "change", done, ref_change(&m->model, r->id, &r->change));
}
const struct call call_change = { "change", change };

// ----- queues

static void pause_it(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    bool done = queue_pause(m->tx, r->text, &m->err);
    answer(m, "pause", done, ref_pause(&m->model, r->text));
}
const struct call call_pause = { "pause", pause_it };

static void resume(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    bool done = queue_resume(m->tx, r->text, &m->err);
    answer(m, "resume", done, ref_resume(&m->model, r->text));
}
const struct call call_resume = { "resume", resume };

// In one transaction; a purge in pieces is several of them.
static void purge(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct purge purge = { .queue = r->text };
    size_t ended = 0;
    bool done = true;
    while (done && !purge.done) {
        done = queue_purge(m->tx, &purge, 1000, &m->err);
        ended += purge.ended;
    }
    size_t expected = 0;
    answer(m, "purge", done, ref_purge(&m->model, r->text, &expected));
    if (done && ended != expected)
        differ(m, "purge: it ended %zu jobs, not %zu", ended, expected);
    if (ended > 0)
        SIM_SEEN("a purge ended jobs");
}
const struct call call_purge = { "purge", purge };
