// What workers ask for, on the store and on the model.
#include "sim.h"

#include "request.h"

static const struct str step_names[REF_STEPS] = { { "fetch", 5 }, { "parse", 5 } };

static void give(struct sim *sim, struct request *r, const struct claimed *claimed, size_t index)
{
    struct match *m = &sim->match;
    struct ref_execution *e = &m->model.executions[index];
    bool finish = e->status == EXECUTION_COMMITTED;
    if (e->id.high == 0)
        e->id = claimed->execution.id;
    if (!id_eq(claimed->job.id, m->model.jobs[e->job].id) || !id_eq(claimed->execution.id, e->id))
        differ(m, "claim: it took another job than job %zu", e->job);
    if (claimed->finish != finish || claimed->execution.attempt != e->attempt)
        differ(m, "claim: job %zu, another phase or attempt", e->job);
    if (finish)
        SIM_SEEN("a commit phase was leased to another worker");
    m->focus = e->job;
    r->given[r->given_count++] = (struct given){
        .lease = lease_of(&claimed->execution, &r->claim.worker),
        .job = e->job,
        .started = r->claim.start && !finish,
        .finish = finish,
        .lease_us = e->lease_us,
    };
}

static void claim(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct claimed *claimed = NULL;
    size_t taken[GIVEN_MAX], count = 0, expected = 0;
    if (m->model.execution_count + r->claim.limit > REF_EXECUTIONS_MAX)
        return;
    bool done = execution_claim(m->tx, &r->claim, &claimed, &count, &m->err);
    answer(m, "claim", done, ref_claim(&m->model, &r->claim, taken, &expected));
    if (!done || m->unlike)
        return;
    if (count != expected)
        differ(m, "claim: it took %zu, not %zu, the last of them job %zd", count, expected,
               expected ? (ssize_t)m->model.executions[taken[expected - 1]].job : -1);
    for (size_t i = 0; i < count && !m->unlike; i++)
        give(sim, r, &claimed[i], taken[i]);
}
const struct call call_claim = { "claim", claim };

// What the model knows of the execution before the call.
static const struct ref_execution *look(struct sim *sim, const struct request *r)
{
    const struct reference *model = &sim->match.model;
    for (size_t i = 0; i < model->execution_count; i++)
        if (id_eq(model->executions[i].id, r->lease.execution)) {
            sim->match.focus = model->executions[i].job;
            return &model->executions[i];
        }
    return NULL;
}

static void start(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct execution e;
    look(sim, r);
    bool done = execution_start(m->tx, &r->lease, &e, &m->err);
    answer(m, "start", done, ref_start(&m->model, &r->lease));
    if (m->code == PAWL_FENCED)
        SIM_SEEN("a late start was refused");
}
const struct call call_start = { "start", start };

static void heartbeat(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct execution e = {0};
    struct progress progress = { .percent = (int64_t)r->limit, .message = S("on the way") };
    const struct progress *with = r->flag ? &progress : NULL;
    const struct ref_execution *known = look(sim, r);
    bool replaced = known && ref_newest(&m->model, known->job) != known;
    bool done = execution_heartbeat(m->tx, &r->lease, with, &e, &m->err);
    answer(m, "heartbeat", done, ref_heartbeat(&m->model, &r->lease, with, true));
    r->cancel_requested = done && e.cancel_requested_at != 0;
    if (m->code == PAWL_FENCED && replaced)
        SIM_SEEN("a heartbeat of an older attempt was refused");
}
const struct call call_heartbeat = { "heartbeat", heartbeat };

static void step(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct step step;
    size_t name = r->limit % REF_STEPS;
    look(sim, r);
    if (r->flag) {
        bool done = step_put(m->tx, &r->lease, step_names[name], r->text, &step, &m->err);
        answer(m, "step put", done, ref_step_put(&m->model, &r->lease, name, r->text));
        return;
    }
    bool done = step_fail(m->tx, &r->lease, step_names[name], S("no luck"), &step, &m->err);
    answer(m, "step fail", done, ref_step_fail(&m->model, &r->lease, name));
}
const struct call call_step = { "step", step };

static bool write_effect(struct tx *tx, void *self, struct pawl_error *err)
{
    (void)self;
    return tx_execute(tx, "INSERT INTO effects VALUES (1)", err);
}

static void mark_commit(struct sim *sim, bool replaced, bool again)
{
    if (sim->match.code == PAWL_FENCED && replaced)
        SIM_SEEN("a zombie's commit was refused while another had the job");
    if (sim->match.code == PAWL_FENCED && !replaced)
        SIM_SEEN("a commit after the lease was refused");
    if (sim->match.code == PAWL_OK && again)
        SIM_SEEN("a repeated commit was answered the same");
}

static void commit(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct execution e;
    struct commit commit = r->commit;
    size_t jobs = m->model.job_count;
    const struct ref_execution *known = look(sim, r);
    bool replaced = known && ref_newest(&m->model, known->job) != known;
    enum execution_status before = known ? known->status : EXECUTION_LEASED;
    bool past = before == EXECUTION_COMMITTED || before == EXECUTION_DONE;
    if (jobs + commit.follow_up_count + ref_callbacks_due(&m->model) >= REF_JOBS_FULL)
        commit.follow_up_count = 0;
    if (r->flag)
        commit.apply = write_effect;
    bool done = execution_commit(m->tx, &r->lease, &commit, &e, &m->err);
    answer(m, "commit", done, ref_commit(&m->model, &r->lease, &commit, PAWL_OK));
    if (done && commit.apply && !past)
        m->effects++;
    mark_commit(sim, replaced, past);
    m->tx->caller = &sim_everybody;
    if (!m->broken)
        adopt_newest(m, m->model.job_count - jobs);
}
const struct call call_commit = { "commit", commit };

static void done_(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct execution e;
    look(sim, r);
    bool done = execution_done(m->tx, &r->lease, &e, &m->err);
    answer(m, "done", done, ref_done(&m->model, &r->lease));
    if (m->code == PAWL_CONFLICT)
        SIM_SEEN("done came before its commit");
}
const struct call call_done = { "done", done_ };

static void fail_(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct execution e;
    look(sim, r);
    bool done = execution_fail(m->tx, &r->lease, &r->error, &e, &m->err);
    answer(m, "fail", done, ref_fail(&m->model, &r->lease, &r->error));
    if (!m->broken)
        adopt_finish(m);
}
const struct call call_fail = { "fail", fail_ };

static void release(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct execution e;
    look(sim, r);
    bool done = execution_release(m->tx, &r->lease, &e, &m->err);
    answer(m, "release", done, ref_release(&m->model, &r->lease));
}
const struct call call_release = { "release", release };
