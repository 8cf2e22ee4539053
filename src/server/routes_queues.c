// Routes of queues: what waits in the caller's share of each, and pausing, resuming, emptying it.
#include "engine/queue.h"
#include "server/job_view.h"
#include "server/server.h"

// In one request, which is one transaction: jobs that end, and rows that are looked at for them, of
// which many may be other orgs'.
enum { PURGE_JOBS = 2000, PURGE_ROWS = 100000 };

struct queueing {
    struct queue_view *queues;
    size_t count;
    int64_t waiting, ended;
    bool dry_run;
    struct purge purge;
};

// ----- list

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct queueing *q = x->data;
    return queues_list(tx, &q->queues, &q->count, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    struct queueing *q = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < q->count; i++)
        json_array_append_new(items, queue_json(&x->arena, &q->queues[i]));
    return exchange_answer(x, 200, exchange_page(x, items, 0), err);
}

// ----- stats: the same in one line, for the overview

static bool stats_answer(struct exchange *x, struct pawl_error *err)
{
    struct queueing *q = x->data;
    json_t *places = json_object();
    for (int place = 0; place < PLACES; place++) {
        int64_t jobs = 0;
        for (size_t i = 0; i < q->count; i++)
            jobs += q->queues[i].at[place];
        json_object_set_new(places, queue_place_name((enum queue_place)place), json_integer(jobs));
    }
    pawl_time now = world_wall(x->server->pawl->world);
    return exchange_answer(x, 200,
                           json_pack("{s:o,s:I,s:I}", "jobs", places, "uptime_seconds",
                                     (json_int_t)((now - x->server->started_at) / SECONDS(1)),
                                     "runner_workers",
                                     (json_int_t)x->server->pawl->options.workers),
                           err);
}

// ----- pause and resume

static bool pause_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return queue_pause(tx, x->path_parts[0], err);
}

static bool resume_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return queue_resume(tx, x->path_parts[0], err);
}

static bool paused_answer(struct exchange *x, struct pawl_error *err)
{
    bool paused = str_ends(x->path, S("/pause"));
    return exchange_answer(x, 200,
                           json_pack("{s:s%,s:b}", "queue", x->path_parts[0].s,
                                     x->path_parts[0].n, "paused", paused),
                           err);
}

// ----- purge

static const struct field purge_body[] = {
    FIELD(struct queueing, dry_run, FIELD_FLAG, .summary = "only say how many would end"),
};

static bool purge_pieces(struct tx *tx, struct queueing *q, struct pawl_error *err)
{
    while (!q->purge.done && q->ended < PURGE_JOBS && q->purge.looked_at < PURGE_ROWS) {
        if (!queue_purge(tx, &q->purge, PURGE_JOBS, err))
            return false;
        q->ended += (int64_t)q->purge.ended;
    }
    return true;
}

static bool purge_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct queueing *q = x->data;
    q->purge = (struct purge){ .queue = x->path_parts[0] };
    q->ended = 0;
    return queue_waiting(tx, x->path_parts[0], &q->waiting, err)
        && (q->dry_run || purge_pieces(tx, q, err));
}

static bool purge_answer(struct exchange *x, struct pawl_error *err)
{
    struct queueing *q = x->data;
    int64_t ended = q->dry_run ? q->waiting : q->ended;
    return exchange_answer(x, 200,
                           json_pack("{s:s%,s:b,s:I,s:b}", "queue", x->path_parts[0].s,
                                     x->path_parts[0].n, "dry_run", q->dry_run, "count",
                                     (json_int_t)ended, "more", !q->dry_run && !q->purge.done),
                           err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/queues", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "The queues, and what of the caller's org waits and runs in them.",
        .data_bytes = sizeof(struct queueing), .act = list_act, .answer = list_answer,
        .schema = "QueuePage", .statuses = { 200 },
    },
    {
        .method = "GET", .path = "/v1/stats", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "Numbers for an overview: the caller's org in all queues.",
        .data_bytes = sizeof(struct queueing), .act = list_act, .answer = stats_answer,
        .schema = "Stats", .statuses = { 200 },
    },
    {
        .method = "POST", .path = "/v1/queues/{name}/pause", .permission = MAY_QUEUES,
        .kind = ROUTE_WRITE, .summary = "Nothing of the org's share can be claimed any more.",
        .data_bytes = sizeof(struct queueing), .body_size = BODY_SMALL, .body_optional = true,
        .act = pause_act, .answer = paused_answer,
        .schema = "Paused", .statuses = { 200, 404 },
    },
    {
        .method = "POST", .path = "/v1/queues/{name}/resume", .permission = MAY_QUEUES,
        .kind = ROUTE_WRITE, .summary = "The org's share can be claimed again.",
        .data_bytes = sizeof(struct queueing), .body_size = BODY_SMALL, .body_optional = true,
        .act = resume_act, .answer = paused_answer,
        .schema = "Paused", .statuses = { 200, 404 },
    },
    {
        .method = "POST", .path = "/v1/queues/{name}/purge", .permission = MAY_QUEUES,
        .kind = ROUTE_WRITE,
        .summary = "Ends what waits in the org's share; ask again as long as there is `more`.",
        .data_bytes = sizeof(struct queueing), .body = FIELDS(purge_body),
        .body_size = BODY_SMALL, .body_optional = true,
        .act = purge_act, .answer = purge_answer,
        .schema = "Purged", .statuses = { 200, 404, 422 },
    },
};
const struct routes routes_queues = { rows, countof(rows) };
