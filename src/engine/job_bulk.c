// Pages of the list of jobs, each job changed by the engine's own operation.
#include "engine/job_bulk.h"

#include "base/list.h"

enum { PAGES_MAX = 4 };  // of rows that are looked at, while nobody else can write

bool job_filter_names(const struct job_filter *f)
{
    return f->has_state || f->queue.n || f->job_type.n || f->serial_key.n || f->correlation_id.n
        || f->project_id.n || f->batch.high;
}

static bool made_again(struct tx *tx, int64_t job, bool *made, struct pawl_error *err)
{
    int64_t key = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_JOB_MADE_AGAIN, err, INT(job)) || !rows_number(&rows, &key, err))
        return false;
    *made = key != 0;
    return true;
}

// Whether the operation would be refused, as far as that can be told before.
static bool allowed(struct tx *tx, const struct job_bulk *b, const struct job *job, bool *may,
                    struct pawl_error *err)
{
    bool again = false;
    *may = job_state_final(job->state) == b->retry && job->phase != PHASE_FINISHING;
    if (!*may || !b->retry)
        return true;
    if (!made_again(tx, job->id.high, &again, err))
        return false;
    *may = !again;
    return true;
}

static bool change_one(struct tx *tx, const struct job_bulk *b, struct list *changed,
                       const struct job *old, struct pawl_error *err)
{
    struct job job = *old;
    struct pawl_error why = {0};
    bool may = false;
    if (!allowed(tx, b, old, &may, err))
        return false;
    if (!may)
        return true;
    bool done = b->dry_run
             || (b->retry ? job_retry(tx, old->id, &job, &why)
                          : job_cancel(tx, old->id, &job, &why));
    if (!done)
        return pawl_code(why.code)->refusal || fail(err, why.code, "%s", why.message);
    struct changed_job *row = list_add(changed);
    if (!row)
        return fail(err, PAWL_NO_MEMORY, "no memory for so many jobs");
    *row = (struct changed_job){ job.id, !b->dry_run && job.state == JOB_RUNNING };
    return true;
}

bool jobs_change(struct tx *tx, struct job_bulk *b, struct pawl_error *err)
{
    struct list changed = list_of(tx->arena, sizeof(struct changed_job));
    struct job_filter filter = b->filter;
    size_t most = BULK_JOBS_MAX;
    if (filter.limit > 0 && filter.limit < BULK_JOBS_MAX)
        most = (size_t)filter.limit;
    for (int page = 0; page < PAGES_MAX && changed.count < most; page++) {
        struct job_list list;
        filter.limit = (int64_t)(most - changed.count);
        if (!job_find(tx, &filter, &list, err))
            return false;
        for (size_t i = 0; i < list.count; i++)
            if (!change_one(tx, b, &changed, &list.jobs[i], err))
                return false;
        filter.before = list.next;
        if (list.next == 0)
            break;
    }
    b->jobs = changed.items;
    b->count = changed.count;
    b->next = filter.before;
    return true;
}
