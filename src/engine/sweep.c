// Each kind of work: find the rows by an index on time, then do each with the engine's own
// operation.
#include "engine/sweep.h"

#include "engine/batch.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/links.h"
#include "engine/posted.h"
#include "engine/sweep_keys.h"

static bool keys_of(struct tx *tx, enum query query, size_t limit, struct keys *keys,
                    struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, query, err, INT(tx->now), INT((int64_t)limit))
        && rows_keys(&rows, keys, err);
}

static bool expire(struct tx *tx, int64_t key, struct swept *swept, struct pawl_error *err)
{
    struct execution e;
    if (!execution_load_row(tx, key, &e, err))
        return false;
    if (e.status == EXECUTION_COMMITTED) {
        swept->finished++;
        return execution_reconcile(tx, &e, err);
    }
    if (execution_took_too_long(&e)) {
        swept->timed_out++;
        return execution_end(tx, &e, END_TIMEOUT,
                             &(struct work_error){ .class = ERROR_TIMEOUT,
                                                   .message = S("the run passed its deadline") },
                             err);
    }
    swept->expired++;
    return execution_end(tx, &e, END_LEASE_EXPIRED,
                         &(struct work_error){ .class = ERROR_CRASH,
                                               .message = S("its worker fell silent") },
                         err);
}

static bool become_due(struct tx *tx, int64_t key, struct swept *swept, struct pawl_error *err)
{
    swept->due++;
    return job_due(tx, key, err);
}

// A job that has run, or runs, or ended, is not waiting for its first claim any more.
static bool give_up(struct tx *tx, int64_t key, struct swept *swept, struct pawl_error *err)
{
    struct job job;
    if (!job_load_row(tx, key, &job, err) || !sql_run(tx, Q_WAIT_LIMIT_DELETE, err, INT(key)))
        return false;
    if (job.state != JOB_QUEUED || job.attempt > 0)
        return true;
    swept->gave_up++;
    return job_end_waiting(tx, &job, FAILURE_RESOURCE_EXHAUSTED, ENDED_MAX_WAIT, err);
}

static bool call_back(struct tx *tx, int64_t key, struct swept *swept, struct pawl_error *err)
{
    (void)swept;
    return batch_call_back(tx, key, err);
}

static const struct {
    enum query find;
    bool (*act)(struct tx *tx, int64_t key, struct swept *swept, struct pawl_error *err);
    enum query next;
} chores[] = {
    { Q_EXECUTION_EXPIRED, expire, Q_EXECUTION_NEXT_EXPIRY },
    { Q_WAIT_LIMIT_DUE, give_up, Q_WAIT_LIMIT_NEXT },
    { Q_PARKED_DUE, become_due, Q_PARKED_NEXT_DUE },
    { Q_BATCH_DUE, call_back, Q_BATCH_NEXT },
};

static bool next_time(struct rows *rows, pawl_time *next, struct pawl_error *err)
{
    pawl_time time = 0;
    if (!rows_number(rows, &time, err))
        return false;
    if (time && (!*next || time < *next))
        *next = time;
    return true;
}

static bool next_chore(struct tx *tx, enum query query, pawl_time *next, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask_plain(tx, &rows, query, err) && next_time(&rows, next, err);
}

// A commit phase that backs off is not swept but claimed; whoever claims wants to wake up for it.
static bool next_finish(struct tx *tx, pawl_time *next, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_EXECUTION_NEXT_FINISH, err, INT(tx->now))
        && next_time(&rows, next, err);
}

// One job whose records are damaged must not keep the others from being swept. It is noticed before
// anything is written.
static bool act_on(struct tx *tx, size_t chore, int64_t key, struct swept *swept,
                   struct pawl_error *err)
{
    struct swept before = *swept;
    if (chores[chore].act(tx, key, swept, err))
        return true;
    if (err->code != PAWL_DAMAGED)
        return false;
    *swept = before;
    swept->damaged++;
    return true;
}

static bool sweep_all(struct tx *tx, size_t limit, struct swept *swept, struct pawl_error *err)
{
    for (size_t i = 0; i < countof(chores); i++) {
        struct keys keys;
        if (!keys_of(tx, chores[i].find, limit, &keys, err))
            return false;
        for (size_t k = 0; k < keys.count; k++)
            if (!act_on(tx, i, keys.at[k], swept, err))
                return false;
        swept->more = swept->more || keys.count == limit;
    }
    bool untold = false, waiting = false;
    if (!sweep_keys(tx, limit, swept, err) || !limits_tidy(tx, limit, err)
        || !links_tell(tx, limit, &untold, err)
        || !posted_take(tx, limit, &swept->posted, &waiting, err))
        return false;
    swept->more = swept->more || untold || waiting;
    for (size_t i = 0; i < countof(chores); i++)
        if (!next_chore(tx, chores[i].next, &swept->next, err))
            return false;
    return next_finish(tx, &swept->next, err);
}

bool sweep(struct tx *tx, size_t limit, struct swept *swept, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    struct pawl_error unseen;
    *swept = (struct swept){0};
    tx->caller = caller ? caller : &caller_pawl;
    bool done = sweep_all(tx, limit, swept, err ? err : &unseen);
    tx->caller = caller;
    return done;
}
