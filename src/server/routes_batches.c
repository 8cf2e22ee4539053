// Routes of batches: store one with its jobs, see how far it is.
#include "base/json_put.h"
#include "server/batch_json.h"
#include "server/batch_read.h"
#include "server/route.h"
#include "server/server.h"

struct batching {
    struct id id;
    struct str name, project_id, idempotency_key;
    const json_t *jobs, *callback;
    struct batch_request request;
    struct job_batch batch;
    bool known;
};

static const struct field create_body[] = {
    FIELD(struct batching, jobs, FIELD_OBJECTS, .required = true, .min = 1, .max = BATCH_JOBS_MAX,
          .schema = "NewJob", .summary = "the jobs, all of them new"),
    FIELD(struct batching, callback, FIELD_OBJECT, .schema = "NewJob",
          .summary = "the job that is made when all have ended, however they did"),
    FIELD(struct batching, name, FIELD_TEXT, .min = 1, .max = KEY_BYTES_MAX,
          .summary = "for people"),
    FIELD(struct batching, project_id, FIELD_TEXT, .summary = "of the batch and its callback"),
    FIELD(struct batching, idempotency_key, FIELD_TEXT, .min = 1, .max = KEY_BYTES_MAX,
          .summary = "the same key is the same batch"),
};

static bool create_prepare(struct exchange *x, struct pawl_error *err)
{
    struct batching *b = x->data;
    pawl_time now = world_wall(x->server->pawl->world);
    bool operator_asks = role_may(x->identity.role, MAY_QUEUES);
    struct contract_rules rules = config_rules(x->config, &x->caller, now, operator_asks);
    struct batch_given given = {
        .name = b->name,
        .project_id = b->project_id,
        .idempotency_key = b->idempotency_key,
        .jobs = b->jobs,
        .callback = b->callback,
        .whole = x->body,
    };
    int64_t most = x->config->limits.bulk_jobs;
    if (json_array_size(b->jobs) > (size_t)most)
        problem_add(&x->problems, "jobs", "must be at most %lld jobs", (long long)most);
    if (!batch_read(&given, &rules, &b->request, &x->problems))
        return fail(err, PAWL_NO_MEMORY, "no memory for a batch");
    return problems_none(&x->problems, err);
}

// May be run again: what an earlier run found wrong does not count.
static bool create_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct batching *b = x->data;
    problems_forget(&x->problems);
    return batch_create(tx, &b->request, &b->batch, &b->known, err);
}

static bool answer(struct exchange *x, int status, const struct batching *b,
                   struct pawl_error *err)
{
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    batch_put(&out, &b->batch);
    if (b->known)
        json_put_bool(&out, "deduplicated", true);
    json_put_close(&out, '}');
    return exchange_answer_text(x, status, &out, err);
}

static bool create_answer(struct exchange *x, struct pawl_error *err)
{
    struct batching *b = x->data;
    x->location = str_format(&x->arena, "/v1/batches/%.*s", STR(id_text(&x->arena, b->batch.id)))
                      .s;
    return answer(x, b->known ? 200 : 201, b, err);
}

static bool one_prepare(struct exchange *x, struct pawl_error *err)
{
    struct batching *b = x->data;
    return exchange_id(x, 0, &b->id, err);
}

static bool one_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct batching *b = x->data;
    return batch_load(tx, b->id, &b->batch, err);
}

static bool one_answer(struct exchange *x, struct pawl_error *err)
{
    return answer(x, 200, x->data, err);
}

static const struct route rows[] = {
    {
        .method = "POST", .path = "/v1/batches", .permission = MAY_ENQUEUE, .kind = ROUTE_WRITE,
        .summary = "Stores jobs that belong together, and what to do when all have ended.",
        .data_bytes = sizeof(struct batching), .body = FIELDS(create_body),
        .body_size = BODY_BULK,
        .prepare = create_prepare, .act = create_act, .answer = create_answer,
        .schema = "JobBatch", .statuses = { 201, 200, 409, 422 },
    },
    {
        .method = "GET", .path = "/v1/batches/{id}", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "How many jobs of a batch have ended, and how.",
        .data_bytes = sizeof(struct batching),
        .prepare = one_prepare, .act = one_act, .answer = one_answer,
        .schema = "JobBatch", .statuses = { 200, 404 },
    },
};
const struct routes routes_batches = { rows, countof(rows) };
