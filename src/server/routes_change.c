// Routes that change jobs: submit, cancel, retry, change; one by its id, or many by a filter.
#include "base/list.h"
#include "server/job_view.h"
#include "server/server.h"

enum { BULK_MAX = 1000 };

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
static void tell_run(struct exchange *x, const struct job *job)
{
    char id[ID_TEXT + 1];
    id_format(job->id, id);
    if (!job_state_final(job->state))
        handle_cancelled(x->server->pawl, id);
}

// 200: it has ended; 202: its worker was asked to stop.
static bool cancel_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_job *o = x->data;
    tell_run(x, &o->job);
    return job_answer(x, job_state_final(o->job.state) ? 200 : 202, &o->job, err);
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

static bool change_prepare(struct exchange *x, struct pawl_error *err)
{
    struct changing *c = x->data;
    if (!c->has_queue && !c->has_priority && !c->has_scheduled_for)
        problem_add(&x->problems, "", "must change scheduled_for, priority or queue");
    return one_job_prepare(x, err) && problems_none(&x->problems, err);
}

static bool change_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct changing *c = x->data;
    struct job_change change = {
        .has_run_at = c->has_scheduled_for,
        .has_priority = c->has_priority,
        .has_queue = c->has_queue,
        .run_at = c->scheduled_for,
        .priority = c->priority,
        .queue = c->queue,
    };
    return job_change(tx, c->one.id, &change, &c->one.job, err);
}

// ----- many

struct bulk {
    struct job_query query;
    bool dry_run;
    struct job_filter filter;
    struct list changed;  // struct job
    bool more;
};

static const struct field bulk_body[] = {
    JOB_QUERY_FIELDS(struct bulk, query, BULK_MAX),
    FIELD(struct bulk, dry_run, FIELD_FLAG, .summary = "only say which jobs: nothing changes"),
};

// A filter that names nothing would be everything: that must be meant.
static bool bulk_prepare(struct exchange *x, struct pawl_error *err)
{
    struct bulk *b = x->data;
    const struct job_query *q = &b->query;
    if (!q->state.n && !q->queue.n && !q->job_type.n && !q->serial_key.n && !q->correlation_id.n
        && !q->project_id.n)
        problem_add(&x->problems, "", "must name at least one of state, queue, job_type, "
                                      "serial_key, correlation_id, project_id");
    job_query_read(x, q, BULK_MAX, &b->filter);
    return problems_none(&x->problems, err);
}

typedef bool (*job_change_one)(struct tx *tx, struct id id, struct job *job,
                               struct pawl_error *err);

// A job whose state does not allow it is left out, as if the filter did not have it.
static bool bulk_page(struct bulk *b, struct tx *tx, const struct job_list *page,
                      job_change_one change, bool final, struct pawl_error *err)
{
    for (size_t i = 0; i < page->count; i++) {
        struct job job = page->jobs[i];
        struct pawl_error why = {0};
        if (job_state_final(job.state) != final)
            continue;
        if (!b->dry_run && !change(tx, page->jobs[i].id, &job, &why)) {
            if (!pawl_code(why.code)->refusal)
                return fail(err, why.code, "%s", why.message);
            continue;
        }
        struct job *changed = list_add(&b->changed);
        if (!changed)
            return fail(err, PAWL_NO_MEMORY, "no memory for so many jobs");
        *changed = job;
    }
    return true;
}

static bool bulk_do(struct exchange *x, struct tx *tx, job_change_one change, bool final,
                    struct pawl_error *err)
{
    enum { PAGES_MAX = 20 };
    struct bulk *b = x->data;
    struct job_filter filter = b->filter;
    int64_t wanted = b->filter.limit;
    b->changed = list_of(tx->arena, sizeof(struct job));
    b->more = true;
    for (int page = 0; page < PAGES_MAX && b->more && wanted > 0; page++) {
        struct job_list list;
        filter.limit = wanted;
        if (!job_find(tx, &filter, &list, err) || !bulk_page(b, tx, &list, change, final, err))
            return false;
        wanted = b->filter.limit - (int64_t)b->changed.count;
        filter.before = list.next;
        b->more = list.next != 0;
    }
    return true;
}

static bool bulk_cancel(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return bulk_do(x, tx, job_cancel, false, err);
}

static bool bulk_retry(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return bulk_do(x, tx, job_retry, true, err);
}

static bool bulk_answer(struct exchange *x, struct pawl_error *err)
{
    struct bulk *b = x->data;
    const struct job *jobs = b->changed.items;
    json_t *ids = json_array();
    for (size_t i = 0; i < b->changed.count; i++) {
        struct str id = id_text(&x->arena, jobs[i].id);
        json_array_append_new(ids, json_stringn(id.s, id.n));
        if (!b->dry_run)
            tell_run(x, &jobs[i]);
    }
    return exchange_answer(x, 200,
                           json_pack("{s:b,s:I,s:o,s:b}", "dry_run", b->dry_run, "count",
                                     (json_int_t)b->changed.count, "job_ids", ids, "more",
                                     b->more),
                           err);
}

static const struct route rows[] = {
    {
        .method = "POST", .path = "/v1/jobs/cancel", .permission = MAY_CANCEL, .kind = ROUTE_WRITE,
        .summary = "Cancels the jobs of a filter that have not ended; see `more` for the rest.",
        .data_bytes = sizeof(struct bulk), .body = FIELDS(bulk_body), .body_size = BODY_SMALL,
        .prepare = bulk_prepare, .act = bulk_cancel, .answer = bulk_answer,
        .schema = "Bulk", .statuses = { 200, 422 },
    },
    {
        .method = "POST", .path = "/v1/jobs/retry", .permission = MAY_RETRY, .kind = ROUTE_WRITE,
        .summary = "Makes a new job of each ended job of a filter; job_ids are the new ones.",
        .data_bytes = sizeof(struct bulk), .body = FIELDS(bulk_body), .body_size = BODY_SMALL,
        .prepare = bulk_prepare, .act = bulk_retry, .answer = bulk_answer,
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
