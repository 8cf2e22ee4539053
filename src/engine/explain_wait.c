// Why a job waits: the same order of questions in which a claim would meet it.
#include "base/time_text.h"
#include "engine/explain_part.h"
#include "engine/job.h"
#include "engine/links.h"
#include "engine/place.h"
#include "engine/queue.h"
#include "model/weight.h"
#include "store/names.h"

// So long it waits, so long nobody took one of its type, as far as the newest executions tell, and
// nobody works on one: then it is not by chance.
#define WORKER_PATIENCE_US SECONDS(5)
#define TAKEN_LATELY_US MINUTES(1)
enum { NEWEST_LOOKED_AT = 1000 };

// ----- its time has not come, or has

static void explain_due(struct explaining *x, enum cause ahead)
{
    pawl_time due = x->job->run_at;
    bool over = due <= x->tx->now;
    explain_times(x, over ? due : 0, over ? 0 : due);
    explain_error(x);
    explain_say(x, !over ? ahead : x->alive ? CAUSE_DUE
                                            : CAUSE_CLOCK_STOPPED);
}

static bool explain_held(struct explaining *x, struct pawl_error *err)
{
    (void)err;
    explain_times(x, x->job->created_at, 0);
    explain_say(x, CAUSE_HELD);
    return true;
}

static bool explain_delayed(struct explaining *x, struct pawl_error *err)
{
    (void)err;
    explain_due(x, CAUSE_DELAYED);
    return true;
}

static bool explain_backoff(struct explaining *x, struct pawl_error *err)
{
    (void)err;
    explain_due(x, CAUSE_BACKOFF);
    return true;
}

// ----- behind its serial key

static bool holder_since(struct explaining *x, const struct job *holder, pawl_time *since,
                         struct pawl_error *err)
{
    *since = holder->updated_at;
    return holder->phase != PHASE_READY || queue_ready_since(x->tx, holder->id.high, since, err);
}

static bool blocked_by(struct explaining *x, int64_t key, enum cause cause, struct pawl_error *err)
{
    struct job holder;
    const char *problem = NULL;
    pawl_time since = 0;
    if (!job_examine(x->tx, key, &holder, &problem, err))
        return false;
    if (!caller_sees(x->tx->caller, holder.contract.project_id)) {
        explain_say(x, CAUSE_BLOCKED_UNSEEN);
        return true;
    }
    if (!problem && !holder_since(x, &holder, &since, err))
        return false;
    explain_related(x, holder.id);
    explain_times(x, problem ? holder.created_at : since, 0);
    x->facts.at[FACT_STATE] = problem ? S("damaged")
                                      : str_format(x->tx->arena, "%s (%s)",
                                                   job_state_name(holder.state),
                                                   job_phase_name(holder.phase));
    explain_say(x, cause);
    return true;
}

static bool behind_in_key(struct explaining *x, struct pawl_error *err)
{
    int64_t seen = 0, looked_at = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(x->tx, &rows, Q_PARKED_SERIAL_BEFORE, err, INT(x->job->keys.org),
                 TEXT(x->job->contract.serial_key), INT(x->job->id.high), INT(AHEAD_COUNTED + 1)))
        return false;
    for (; rows_next(&rows); looked_at++)
        seen += caller_sees(x->tx->caller, row_text(&rows));
    explain_ahead(x, seen, looked_at);
    if (seen)
        explain_also(x, CAUSE_BEHIND_IN_KEY);
    return rows_ok(&rows, err);
}

static bool explain_blocked(struct explaining *x, struct pawl_error *err)
{
    struct key_use use;
    bool by_limit = false;
    if (x->job->waits_for > 0)
        return explain_links(x, err);
    if (!explain_limit_key(x, &by_limit, err))
        return false;
    if (by_limit)
        return true;
    if (!place_key_use(x->tx, x->job->keys.org, x->job->contract.serial_key, &use, err))
        return false;
    if (!use.running && !use.first.job)
        return fail(err, PAWL_DAMAGED, "it waits for its serial key, and nobody has the turn");
    return (use.running ? blocked_by(x, use.running, CAUSE_BLOCKED_BY_RUNNING, err)
                        : blocked_by(x, use.first.job, CAUSE_BLOCKED_BY_READY, err))
        && behind_in_key(x, err);
}

// ----- ready

// Jobs of its org that the caller may see and that a claim takes first; whether some are of higher
// priority.
static bool count_ahead(struct explaining *x, const struct waiting *w, bool *higher,
                        struct pawl_error *err)
{
    int64_t seen = 0, looked_at = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(x->tx, &rows, Q_READY_LANE_BEFORE, err, INT(w->queue), INT(w->type),
                 INT(w->org), INT(w->rank), INT(w->job), INT(AHEAD_COUNTED + 1)))
        return false;
    for (; rows_next(&rows); looked_at++) {
        int64_t rank = row_int(&rows);
        if (!caller_sees(x->tx->caller, row_text(&rows)))
            continue;
        seen++;
        *higher |= rank < w->rank;
    }
    explain_ahead(x, seen, looked_at);
    return rows_ok(&rows, err);
}

static bool count_busy(struct explaining *x, const struct waiting *w, int64_t *busy,
                       struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(x->tx, &rows, Q_EXECUTIONS_OF_LANE, err, INT(w->queue), INT(w->type),
                 INT(x->tx->now), INT(x->org), caller_projects(x->tx))
        || !rows_number(&rows, busy, err))
        return false;
    x->facts.at[FACT_BUSY] = explain_count(x, *busy);
    return true;
}

static bool taken_lately(struct explaining *x, const struct waiting *w, bool *taken,
                         struct pawl_error *err)
{
    int64_t found = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(x->tx, &rows, Q_EXECUTIONS_OF_LANE_NEWEST, err, INT(w->queue), INT(w->type),
                 INT(x->tx->now - TAKEN_LATELY_US), INT(x->org), caller_projects(x->tx),
                 INT(NEWEST_LOOKED_AT))
        || !rows_number(&rows, &found, err))
        return false;
    *taken = found != 0;
    return true;
}

static bool explain_lane(struct explaining *x, const struct waiting *w, pawl_time since,
                         struct pawl_error *err)
{
    bool higher = false, taken = false;
    int64_t busy = 0;
    if (!count_ahead(x, w, &higher, err) || !count_busy(x, w, &busy, err)
        || !taken_lately(x, w, &taken, err))
        return false;
    if (busy == 0 && !taken && x->tx->now - since >= WORKER_PATIENCE_US)
        explain_say(x, CAUSE_NO_WORKER);
    else if (x->out->ahead == 0)
        explain_say(x, CAUSE_NEXT);
    else
        explain_say(x, higher ? CAUSE_BEHIND_PRIORITY : CAUSE_BEHIND_OLDER);
    return true;
}

static bool explain_open(struct explaining *x, struct pawl_error *err)
{
    struct waiting w = waiting_of(x->job);
    pawl_time since = 0;
    if (!queue_ready_since(x->tx, w.job, &since, err))
        return false;
    explain_times(x, since, 0);
    if (x->alive)
        return explain_lane(x, &w, since, err);
    explain_say(x, CAUSE_NOBODY_ALIVE);
    return true;
}

static bool explain_ready(struct explaining *x, struct pawl_error *err)
{
    enum cause cause;
    bool closed = false;
    if (!explain_closed(x, &cause, &closed, err)
        || (!closed && !explain_limits(x, &cause, &closed, err)))
        return false;
    if (!closed)
        return explain_open(x, err);
    explain_say(x, cause);
    return true;
}

// ----- what is true besides

// What a job whose turn comes will meet.
static bool also_closed(struct explaining *x, struct pawl_error *err)
{
    enum cause cause;
    bool closed = false;
    if (x->job->phase == PHASE_READY)
        return true;
    if (!explain_closed(x, &cause, &closed, err))
        return false;
    if (closed)
        explain_also(x, cause);
    return true;
}

// What it waits for when its time has come, or when it is submitted.
static bool also_links(struct explaining *x, struct pawl_error *err)
{
    struct str doom;
    if (x->job->waits_for == 0 || x->job->phase == PHASE_BLOCKED)
        return true;
    if (!links_doom(x->tx, x->job->id.high, &doom, err))
        return false;
    x->facts.at[FACT_ERROR] = doom;
    x->facts.at[FACT_COUNT] = str_format(x->tx->arena, "%lld other job%s",
                                         (long long)x->job->waits_for,
                                         x->job->waits_for == 1 ? "" : "s");
    explain_also(x, doom.n ? CAUSE_DOOMED : CAUSE_WAITS_THEN);
    return true;
}

static bool also_max_wait(struct explaining *x, struct pawl_error *err)
{
    pawl_time until = 0;
    SCOPED(rows) struct rows rows = {0};
    if (x->job->state != JOB_QUEUED || x->job->attempt > 0)
        return true;
    if (!sql_ask(x->tx, &rows, Q_WAIT_LIMIT_OF_JOB, err, INT(x->job->id.high))
        || !rows_number(&rows, &until, err))
        return false;
    if (until) {
        explain_times(x, 0, until);
        explain_also(x, until > x->tx->now ? CAUSE_MAX_WAIT_ENDS : CAUSE_MAX_WAIT_OVER);
    }
    return true;
}

// Whether the job is in the order of its queue, and nothing but work keeps it.
static bool in_order(const struct explaining *x)
{
    enum cause cause = x->out->why.cause;
    return cause == CAUSE_NEXT || cause == CAUSE_BEHIND_OLDER || cause == CAUSE_BEHIND_PRIORITY;
}

static void say_turns(struct explaining *x, int64_t others)
{
    struct queue_term term = queue_term_of(x->tx->queue_terms, x->job->queue);
    x->facts.at[FACT_COUNT] = str_format(x->tx->arena, "%lld other queue%s", (long long)others,
                                         others == 1 ? "" : "s");
    x->facts.at[FACT_WORD] = str_format(x->tx->arena, "%lld", (long long)term.weight);
    explain_also(x, CAUSE_TURNS);
}

// Queues take turns. Numbers of an org are of all its projects: who is limited to some is not told.
static bool also_turns(struct explaining *x, struct pawl_error *err)
{
    struct queue_count *counts = NULL;
    size_t count = 0;
    int64_t critical = 0, others = 0;
    bool limited = caller_limited(x->tx);
    if (limited || !in_order(x) || str_eq(x->job->queue, CRITICAL_QUEUE))
        return true;
    if (!name_find(x->tx, NAME_QUEUE, CRITICAL_QUEUE, &critical, err)
        || !counts_of_org(x->tx, x->org, &counts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool filled = counts[i].at[PLACE_READY] > 0;
        if (filled && counts[i].queue == critical)
            explain_also(x, CAUSE_CRITICAL_FIRST);
        else if (filled && counts[i].queue != x->job->keys.queue)
            others++;
    }
    if (others)
        say_turns(x, others);
    return true;
}

// Orgs take turns. That others have jobs is told only to who may see them all.
static bool also_shares(struct explaining *x, struct pawl_error *err)
{
    int64_t own = x->job->keys.org;
    bool others = false;
    if (x->org != 0 || !in_order(x))
        return true;
    for (int64_t org = 0; !others;) {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask(x->tx, &rows, Q_READY_NEXT_ORG, err, INT(x->job->keys.queue),
                     INT(x->job->keys.type), INT(org))
            || !rows_number(&rows, &org, err))
            return false;
        if (org == 0)
            return true;
        others = org != own;
    }
    x->facts.at[FACT_WORD] = str_format(x->tx->arena, "%d", SHARE_RUN);
    explain_also(x, CAUSE_SHARES);
    return true;
}

static bool also_full(struct explaining *x, struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (queue_has_room(x->tx, x->job->queue, &why))
        return true;
    if (why.code != PAWL_QUEUE_FULL)
        return fail(err, why.code, "%s", why.message);
    explain_also(x, CAUSE_QUEUE_FULL);
    return true;
}

bool explain_waiting(struct explaining *x, struct pawl_error *err)
{
    static bool (*const places[])(struct explaining *, struct pawl_error *) = {
        [PHASE_HELD] = explain_held,       [PHASE_DELAYED] = explain_delayed,
        [PHASE_READY] = explain_ready,     [PHASE_BLOCKED] = explain_blocked,
        [PHASE_BACKOFF] = explain_backoff,
    };
    return places[x->job->phase](x, err) && also_links(x, err) && also_closed(x, err)
        && also_max_wait(x, err) && also_turns(x, err) && also_shares(x, err)
        && also_full(x, err);
}
