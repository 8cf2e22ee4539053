// One look over the live executions.
#include "engine/workers.h"

#include "base/list.h"
#include "engine/job.h"
#include "model/json_field.h"

bool workers_live(struct tx *tx, size_t limit, struct live_worker **workers, size_t *count,
                  struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct live_worker));
    SCOPED(rows) struct rows rows = {0};
    int64_t org = 0;
    if (!caller_org(tx, &org, err)
        || !sql_ask(tx, &rows, Q_WORKERS_LIVE, err, INT(org), INT((int64_t)limit),
                    caller_projects(tx)))
        return false;
    while (rows_next(&rows)) {
        struct live_worker *worker = list_add(&list);
        if (!worker)
            return fail(err, PAWL_NO_MEMORY, "no memory to list workers");
        worker->worker_id = row_text(&rows);
        worker->instance = row_text(&rows);
        worker->executions = row_int(&rows);
        worker->first_seen_at = row_int(&rows);
        worker->lease_expires_at = row_int(&rows);
    }
    *workers = list.items;
    *count = list.count;
    return rows_ok(&rows, err);
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
