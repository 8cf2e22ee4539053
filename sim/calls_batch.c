// A batch that a client asks for, on the store and on the model.
#include "sim.h"

#include "engine/batch.h"
#include "request.h"

static void mark(const struct sim *sim, size_t found, bool known)
{
    if (known)
        SIM_SEEN("a known key was answered with its batch");
    if (sim->match.model.batches[found].ended && !known)
        SIM_SEEN("a batch ended when it was made");
}

static void batch(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct problems problems = { .arena = m->tx->arena };
    struct batch_request request = r->batch;
    struct job_batch batch;
    bool known = false, expected = false;
    size_t found = 0, jobs = m->model.job_count;
    request.problems = &problems;
    if (ref_full(&m->model) || m->model.batch_count == REF_BATCHES_MAX)
        return;
    bool done = batch_create(m->tx, &request, &batch, &known, &m->err);
    answer(m, "batch", done, ref_batch(&m->model, &request, &found, &expected));
    if (!done || m->unlike)
        return;
    if (known != expected)
        differ(m, "batch: known or not");
    if (!known)
        m->model.batches[found].id = batch.id;
    if (!id_eq(m->model.batches[found].id, batch.id))
        differ(m, "batch: another one");
    mark(sim, found, known);
    m->tx->caller = &sim_everybody;
    adopt_newest(m, m->model.job_count - jobs);
}
const struct call call_batch = { "batch", batch };
