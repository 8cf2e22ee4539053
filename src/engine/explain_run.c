// What keeps a job with a worker: the state of its live execution, and of its lease.
#include "engine/execution.h"
#include "engine/explain_part.h"

static bool live_execution(struct explaining *x, struct execution *e, struct pawl_error *err)
{
    int64_t key = 0;
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(x->tx, &rows, Q_EXECUTION_LIVE_OF_JOB, err, INT(x->job->id.high))
        && rows_number(&rows, &key, err) && execution_load_row(x->tx, key, e, err);
}

static void set_facts(struct explaining *x, const struct execution *e)
{
    struct arena *arena = x->tx->arena;
    x->facts.at[FACT_WORKER] = e->lease_owner;
    x->facts.at[FACT_FAILURES] = str_format(arena, "%lld", (long long)e->finish_failures);
    x->facts.at[FACT_PROGRESS] = e->progress_percent < 0
                                   ? S("none reported")
                                   : str_format(arena, "%lld%% %.*s",
                                                (long long)e->progress_percent,
                                                STR(e->progress_message));
}

// The sweep will see it; unless there is none.
static void explain_over(struct explaining *x, const struct execution *e)
{
    explain_times(x, e->lease_expires_at, 0);
    explain_say(x, e->status == EXECUTION_COMMITTED ? CAUSE_FINISH_LEASE_OVER
                   : execution_took_too_long(e)     ? CAUSE_DEADLINE_OVER
                                                    : CAUSE_LEASE_OVER);
    if (!x->alive)
        explain_also(x, CAUSE_CLOCK_STOPPED);
}

// Nobody holds the commit phase: it is claimed as work is, and a pause keeps it as it keeps work.
static bool explain_free(struct explaining *x, const struct execution *e, struct pawl_error *err)
{
    enum cause cause = CAUSE_FINISH_DUE;
    bool closed = false;
    x->facts.at[FACT_WORKER] = S("");
    if (e->finish_at > x->tx->now)
        cause = CAUSE_FINISH_BACKOFF;
    else if (!explain_closed(x, &cause, &closed, err))
        return false;
    else if (!closed && !x->alive)
        cause = CAUSE_NOBODY_ALIVE;
    if (!closed)
        explain_times(x, e->committed_at, e->finish_at);
    explain_say(x, cause);
    return true;
}

static void explain_held(struct explaining *x, const struct execution *e)
{
    bool finishing = e->status == EXECUTION_COMMITTED, leased = e->status == EXECUTION_LEASED;
    explain_times(x, finishing ? e->committed_at : leased ? e->leased_at
                                                          : e->started_at,
                  finishing || leased ? e->lease_expires_at : e->deadline_at);
    if (!finishing && e->cancel_requested_at) {
        explain_times(x, e->cancel_requested_at, x->until);
        explain_say(x, CAUSE_CANCEL_REQUESTED);
        return;
    }
    explain_say(x, finishing ? CAUSE_FINISHING : leased ? CAUSE_LEASED
                                                        : CAUSE_RUNNING);
}

bool explain_working(struct explaining *x, struct pawl_error *err)
{
    struct execution e;
    if (!live_execution(x, &e, err))
        return false;
    set_facts(x, &e);
    if (e.finish_at)
        return explain_free(x, &e, err);
    if (e.lease_expires_at <= x->tx->now)
        explain_over(x, &e);
    else
        explain_held(x, &e);
    return true;
}
