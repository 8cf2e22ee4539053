// Routes that change jobs: submit, cancel, retry, change; one by its id, or many by a filter.
#include "base/json_put.h"
#include "engine/job_bulk.h"
#include "server/job_view.h"
#include "server/server.h"

// ----- one

static bool submit_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return job_submit(tx, o->id, &o->job, err);
}

static bool cancel_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return job_cancel(tx, o->id, &o->job, err);
}

// A run of this process hears of it at once.
static void tell_run(struct exchange *x, struct id job)
{
    char id[ID_TEXT + 1];
    id_format(job, id);
    handle_cancelled(x->server->pawl, id);
}

// 200: it has ended; 202: its worker was asked to stop.
static bool cancel_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    bool ended = job_state_final(o->job.state);
    if (!ended)
        tell_run(x, o->job.id);
    return job_answer(x, ended ? 200 : 202, &o->job, err);
}

static bool retry_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return job_retry(tx, o->id, &o->job, err);
}

struct changing {
    struct one_job one;
    struct str queue;
    int64_t priority;
    pawl_time scheduled_for;
    bool has_queue, has_priority, has_scheduled_for;
};

static const struct field change_body[] = {
    FIELD(struct changing, scheduled_for, FIELD_TIME,
          .given = offsetof(struct changing, has_scheduled_for),
          .summary = "not before this time"),
    FIELD(struct changing, priority, FIELD_NUMBER, .min = PRIORITY_MIN, .max = PRIORITY_MAX,
          .given = offsetof(struct changing, has_priority), .summary = "higher first"),
    FIELD(struct changing, queue, FIELD_TEXT, .min = 1, .max = NAME_BYTES_MAX,
          .given = offsetof(struct changing, has_queue), .summary = "the queue it goes to"),
};

static struct job_change change_of(const struct changing *c)
{
    return (struct job_change){
        .has_run_at = c->has_scheduled_for,
        .has_priority = c->has_priority,
        .has_queue = c->has_queue,
        .run_at = c->scheduled_for,
        .priority = c->priority,
        .queue = c->queue,
    };
}

static bool change_prepare(struct exchange *x, struct pawl_error *err)
{
    struct changing *c = x->data;
    struct job_change change = change_of(c);
    if (x->problems.count == 0 && !c->has_queue && !c->has_priority && !c->has_scheduled_for)
        problem_add(&x->problems, "", "must change scheduled_for, priority or queue");
    job_change_check(&change, world_wall(x->server->pawl->world), &x->problems);
    return one_job_prepare(x, err) && problems_none(&x->problems, err);
}

static bool change_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct changing *c = x->data;
    struct job_change change = change_of(c);
    return job_change(tx, c->one.id, &change, &c->one.job, err);
}

// ----- many

struct bulk {
    struct job_query query;
    struct str cursor;
    bool dry_run;
    struct job_bulk jobs;
};

static const struct field bulk_body[] = {
    JOB_QUERY_FIELDS(struct bulk, query, BULK_JOBS_MAX),
    FIELD(struct bulk, cursor, FIELD_TEXT, .summary = "next_cursor of the answer before"),
    FIELD(struct bulk, dry_run, FIELD_FLAG, .summary = "only say which jobs: nothing changes"),
};

static bool bulk_prepare(struct exchange *x, struct pawl_error *err)
{
    struct bulk *b = x->data;
    struct job_filter filter;
    job_query_read(x, &b->query, BULK_JOBS_MAX, &filter);
    if (x->problems.count == 0 && !job_filter_names(&filter))
        problem_add(&x->problems, "", "must name at least one of state, queue, job_type, "
                                      "serial_key, correlation_id, project_id, batch_id");
    exchange_cursor(x, b->cursor, &filter.before);
    b->jobs = (struct job_bulk){
        .filter = filter,
        .retry = str_ends(x->path, S("/retry")),
        .dry_run = b->dry_run,
    };
    return problems_none(&x->problems, err);
}

static bool bulk_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct bulk *b = x->data;
    return jobs_change(tx, &b->jobs, err);
}

static bool bulk_answer(struct exchange *x, struct pawl_error *err)
{
    struct bulk *b = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_bool(&out, "dry_run", b->dry_run);
    json_put_int(&out, "count", (int64_t)b->jobs.count);
    json_put_open(&out, "job_ids", '[');
    for (size_t i = 0; i < b->jobs.count; i++) {
        json_put_id(&out, NULL, b->jobs.jobs[i].id);
        if (b->jobs.jobs[i].running)
            tell_run(x, b->jobs.jobs[i].id);
    }
    json_put_close(&out, ']');
    json_put_bool(&out, "more", b->jobs.next != 0);
    json_put_text(&out, "next_cursor", exchange_next_cursor(x, b->jobs.next));
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

static const struct route rows[] = {
    {
        .method = "POST", .path = "/v1/jobs/cancel", .permission = MAY_CANCEL, .kind = ROUTE_WRITE,
        .summary = "Cancels the jobs of a filter that have not ended, at most 500 of them.",
        .data_bytes = sizeof(struct bulk), .body = FIELDS(bulk_body), .body_size = BODY_SMALL,
        .prepare = bulk_prepare, .act = bulk_act, .answer = bulk_answer,
        .schema = "Bulk", .statuses = { 200, 422 },
    },
    {
        .method = "POST", .path = "/v1/jobs/retry", .permission = MAY_RETRY, .kind = ROUTE_WRITE,
        .summary = "Makes a new job of each ended job of a filter that was not retried before; "
                   "job_ids are the new ones.",
        .data_bytes = sizeof(struct bulk), .body = FIELDS(bulk_body), .body_size = BODY_SMALL,
        .prepare = bulk_prepare, .act = bulk_act, .answer = bulk_answer,
        .schema = "Bulk", .statuses = { 200, 422 },
    },
    {
        .method = "POST", .path = "/v1/jobs/{id}/submit", .permission = MAY_ENQUEUE,
        .kind = ROUTE_WRITE, .summary = "CREATED -> QUEUED.",
        .data_bytes = sizeof(struct one_job), .body_size = BODY_SMALL, .body_optional = true,
        .prepare = one_job_prepare, .act = submit_act, .answer = one_job_answer,
        .schema = "Job", .statuses = { 200, 404, 409 },
    },
    {
        .method = "POST", .path = "/v1/jobs/{id}/cancel", .permission = MAY_CANCEL,
        .kind = ROUTE_WRITE,
        .summary = "Ends a job that waits (200), asks a running one to stop (202).",
        .data_bytes = sizeof(struct one_job), .body_size = BODY_SMALL, .body_optional = true,
        .prepare = one_job_prepare, .act = cancel_act, .answer = cancel_answer,
        .schema = "Job", .statuses = { 200, 202, 404, 409 },
    },
    {
        .method = "POST", .path = "/v1/jobs/{id}/retry", .permission = MAY_RETRY,
        .kind = ROUTE_WRITE, .summary = "Makes a new job from one that has ended.",
        .data_bytes = sizeof(struct one_job), .body_size = BODY_SMALL, .body_optional = true,
        .prepare = one_job_prepare, .act = retry_act, .answer = one_job_created,
        .schema = "Job", .statuses = { 201, 404, 409 },
    },
    {
        .method = "PATCH", .path = "/v1/jobs/{id}", .permission = MAY_CHANGE, .kind = ROUTE_WRITE,
        .summary = "Moves a job that waits: another time, priority or queue.",
        .data_bytes = sizeof(struct changing), .body = FIELDS(change_body),
        .body_size = BODY_SMALL,
        .prepare = change_prepare, .act = change_act, .answer = one_job_answer,
        .schema = "Job", .statuses = { 200, 404, 409, 422 },
    },
};
const struct routes routes_change = { rows, countof(rows) };
