// One look over the live executions, and one over the processes.
#include "engine/workers.h"

#include "base/list.h"
#include "engine/job.h"
#include "model/json_field.h"

static struct live_worker *add(struct list *list, struct pawl_error *err)
{
    struct live_worker *worker = list_add(list);
    if (!worker)
        (void)fail(err, PAWL_NO_MEMORY, "no memory to list workers");
    return worker;
}

static bool holders(struct tx *tx, size_t limit, struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    int64_t org = 0;
    if (!caller_org(tx, &org, err)
        || !sql_ask(tx, &rows, Q_WORKERS_LIVE, err, INT(org), INT((int64_t)limit),
                    caller_projects(tx)))
        return false;
    while (rows_next(&rows)) {
        struct live_worker *worker = add(list, err);
        if (!worker)
            return false;
        worker->worker_id = row_text(&rows);
        worker->instance = row_text(&rows);
        worker->executions = row_int(&rows);
        worker->first_seen_at = row_int(&rows);
        worker->lease_expires_at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool listed(const struct list *list, struct str instance)
{
    const struct live_worker *workers = list->items;
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(workers[i].instance, instance))
            return true;
    return false;
}

// A process of Pawl's own works under its name. It serves every org, so that each may know of it.
static bool idle(struct tx *tx, size_t limit, struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_INSTANCES_ALIVE, err, INT(tx->now), INT((int64_t)limit)))
        return false;
    while (list->count < limit && rows_next(&rows)) {
        struct str instance = row_text(&rows);
        if (listed(list, instance))
            continue;
        struct live_worker *worker = add(list, err);
        if (!worker)
            return false;
        worker->worker_id = worker->instance = instance;
        worker->first_seen_at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

bool workers_live(struct tx *tx, size_t limit, struct live_worker **workers, size_t *count,
                  struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct live_worker));
    if (!holders(tx, limit, &list, err) || !idle(tx, limit, &list, err))
        return false;
    *workers = list.items;
    *count = list.count;
    return true;
}

json_t *worker_json(struct arena *arena, const struct live_worker *worker)
{
    const struct json_field fields[] = {
        { "worker_id", json_text_or_null(worker->worker_id) },
        { "instance", json_text_or_null(worker->instance) },
        { "executions", json_integer(worker->executions) },
        { "first_seen_at", json_time_or_null(arena, worker->first_seen_at) },
        { "lease_expires_at", json_time_or_null(arena, worker->lease_expires_at) },
    };
    return json_object_of(fields, countof(fields));
}
