// What people see of queues: numbers from the counters, and one look into `ready` for the oldest.
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "model/json_field.h"
#include "store/names.h"

enum { LANES_LOOKED_AT = 10000,  // types, orgs and priorities of a queue
       ROWS_LOOKED_AT = 100 };   // how far into each type, for the share of an org

// The view of this name, made when there is none; NULL without memory or beyond the maximum.
static struct queue_view *view_named(struct list *views, struct str name)
{
    struct queue_view *all = views->items;
    for (size_t i = 0; i < views->count; i++)
        if (str_eq(all[i].name, name))
            return &all[i];
    struct queue_view *view = views->count < QUEUES_LISTED_MAX ? list_add(views) : NULL;
    if (view)
        view->name = name;
    return view;
}

static bool view_of(struct tx *tx, struct list *views, int64_t number, struct queue_view **view,
                    struct pawl_error *err)
{
    struct str name;
    if (!name_text(tx, NAME_QUEUE, number, &name, err))
        return false;
    *view = view_named(views, name);
    if (*view)
        (*view)->number = number;
    return true;
}

static bool add_terms(struct tx *tx, struct list *views, const struct queue_terms *terms,
                      struct pawl_error *err)
{
    for (size_t i = 0; terms && i < terms->count; i++) {
        struct queue_view *view = view_named(views, terms->rows[i].name);
        if (view && !name_find(tx, NAME_QUEUE, view->name, &view->number, err))
            return false;
    }
    return true;
}

static void take_counts(struct queue_view *view, const struct queue_count *count)
{
    memcpy(view->at, count->at, sizeof view->at);
    memcpy(view->a_minute, count->a_minute, sizeof view->a_minute);
}

static bool add_counts(struct tx *tx, struct list *views, int64_t org, struct pawl_error *err)
{
    struct queue_count *counts = NULL;
    size_t count = 0;
    if (!counts_of_org(tx, org, &counts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct queue_view *view = NULL;
        if (!view_of(tx, views, counts[i].queue, &view, err))
            return false;
        if (view)
            take_counts(view, &counts[i]);
    }
    return true;
}

static bool add_shares(struct tx *tx, struct list *views, int64_t org, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_SHARES_OF_ORG, err, INT(org)))
        return false;
    while (rows_next(&rows)) {
        struct queue_view *view = NULL;
        if (!view_of(tx, views, row_int(&rows), &view, err))
            return false;
        if (!view)
            continue;
        view->share_paused_at = row_int(&rows);
        view->share_paused_by = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

// Whoever looks at every org sees queues that are empty, too.
static bool add_all(struct tx *tx, struct list *views, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_QUEUE_PAGE, err, INT(0), INT(QUEUES_LISTED_MAX)))
        return false;
    while (rows_next(&rows)) {
        int64_t number = row_int(&rows);
        struct queue_view *view = view_named(views, row_text(&rows));
        if (view)
            view->number = number;
    }
    return rows_ok(&rows, err);
}

static bool oldest_in(struct tx *tx, int64_t number, int64_t org, int64_t *job,
                      struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    bool asked = org ? sql_ask(tx, &rows, Q_QUEUE_OLDEST_READY_OF_ORG, err, INT(number), INT(org),
                               INT(ROWS_LOOKED_AT))
                     : sql_ask(tx, &rows, Q_QUEUE_OLDEST_READY, err, INT(number),
                               INT(LANES_LOOKED_AT));
    return asked && rows_number(&rows, job, err);
}

bool queue_ready_since(struct tx *tx, int64_t job, pawl_time *since, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_JOB_READY_SINCE, err, INT(job)) && rows_number(&rows, since, err);
}

static bool find_oldest(struct tx *tx, int64_t org, struct queue_view *view,
                        struct pawl_error *err)
{
    int64_t oldest = 0;
    if (view->at[PLACE_READY] == 0)
        return true;
    if (!oldest_in(tx, view->number, org, &oldest, err))
        return false;
    return oldest == 0 || queue_ready_since(tx, oldest, &view->oldest_ready_at, err);
}

static bool complete(struct tx *tx, int64_t org, struct queue_view *view, struct pawl_error *err)
{
    view->term = queue_term_of(tx->queue_terms, view->name);
    return view->number == 0
        || (queue_paused(tx, view->number, &view->paused_at, err)
            && limit_in_force(tx, LIMIT_QUEUE, view->number, &view->limit, err)
            && find_oldest(tx, org, view, err));
}

static int by_name(const void *left, const void *right)
{
    const struct queue_view *a = left, *b = right;
    size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
    int order = memcmp(a->name.s, b->name.s, n);
    return order ? order : a->name.n < b->name.n ? -1
                                                 : a->name.n > b->name.n;
}

bool queues_list(struct tx *tx, struct queue_view **queues, size_t *count, struct pawl_error *err)
{
    struct list views = list_of(tx->arena, sizeof(struct queue_view));
    int64_t org = 0;
    if (caller_limited(tx))
        return fail(err, PAWL_FORBIDDEN, "queues are counted for the whole org: a key that is "
                                         "limited to projects does not see that");
    if (!caller_org(tx, &org, err) || !add_terms(tx, &views, &queue_terms_builtin, err)
        || !add_terms(tx, &views, tx->queue_terms, err)
        || (org == 0 && !add_all(tx, &views, err)) || !add_counts(tx, &views, org, err)
        || (org > 0 && !add_shares(tx, &views, org, err)))
        return false;
    *queues = views.items;
    *count = views.count;
    qsort(*queues, *count, sizeof **queues, by_name);
    for (size_t i = 0; i < *count; i++)
        if (!complete(tx, org, &(*queues)[i], err))
            return false;
    return !tx->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to list queues");
}

static json_t *places_json(const struct queue_view *queue)
{
    struct json_field fields[PLACES];
    for (size_t i = 0; i < PLACES; i++)
        fields[i] = (struct json_field){ queue_place_name((enum queue_place)i),
                                         json_integer(queue->at[i]) };
    return json_object_of(fields, PLACES);
}

static int64_t waiting(const struct queue_view *queue)
{
    int64_t sum = 0;
    for (size_t i = 0; i < PLACE_RUNNING; i++)
        sum += queue->at[i];
    return sum;
}

json_t *queue_json(struct arena *arena, const struct queue_view *queue)
{
    const struct json_field fields[] = {
        { "name", json_text_or_null(queue->name) },
        { "paused", json_boolean(queue->paused_at || queue->share_paused_at) },
        { "queue_paused_at", json_time_or_null(arena, queue->paused_at) },
        { "share_paused_at", json_time_or_null(arena, queue->share_paused_at) },
        { "share_paused_by", json_text_or_null(queue->share_paused_by) },
        { "waiting", json_integer(waiting(queue)) },
        { "jobs", places_json(queue) },
        { "oldest_ready_at", json_time_or_null(arena, queue->oldest_ready_at) },
        { "enqueued_per_minute", json_integer(queue->a_minute[FLOW_ENQUEUED]) },
        { "ended_per_minute", json_integer(queue->a_minute[FLOW_ENDED]) },
        { "weight", json_integer(queue->term.weight) },
        { "depth_max", queue->term.depth_max ? json_integer(queue->term.depth_max) : json_null() },
        { "max_running",
          queue->limit.max_running ? json_integer(queue->limit.max_running) : json_null() },
        { "rate", json_text_or_null(rate_text(arena, &queue->limit.rate)) },
    };
    return json_object_of(fields, countof(fields));
}
