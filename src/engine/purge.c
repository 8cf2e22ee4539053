// Emptying a queue goes over two ranges of rows, each once: what is parked, and what is ready. In
// this order nothing it leaves behind can move up.
#include "base/list.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "store/names.h"

// The key of a row in `ready` behind its queue.
enum { AFTER_TYPE, AFTER_ORG, AFTER_RANK, AFTER_JOB };

static bool end(struct tx *tx, struct purge *purge, int64_t key, struct pawl_error *err)
{
    struct job job;
    struct pawl_error why = {0};
    if (!job_load_row(tx, key, &job, &why))  // one that is damaged is left to the operator
        return why.code == PAWL_DAMAGED || fail(err, why.code, "%s", why.message);
    if (job.state == JOB_RUNNING || job_state_final(job.state))
        return true;  // it moved on while its neighbours were ended
    purge->ended++;
    if (job.state == JOB_QUEUED)
        return job_end_waiting(tx, &job, FAILURE_RESOURCE_EXHAUSTED, ENDED_PURGED, err);
    return event_append(tx, job_subject(&job), EVENT_JOB_CANCEL_REQUESTED, S(""), err)
        && job_end_waiting(tx, &job, FAILURE_CANCELLED, ENDED_PURGED, err);
}

// A row that was looked at; `wanted`: it is of the share, and was there when the purge began.
struct seen {
    int64_t job;
    bool wanted;
};

static bool is_wanted(const struct purge *purge, int64_t job, int64_t org, int64_t queue)
{
    return job <= purge->last_job && queue == purge->number
        && (purge->org == 0 || org == purge->org);
}

static bool see(struct list *list, const struct purge *purge, int64_t job, int64_t org,
                int64_t queue, struct pawl_error *err)
{
    struct seen *seen = list_add(list);
    if (!seen)
        return fail(err, PAWL_NO_MEMORY, "no memory to purge a queue");
    *seen = (struct seen){ job, is_wanted(purge, job, org, queue) };
    return true;
}

static bool see_parked(struct tx *tx, struct purge *purge, size_t limit, struct list *list,
                       struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_PURGE_PARKED, err, INT(purge->after[AFTER_JOB]), INT(purge->last_job),
                 INT((int64_t)limit)))
        return false;
    while (rows_next(&rows)) {
        int64_t job = purge->after[AFTER_JOB] = row_int(&rows), org = row_int(&rows);
        if (!see(list, purge, job, org, row_int(&rows), err))
            return false;
    }
    return rows_ok(&rows, err);
}

static bool see_rows(struct rows *rows, struct purge *purge, struct list *list,
                     struct pawl_error *err)
{
    while (rows_next(rows)) {
        for (size_t i = 0; i < countof(purge->after); i++)
            purge->after[i] = row_int(rows);
        if (!see(list, purge, purge->after[AFTER_JOB], purge->after[AFTER_ORG], purge->number,
                 err))
            return false;
    }
    return rows_ok(rows, err);
}

static bool see_all_ready(struct tx *tx, struct purge *purge, size_t limit, struct list *list,
                          struct pawl_error *err)
{
    const int64_t *after = purge->after;
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_PURGE_READY, err, INT(purge->number), INT(after[AFTER_TYPE]),
                   INT(after[AFTER_ORG]), INT(after[AFTER_RANK]), INT(after[AFTER_JOB]),
                   INT((int64_t)limit))
        && see_rows(&rows, purge, list, err);
}

static bool next_type(struct tx *tx, struct purge *purge, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    purge->after[AFTER_RANK] = purge->after[AFTER_JOB] = INT64_MIN;
    return sql_ask(tx, &rows, Q_READY_NEXT_TYPE, err, INT(purge->number),
                   INT(purge->after[AFTER_TYPE]))
        && rows_number(&rows, &purge->after[AFTER_TYPE], err);
}

static bool see_type(struct tx *tx, struct purge *purge, size_t limit, struct list *list,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_PURGE_READY_OF_ORG, err, INT(purge->number),
                   INT(purge->after[AFTER_TYPE]), INT(purge->org), INT(purge->after[AFTER_RANK]),
                   INT(purge->after[AFTER_JOB]), INT((int64_t)(limit - list->count)))
        && see_rows(&rows, purge, list, err);
}

// What one org has there, type by type: the jobs of others cost nothing.
static bool see_ready(struct tx *tx, struct purge *purge, size_t limit, struct list *list,
                      struct pawl_error *err)
{
    if (purge->org == 0)
        return see_all_ready(tx, purge, limit, list, err);
    if (purge->after[AFTER_TYPE] == INT64_MIN && !next_type(tx, purge, err))
        return false;
    while (purge->after[AFTER_TYPE] != 0) {
        if (!see_type(tx, purge, limit, list, err))
            return false;
        if (list->count == limit)
            return true;
        if (!next_type(tx, purge, err))
            return false;
    }
    return true;
}

typedef bool stage(struct tx *tx, struct purge *purge, size_t limit, struct list *list,
                   struct pawl_error *err);

static stage *const stages[] = { see_parked, see_ready };

static bool newest_job(struct tx *tx, int64_t *job, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask_plain(tx, &rows, Q_JOB_NEWEST, err) && rows_number(&rows, job, err);
}

static void next_stage(struct purge *purge)
{
    purge->stage++;
    for (size_t i = 0; i < countof(purge->after); i++)
        purge->after[i] = INT64_MIN;
    purge->done = purge->stage == countof(stages);
}

static bool begin(struct tx *tx, struct purge *purge, struct pawl_error *err)
{
    struct share share;
    if (!share_of_caller(tx, purge->queue, &share, err)
        || !newest_job(tx, &purge->last_job, err))
        return false;
    purge->org = share.org;
    purge->number = share.queue;
    return queue_tell(tx, &share, purge->queue, EVENT_QUEUE_PURGED, err);
}

bool queue_purge(struct tx *tx, struct purge *purge, size_t limit, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct seen));
    purge->ended = 0;
    if (purge->done || (purge->number == 0 && !begin(tx, purge, err)))
        return purge->done;
    if (!stages[purge->stage](tx, purge, limit, &list, err))
        return false;
    const struct seen *seen = list.items;
    for (size_t i = 0; i < list.count; i++)
        if (seen[i].wanted && !end(tx, purge, seen[i].job, err))
            return false;
    purge->looked_at += (int64_t)list.count;
    if (list.count < limit)
        next_stage(purge);
    return true;
}

bool queue_waiting(struct tx *tx, struct str queue, int64_t *waiting, struct pawl_error *err)
{
    struct queue_count *counts = NULL;
    size_t count = 0;
    int64_t org = 0, number = 0;
    *waiting = 0;
    if (!caller_org(tx, &org, err) || !queue_find(tx, queue, &number, err)
        || !counts_of_org(tx, org, &counts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t place = 0; counts[i].queue == number && place < PLACE_RUNNING; place++)
            *waiting += counts[i].at[place];
    return true;
}
