// Routes of jobs: enqueue, list, look, wait for the end.
#include "base/json_put.h"
#include "engine/artifact.h"
#include "engine/links.h"
#include "model/input.h"
#include "server/hub.h"
#include "server/job_view.h"
#include "server/route.h"
#include "server/server.h"

enum { PAGE_JOBS = 50, PAGE_JOBS_MAX = 500 };

// ----- enqueue

struct enqueueing {
    size_t count;
    bool bulk;
    struct contract *contracts;
    struct enqueued {
        struct job job;
        bool known;
        struct pawl_error error;
    } * results;
};

// Whether there is a list whose jobs can be looked at.
static bool bulk_count(struct exchange *x, const json_t *jobs, size_t *count)
{
    int64_t most = x->config->limits.bulk_jobs;
    *count = json_array_size(jobs);
    if (json_object_size(x->body) != 1)
        problem_add(&x->problems, "jobs", "must stand alone: what a job needs is in its object");
    if (!json_is_array(jobs) || *count == 0)
        problem_add(&x->problems, "jobs", "must be a list of at least one job");
    else if (*count > (size_t)most)
        problem_add(&x->problems, "jobs", "must be at most %lld jobs", (long long)most);
    return *count > 0 && *count <= (size_t)most;
}

static void read_one(struct exchange *x, const json_t *object, const char *prefix,
                     struct contract *contract)
{
    pawl_time now = world_wall(x->server->pawl->world);
    bool operator_asks = role_may(x->identity.role, MAY_QUEUES);
    struct contract_rules rules = config_rules(x->config, &x->caller, now, operator_asks);
    if (!json_is_object(object)) {
        problem_add(&x->problems, prefix, "must be an object");
        return;
    }
    if (contract_read(object, &rules, prefix, contract, &x->problems) && !contract->traceparent.n)
        contract->traceparent = exchange_context(x);
}

static bool enqueue_prepare(struct exchange *x, struct pawl_error *err)
{
    struct enqueueing *e = x->data;
    const json_t *jobs = json_object_get(x->body, "jobs");
    e->bulk = jobs != NULL;
    e->count = 1;
    if (e->bulk && !bulk_count(x, jobs, &e->count))
        return problems_none(&x->problems, err);
    e->contracts = arena_new(&x->arena, struct contract, e->count);
    e->results = arena_new(&x->arena, struct enqueued, e->count);
    if (!e->contracts || !e->results)
        return fail(err, PAWL_NO_MEMORY, "no memory for %zu jobs", e->count);
    if (!e->bulk)
        read_one(x, x->body, "", &e->contracts[0]);
    for (size_t i = 0; e->bulk && i < e->count; i++)
        read_one(x, json_array_get(jobs, i), str_format(&x->arena, "jobs[%zu].", i).s,
                 &e->contracts[i]);
    return problems_none(&x->problems, err);
}

// Inputs belong to the contract, but only the store knows them.
static bool check_inputs(struct exchange *x, struct tx *tx, const struct enqueueing *e,
                         struct pawl_error *err)
{
    for (size_t i = 0; i < e->count; i++) {
        const char *prefix = e->bulk ? str_format(&x->arena, "jobs[%zu].", i).s : "";
        if (policy_has_inputs(&e->contracts[i].policy)
            && !inputs_check(tx, &e->contracts[i], prefix, &x->problems, err))
            return false;
    }
    return problems_none(&x->problems, err);
}

static bool any_has_inputs(const struct enqueueing *e)
{
    bool any = false;
    for (size_t i = 0; i < e->count; i++)
        any |= policy_has_inputs(&e->contracts[i].policy);
    return any;
}

// The jobs and batches that a refused job names and that there are not, each by its place.
static bool name_links(struct exchange *x, struct tx *tx, size_t i, struct pawl_error *err)
{
    struct enqueueing *e = x->data;
    struct link_plan plan;
    struct str prefix = e->bulk ? str_format(&x->arena, "jobs[%zu].", i) : S("");
    return links_plan(tx, &e->contracts[i], prefix.s, &x->problems, &plan, err);
}

// In bulk each job has its own answer; what is no refusal ends them all.
static bool enqueue_each(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct enqueueing *e = x->data;
    if (any_has_inputs(e) && !check_inputs(x, tx, e, err))
        return false;
    for (size_t i = 0; i < e->count; i++) {
        struct enqueued *r = &e->results[i];
        struct pawl_error why = {0};
        bool stored = job_enqueue(tx, &e->contracts[i], &r->job, &r->known, &why);
        if (!stored && why.code == PAWL_INVALID && !name_links(x, tx, i, err))
            return false;
        if (!stored && (!e->bulk || !pawl_code(why.code)->refusal))
            return fail(err, why.code, "%s", why.message);
        r->error = why;
    }
    return problems_none(&x->problems, err);
}

static bool any_linked(const struct enqueueing *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->contracts[i].after_count > 0 || e->contracts[i].batch.high)
            return true;
    return false;
}

// When one of many names a job that there is not, nothing is stored. May be run again: what an
// earlier run found wrong does not count.
static bool enqueue_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct enqueueing *e = x->data;
    struct pawl_error why = {0};
    problems_forget(&x->problems);
    if (!e->bulk || !any_linked(e))
        return enqueue_each(x, tx, err);
    if (!tx_mark(tx, err))
        return false;
    if (enqueue_each(x, tx, &why))
        return tx_keep(tx, err);
    return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
}

static int enqueued_status(const struct enqueued *r)
{
    if (r->error.code != PAWL_OK)
        return pawl_code(r->error.code)->http;
    return r->known ? 200 : 201;
}

static void put_job(struct exchange *x, struct buf *out, const char *name,
                    const struct enqueued *r)
{
    json_put_open(out, name, '{');
    job_view(x, out, &r->job);
    if (r->known)
        json_put_bool(out, "deduplicated", true);
    json_put_close(out, '}');
}

static void put_result(struct exchange *x, struct buf *out, const struct enqueued *r)
{
    json_put_open(out, NULL, '{');
    json_put_int(out, "status", enqueued_status(r));
    if (r->error.code == PAWL_OK)
        put_job(x, out, "job", r);
    else
        exchange_put_error(out, &r->error);
    json_put_close(out, '}');
}

static bool enqueue_answer(struct exchange *x, struct pawl_error *err)
{
    struct enqueueing *e = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    if (!e->bulk) {
        if (!e->results->known)
            x->location = str_format(&x->arena, "/v1/jobs/%.*s",
                                     STR(id_text(&x->arena, e->results->job.id)))
                              .s;
        put_job(x, &out, NULL, e->results);
        return exchange_answer_text(x, enqueued_status(e->results), &out, err);
    }
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "results", '[');
    for (size_t i = 0; i < e->count; i++)
        put_result(x, &out, &e->results[i]);
    json_put_close(&out, ']');
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

// ----- list

struct listing {
    struct job_query query;
    struct str cursor;
    struct job_filter filter;
    struct job_list page;
};

static const struct field list_query[] = {
    JOB_QUERY_FIELDS(struct listing, query, PAGE_JOBS_MAX),
    FIELD(struct listing, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static bool list_prepare(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    job_query_read(x, &l->query, PAGE_JOBS, &l->filter);
    exchange_cursor(x, l->cursor, &l->filter.before);
    return problems_none(&x->problems, err);
}

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return job_find(tx, &l->filter, &l->page, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "items", '[');
    for (size_t i = 0; i < l->page.count; i++) {
        json_put_open(&out, NULL, '{');
        job_view(x, &out, &l->page.jobs[i]);
        json_put_close(&out, '}');
    }
    json_put_close(&out, ']');
    json_put_text(&out, "next_cursor", exchange_next_cursor(x, l->page.next));
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

// ----- one job

static const struct field one_query[] = {
    FIELD(struct one_job, wait_ms, FIELD_CLAMPED, .max = 30000,
          .summary = "waits so long for the end of the job, at most 30 s"),
};

static bool wait_prepare(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    if (!one_job_prepare(x, err))
        return false;
    if (o->wait_ms == 0)
        return true;
    int64_t wait_us = MILLISECONDS(o->wait_ms), most = x->config->limits.wait_us;
    x->wait_until = x->began + (wait_us < most ? wait_us : most);
    return hub_enter_job(x, o->id, err);
}

static bool one_read(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_job *o = x->data;
    if (!job_load(tx, o->id, &o->job, err))
        return false;
    x->again = x->topic && !job_state_final(o->job.state);
    return true;
}

static const struct route rows[] = {
    {
        .method = "POST", .path = "/v1/jobs", .permission = MAY_ENQUEUE, .kind = ROUTE_WRITE,
        .begins_trace = true,
        .summary = "Stores a job, or many in `jobs`. A known idempotency_key gets its job.",
        .data_bytes = sizeof(struct enqueueing), .body_size = BODY_BULK, .body_raw = true,
        .body_schema = "Enqueue",
        .prepare = enqueue_prepare, .act = enqueue_act, .answer = enqueue_answer,
        .schema = "Enqueued", .statuses = { 201, 200, 409, 422 },
    },
    {
        .method = "GET", .path = "/v1/jobs", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "The newest jobs first. A page may be short and still have a next one.",
        .data_bytes = sizeof(struct listing), .query = FIELDS(list_query),
        .prepare = list_prepare, .act = list_act, .answer = list_answer,
        .schema = "JobPage", .statuses = { 200, 422 },
    },
    {
        .method = "GET", .path = "/v1/jobs/{id}", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "One job; with wait_ms, when it has ended or the time is over.",
        .data_bytes = sizeof(struct one_job), .query = FIELDS(one_query),
        .prepare = wait_prepare, .act = one_read, .answer = one_job_answer,
        .schema = "Job", .statuses = { 200, 404, 422 },
    },
};
const struct routes routes_jobs = { rows, countof(rows) };
