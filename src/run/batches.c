// Batches of a program: made through the pipeline, looked at on the connection for looking.
#include "engine/batch.h"
#include "run/loan.h"
#include "run/request.h"
#include "run/runner.h"

struct batching {
    struct operation operation;
    struct batch_request request;
    struct job_batch batch;
};

// May be run again: what an earlier run found wrong does not count.
static bool write_batch(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct batching *b = (struct batching *)self;
    bool known = false;
    problems_forget(b->request.problems);
    return batch_create(tx, &b->request, &b->batch, &known, err);
}

static void read_jobs(struct pawl *pawl, const struct pawl_batch *batch,
                      struct contract *contracts, struct problems *problems)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct str prefix = str_format(problems->arena, "jobs[%zu].", i);
        if (request_contract(pawl, &batch->jobs[i], prefix.s, &contracts[i], problems)
            && contracts[i].batch.high)
            problem_add(problems, str_format(problems->arena, "%.*sbatch_id", STR(prefix)).s,
                        "is that of the batch it is sent with");
    }
    if (batch->callback
        && request_contract(pawl, batch->callback, "callback.", &contracts[batch->count], problems))
        callback_check(&contracts[batch->count], batch->callback->idempotency_key != NULL,
                       "callback.", problems);
}

static bool read_batch(struct pawl *pawl, const struct pawl_batch *batch,
                       struct batch_request *request, struct pawl_error *err)
{
    struct problems *problems = request->problems;
    if (batch->count == 0 || batch->count > BATCH_JOBS_MAX || !batch->jobs)
        return fail(err, PAWL_INVALID, "jobs: must be 1 to %d of them", BATCH_JOBS_MAX);
    struct contract *contracts = arena_new(problems->arena, struct contract, batch->count + 1);
    if (!contracts)
        return fail(err, PAWL_NO_MEMORY, "no memory for a batch");
    read_jobs(pawl, batch, contracts, problems);
    request->org_id = pawl->caller.org_id;
    request->name = str_of(batch->name);
    request->jobs = contracts;
    request->count = batch->count;
    request->callback = batch->callback ? &contracts[batch->count] : NULL;
    return problems_none(problems, err);
}

bool pawl_batch_create(struct pawl *pawl, const struct pawl_batch *batch,
                       char batch_id[PAWL_ID_BYTES], struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct problems problems = { .arena = &arena };
    if (!handle_usable(pawl, err))
        return false;
    if (!batch || !batch_id)
        return fail(err, PAWL_USAGE, "there is no batch, or no place for its id: it is NULL");
    struct batching b = {
        .operation = { .run = write_batch, .arena = &arena, .caller = &pawl->caller },
        .request = { .problems = &problems },
    };
    if (!read_batch(pawl, batch, &b.request, err) || !loan_none_here(pawl, err)
        || !pipeline_do(pawl->pipeline, &b.operation, err))
        return false;
    id_format(b.batch.id, batch_id);
    return true;
}

static bool look(struct pawl *pawl, struct id id, struct arena *arena, struct job_batch *batch,
                 struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return handle_read(pawl, arena, &tx, err) && batch_load(&tx, id, batch, err);
}

bool pawl_batch_get(struct pawl *pawl, const char *batch_id, struct pawl_batch_status *status,
                    struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct job_batch batch;
    struct id id;
    if (!handle_usable(pawl, err))
        return false;
    if (!status)
        return fail(err, PAWL_USAGE, "there is no place for the answer: it is NULL");
    if (!id_parse(str_of(batch_id), &id))
        return fail(err, PAWL_NOT_FOUND, "%s is not the id of a batch",
                    batch_id ? batch_id : "NULL");
    pthread_mutex_lock(&pawl->reading);
    bool found = look(pawl, id, &arena, &batch, err);
    pthread_mutex_unlock(&pawl->reading);
    if (!found)
        return false;
    *status = (struct pawl_batch_status){
        .ended = batch.ended_at != 0,
        .jobs = batch.jobs,
        .succeeded = batch.succeeded,
        .failed = batch.failed,
        .timed_out = batch.timed_out,
    };
    if (batch.callback_job.high)
        id_format(batch.callback_job, status->callback_id);
    return true;
}
