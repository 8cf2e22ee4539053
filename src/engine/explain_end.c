// Why a job ended as it did: its failure type says it, but for a few that have several causes.
#include "engine/explain_part.h"
#include "engine/job.h"

struct outcome {
    int64_t execution;  // 0: it ended while it waited ...
    struct str error;   // ... for this reason
};

static bool outcome_of(struct explaining *x, struct outcome *outcome, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *outcome = (struct outcome){0};
    if (!sql_ask(x->tx, &rows, Q_OUTCOME_ERROR, err, INT(x->job->id.high)))
        return false;
    if (rows_next(&rows)) {
        outcome->execution = row_int(&rows);
        outcome->error = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

static enum cause cause_of_cancelled(const struct job *job, const struct outcome *outcome)
{
    if (outcome->execution == 0)
        return CAUSE_CANCELLED_WAITING;
    return job->cancel_requested_at ? CAUSE_CANCELLED_RUNNING : CAUSE_CANCELLED_BY_WORKER;
}

static enum cause cause_of_exhausted(const struct outcome *outcome)
{
    const struct { struct str error; enum cause cause; } rows[] = {
        { ENDED_MAX_WAIT, CAUSE_WAITED_TOO_LONG },
        { ENDED_PURGED, CAUSE_PURGED },
        { ENDED_STALE, CAUSE_SLOT_STALE },
        { ENDED_INPUT_GONE, CAUSE_INPUT_GONE },
        { ENDED_INVALID, CAUSE_INVALID },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (str_starts(outcome->error, rows[i].error))
            return rows[i].cause;
    return CAUSE_RESOURCE_EXHAUSTED;
}

// A policy that does not try again after a crash ends with the first one.
static enum cause cause_of_crash(const struct job *job, enum cause first)
{
    return job->contract.policy.on_crash == ON_CRASH_FAIL ? first : CAUSE_KILLED_WORKERS;
}

static enum cause cause_of(const struct job *job, const struct outcome *outcome)
{
    static const enum cause causes[FAILURE_TYPES] = {
        [FAILURE_NONE] = CAUSE_SUCCEEDED,
        [FAILURE_HANDLER_ERROR] = CAUSE_HANDLER_ERROR,
        [FAILURE_PROCESS_TERMINATED] = CAUSE_PROCESS_TERMINATED,
        [FAILURE_LEASE_EXPIRED] = CAUSE_LEASE_EXPIRED,
        [FAILURE_TIMEOUT] = CAUSE_TIMED_OUT,
        [FAILURE_CANCELLED] = CAUSE_CANCELLED_WAITING,
        [FAILURE_ATTEMPTS_EXHAUSTED] = CAUSE_ATTEMPTS_EXHAUSTED,
        [FAILURE_RESOURCE_EXHAUSTED] = CAUSE_RESOURCE_EXHAUSTED,
        [FAILURE_DEPENDENCY_FAILED] = CAUSE_DEPENDENCY_FAILED,
    };
    enum cause cause = causes[job->failure_type];
    switch (job->failure_type) {
    case FAILURE_CANCELLED:
        return cause_of_cancelled(job, outcome);
    case FAILURE_RESOURCE_EXHAUSTED:
        return cause_of_exhausted(outcome);
    case FAILURE_PROCESS_TERMINATED:
    case FAILURE_LEASE_EXPIRED:
        return cause_of_crash(job, cause);
    default:
        return cause;
    }
}

static void also_dead_letter(struct explaining *x)
{
    bool open = str_eq(x->job->dead_letter, S("open"));
    x->facts.at[FACT_WORD] = x->job->dead_letter;
    if (x->job->dead_letter.n)
        explain_also(x, open ? CAUSE_DEAD_LETTER_OPEN : CAUSE_DEAD_LETTER_CLOSED);
}

static bool also_made_again(struct explaining *x, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(x->tx, &rows, Q_JOB_MADE_AGAIN, err, INT(x->job->id.high)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err);
    struct id id;
    id.high = row_int(&rows);
    id.low = row_int(&rows);
    x->facts.at[FACT_WORD] = row_text(&rows);
    // defensive: what is made again of a job has its project
    if (!caller_sees(x->tx->caller, row_text(&rows)))
        return true;
    x->out->related = id;
    explain_related(x, id);
    explain_also(x, CAUSE_RETRIED_AS);
    return true;
}

bool explain_ended(struct explaining *x, struct pawl_error *err)
{
    struct outcome outcome;
    if (!outcome_of(x, &outcome, err))
        return false;
    explain_times(x, x->job->completed_at, x->job->cancel_requested_at);
    explain_error(x);
    if (outcome.execution == 0 && outcome.error.n)
        x->facts.at[FACT_ERROR] = outcome.error;
    x->until = 0;  // when somebody asked for the end is no end of the cause
    explain_say(x, cause_of(x->job, &outcome));
    also_dead_letter(x);
    return also_made_again(x, err);
}
