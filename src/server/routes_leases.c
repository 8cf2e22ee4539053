// The route by which remote workers get work: POST /v1/leases, a long-poll.
#include "base/json_put.h"
#include "engine/execution.h"
#include "engine/trace.h"
#include "server/hub.h"
#include "server/job_view.h"
#include "server/server.h"
#include "server/tracer.h"

enum { QUEUES_MAX = 64,
       TYPES_MAX = 256,
       WAIT_MS_MAX = 30000,
       LEASE_BYTES = 2048 };  // of an answer, with a small payload

struct leasing {
    struct str worker_id;
    struct texts queues, job_types;
    int64_t max, lease_ms, wait_ms;
    bool start;
    struct claimed *claimed;
    size_t count;
};

static const struct field lease_body[] = {
    FIELD(struct leasing, worker_id, FIELD_TEXT, .required = true, .min = 1, .max = KEY_BYTES_MAX,
          .summary = "who works: the same name with every call about what is leased"),
    FIELD(struct leasing, queues, FIELD_TEXTS, .required = true, .min = 1, .max = QUEUES_MAX,
          .summary = "where to look"),
    FIELD(struct leasing, job_types, FIELD_TEXTS, .max = TYPES_MAX,
          .summary = "only jobs of these types; else of all"),
    FIELD(struct leasing, max, FIELD_NUMBER, .min = 1, .max = CLAIM_MAX,
          .summary = "how many jobs at most; else 1"),
    FIELD(struct leasing, lease_ms, FIELD_CLAMPED, .min = 1000, .max = 3600000,
          .summary = "how long the leases last without a heartbeat; else as the policies say"),
    FIELD(struct leasing, wait_ms, FIELD_CLAMPED, .max = WAIT_MS_MAX,
          .summary = "how long to wait when there is nothing; else not at all"),
    FIELD(struct leasing, start, FIELD_FLAG, .summary = "lease and start in one step"),
};

static struct claim claim_of(struct exchange *x)
{
    const struct leasing *l = x->data;
    return (struct claim){
        .worker = { .worker_id = l->worker_id },
        .queues = l->queues.at,
        .queue_count = l->queues.count,
        .job_types = l->job_types.at,
        .job_type_count = l->job_types.count,
        .limit = (size_t)l->max,
        .turns = &x->server->turns,
        .lease_us = MILLISECONDS(l->lease_ms),
        .start = l->start,
    };
}

static bool lease_prepare(struct exchange *x, struct pawl_error *err)
{
    struct leasing *l = x->data;
    int64_t wait_us = MILLISECONDS(l->wait_ms);
    int64_t most = x->config->limits.wait_us;
    l->max = l->max ? l->max : 1;
    struct claim claim = claim_of(x);
    claim_check(&claim, &x->problems);
    if (!problems_none(&x->problems, err))
        return false;
    if (wait_us == 0)
        return true;
    x->wait_until = x->began + (wait_us < most ? wait_us : most);
    return hub_enter_lane(x, &l->queues, &l->job_types, err);
}

static bool lease_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct leasing *l = x->data;
    pawl_time more_at = 0;
    struct claim claim = claim_of(x);
    claim.more_at = &more_at;
    if (!execution_claim(tx, &claim, &l->claimed, &l->count, err))
        return false;
    if (more_at)
        hub_look_at(x->server->hub, tx->monotonic + (more_at - tx->now));
    x->again = l->count == 0 && x->topic;
    return true;
}

static void put_lease(struct exchange *x, struct buf *out, const struct claimed *c)
{
    json_put_open(out, NULL, '{');
    execution_put(out, &c->execution);
    json_put_text(out, "phase", c->finish ? S("finish") : S("work"));
    if (x->server->tracer)
        json_put_text(out, "traceparent",
                      traced_context_of(&x->arena, c->job.contract.traceparent, c->job.id,
                                        c->execution.id, tracer_share(x->server->tracer)));
    json_put_open(out, "job", '{');
    job_view(x, out, &c->job);
    json_put_close(out, '}');
    json_put_close(out, '}');
}

static bool lease_answer(struct exchange *x, struct pawl_error *err)
{
    struct leasing *l = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    buf_expect(&out, l->count * LEASE_BYTES);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "executions", '[');
    for (size_t i = 0; i < l->count; i++)
        put_lease(x, &out, &l->claimed[i]);
    json_put_close(&out, ']');
    json_put_close(&out, '}');
    if (l->count == (size_t)l->max)
        hub_lane_goes_on(x);
    return exchange_answer_text(x, 200, &out, err);
}

// ----- an answer nobody heard

// What was leased for a client that left before its answer was sent is given back, as its worker
// would: else the jobs would wait for the leases to run out, and lose an attempt.
struct giving_back {
    struct operation operation;
    struct arena arena;
    struct caller caller;
    struct str worker_id;
    struct giving_back_one {
        struct id execution;
        int64_t attempt;
    } * all;
    size_t count;
};

static bool give_back_write(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct giving_back *g = (struct giving_back *)self;
    for (size_t i = 0; i < g->count; i++) {
        struct lease lease = { .execution = g->all[i].execution,
                               .attempt = g->all[i].attempt,
                               .worker = { .worker_id = g->worker_id } };
        struct execution execution;
        struct pawl_error why = {0};
        if (!execution_release(tx, &lease, &execution, &why) && !pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
    }
    return true;
}

static void give_back_answered(struct operation *self)
{
    struct giving_back *g = (struct giving_back *)self;
    struct arena arena = g->arena;  // it is in it
    arena_end(&arena);
}

static struct giving_back *giving_back_of(const struct exchange *x, const struct leasing *l)
{
    struct arena arena = {0};
    struct giving_back *g = arena_new(&arena, struct giving_back, 1);
    struct giving_back_one *all = arena_new(&arena, struct giving_back_one, l->count);
    for (size_t i = 0; all && i < l->count; i++)
        all[i] = (struct giving_back_one){ l->claimed[i].execution.id,
                                           l->claimed[i].execution.attempt };
    if (!g || !all) {
        arena_end(&arena);
        return NULL;
    }
    g->worker_id = str_dup(&arena, l->worker_id);
    g->caller = (struct caller){
        .org_id = str_dup(&arena, x->caller.org_id),
        .actor_type = x->caller.actor_type,
        .actor_id = str_dup(&arena, x->caller.actor_id),
        .request_id = str_dup(&arena, x->caller.request_id),
        .correlation_id = str_dup(&arena, x->caller.correlation_id),
    };
    g->all = all;
    g->count = l->count;
    g->arena = arena;
    return g;
}

static void lease_ended(struct exchange *x, bool sent)
{
    const struct leasing *l = x->data;
    struct pawl_error err = {0};
    if (sent || !l || l->count == 0 || x->status != 200)
        return;
    struct giving_back *g = giving_back_of(x, l);
    if (!g)
        return;
    g->operation = (struct operation){ .run = give_back_write,
                                       .answered = give_back_answered,
                                       .arena = &g->arena,
                                       .caller = &g->caller };
    if (!pipeline_submit(x->server->pawl->pipeline, &g->operation, &err))
        give_back_answered(&g->operation);
}

static const struct route rows[] = {
    {
        .method = "POST", .path = "/v1/leases", .permission = MAY_LEASE, .kind = ROUTE_WRITE,
        .summary = "Leases jobs to a worker; waits up to wait_ms when there are none.",
        .data_bytes = sizeof(struct leasing), .body = FIELDS(lease_body), .body_size = BODY_SMALL,
        .prepare = lease_prepare, .act = lease_act, .answer = lease_answer,
        .ended = lease_ended,
        .schema = "Leases", .statuses = { 200, 422 },
    },
};
const struct routes routes_leases = { rows, countof(rows) };
