// Every insert into and delete from `ready` and `parked` is here, except the claim's own.
#include "engine/place.h"

#include <assert.h>

#include "engine/limit.h"
#include "store/counts.h"
#include "store/observe.h"

// In the place of a serial key, which is never empty: it waits for other jobs or its limit key.
#define WAITS_FOR_OTHERS S("")

struct waiting waiting_of(const struct job *job)
{
    return (struct waiting){
        .job = job->id.high,
        .org = job->keys.org,
        .type = job->keys.type,
        .queue = job->keys.queue,
        .rank = -job->priority,
        .attempt = job->attempt,
        .serial_key = job->contract.serial_key,
        .project = job->contract.project_id,
        .waits = job->waits_for > 0,
    };
}

// What a phase of a waiting job counts as.
static enum queue_place place_of(enum job_phase phase)
{
    static const enum queue_place places[JOB_PHASES] = {
        [PHASE_READY] = PLACE_READY, [PHASE_DELAYED] = PLACE_DELAYED,
        [PHASE_BLOCKED] = PLACE_BLOCKED, [PHASE_HELD] = PLACE_HELD,
        [PHASE_BACKOFF] = PLACE_BACKOFF,
    };
    return places[phase];
}

static bool enter_ready(struct tx *tx, const struct waiting *w, struct pawl_error *err)
{
    observe_ready(tx, w->org, w->type, w->queue);
    tx_count(tx, w->org, w->queue, PLACE_READY, 1);
    return sql_later(tx, Q_READY_INSERT, err, INT(w->queue), INT(w->type), INT(w->org),
                     INT(w->rank), INT(w->job), INT(w->attempt), TEXT_OR_NONE(w->serial_key),
                     TEXT_OR_NONE(w->project));
}

static bool leave_ready(struct tx *tx, const struct waiting *w, struct pawl_error *err)
{
    tx_count(tx, w->org, w->queue, PLACE_READY, -1);
    return sql_run(tx, Q_READY_DELETE, err, INT(w->queue), INT(w->type), INT(w->org), INT(w->rank),
                   INT(w->job));
}

static bool park(struct tx *tx, const struct waiting *w, enum job_phase phase, pawl_time due_at,
                 struct pawl_error *err)
{
    tx_count(tx, w->org, w->queue, place_of(phase), 1);
    struct str blocked_by = w->waits ? WAITS_FOR_OTHERS : w->serial_key;
    return sql_run(tx, Q_PARKED_INSERT, err, INT(w->job), INT(w->org),
                   TEXT(str_of(job_phase_name(phase))), INT_OR_NONE(due_at),
                   phase == PHASE_BLOCKED ? TEXT(blocked_by) : NONE);
}

static bool unpark(struct tx *tx, const struct waiting *w, enum job_phase phase,
                   struct pawl_error *err)
{
    bool by_limit = phase == PHASE_BLOCKED && tx->has_limits;
    tx_count(tx, w->org, w->queue, place_of(phase), -1);
    return sql_run(tx, Q_PARKED_DELETE, err, INT(w->job))
        && (!by_limit || sql_run(tx, Q_LIMIT_WAIT_DELETE, err, INT(w->job)));
}

static bool running_of_key(struct tx *tx, int64_t org, struct str serial_key, int64_t *job,
                           struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_SERIAL_RUNNING, err, INT(org), TEXT(serial_key))
        && rows_number(&rows, job, err);
}

static bool ready_of_key(struct tx *tx, int64_t org, struct str serial_key, struct waiting *head,
                         struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *head = (struct waiting){ .org = org, .serial_key = serial_key };
    if (!sql_ask(tx, &rows, Q_READY_SERIAL, err, INT(org), TEXT(serial_key)))
        return false;
    if (rows_next(&rows)) {
        head->queue = row_int(&rows);
        head->type = row_int(&rows);
        head->rank = row_int(&rows);
        head->job = row_int(&rows);
        head->attempt = row_int(&rows);
        head->project = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

bool place_key_use(struct tx *tx, int64_t org, struct str serial_key, struct key_use *use,
                   struct pawl_error *err)
{
    return running_of_key(tx, org, serial_key, &use->running, err)
        && ready_of_key(tx, org, serial_key, &use->first, err);
}

// A job whose key is busy waits behind it. One that is older than the ready job of its key (it was
// delayed, or is tried again) takes that job's turn: oldest due first.
static bool enter_key(struct tx *tx, const struct waiting *w, enum job_phase *phase,
                      struct pawl_error *err)
{
    struct key_use use;
    if (!place_key_use(tx, w->org, w->serial_key, &use, err))
        return false;
    const struct waiting *head = &use.first;
    bool older_first = head->job != 0 && head->job < w->job;
    *phase = use.running != 0 || older_first ? PHASE_BLOCKED : PHASE_READY;
    if (*phase == PHASE_BLOCKED)
        return park(tx, w, PHASE_BLOCKED, 0, err);
    if (head->job != 0
        && !(leave_ready(tx, head, err) && park(tx, head, PHASE_BLOCKED, 0, err)))
        return false;
    return enter_ready(tx, w, err);
}

bool place_queue(struct tx *tx, const struct waiting *w, pawl_time due_at, enum job_phase *phase,
                 struct pawl_error *err)
{
    if (due_at > tx->now) {
        *phase = PHASE_DELAYED;
        return park(tx, w, PHASE_DELAYED, due_at, err);
    }
    if (w->waits) {
        *phase = PHASE_BLOCKED;
        return park(tx, w, PHASE_BLOCKED, 0, err);
    }
    if (w->serial_key.n)
        return enter_key(tx, w, phase, err);
    *phase = PHASE_READY;
    return enter_ready(tx, w, err);
}

bool place_park(struct tx *tx, const struct waiting *w, enum job_phase phase, pawl_time due_at,
                struct pawl_error *err)
{
    assert(phase == PHASE_HELD || phase == PHASE_BACKOFF);
    return park(tx, w, phase, due_at, err);
}

bool place_leave(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    struct waiting w = waiting_of(job);
    if (job->phase != PHASE_READY)
        return unpark(tx, &w, job->phase, err);
    return leave_ready(tx, &w, err) && place_next_of_key(tx, w.org, w.serial_key, err)
        && limit_key_free(tx, w.type, w.org, job->contract.limit_key, err);
}

bool place_behind_key(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    struct waiting w = waiting_of(job);
    struct str serial_key = w.serial_key;
    w.serial_key = WAITS_FOR_OTHERS;
    return leave_ready(tx, &w, err) && park(tx, &w, PHASE_BLOCKED, 0, err)
        && sql_run(tx, Q_LIMIT_WAIT_INSERT, err, INT(w.job), INT(w.type), INT(w.org),
                   TEXT(job->contract.limit_key))
        && place_next_of_key(tx, w.org, serial_key, err);
}

bool place_next_of_key(struct tx *tx, int64_t org, struct str serial_key, struct pawl_error *err)
{
    if (serial_key.n == 0)
        return true;
    struct waiting next = { .org = org, .serial_key = serial_key };
    {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask(tx, &rows, Q_PARKED_SERIAL_HEAD, err, INT(org), TEXT(serial_key)))
            return false;
        if (!rows_next(&rows))
            return rows_ok(&rows, err);
        next.job = row_int(&rows);
        next.queue = row_int(&rows);
        next.type = row_int(&rows);
        next.rank = row_int(&rows);
        next.attempt = row_int(&rows);
        next.project = row_text(&rows);
    }
    return unpark(tx, &next, PHASE_BLOCKED, err) && enter_ready(tx, &next, err);
}
