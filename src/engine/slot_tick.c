// The scheduler's tick: the lead, what is stale, what is due.
#include "engine/slot.h"

#include <assert.h>

#include "base/time_text.h"

#define CLOCK_OFF_US SECONDS(60)
#define RENEW_AT_US (LEADER_US / 2)  // renewed when no more than this is left of it
#define TOO_LONG S("it took longer than twice its expected_max_runtime")
#define AGAIN_US SECONDS(5)          // what could not be moved on is looked at again

// ----- the lead

struct lead {
    struct str instance, boot_id;
    int64_t term;
    pawl_time expires_at;
};

static bool lead_load(struct tx *tx, struct lead *lead, struct pawl_error *err)
{
    *lead = (struct lead){0};
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_LEADER_LOAD, err))
        return false;
    if (rows_next(&rows)) {
        lead->instance = row_text(&rows);
        lead->boot_id = row_text(&rows);
        lead->term = row_int(&rows);
        lead->expires_at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool lead_take(struct tx *tx, const struct lead *lead, struct scheduling *s,
                      struct pawl_error *err)
{
    int64_t changed = 0;
    s->term = lead->term + 1;
    if (!sql_run_counting(tx, Q_LEADER_TAKE, &changed, err, TEXT(s->instance->name),
                          TEXT(s->instance->boot_id), INT(s->term), INT(tx->now + LEADER_US)))
        return false;
    s->leads = s->took_over = changed == 1;
    SCOPED(json) json_t *detail = json_pack("{s:s%, s:I}", "instance", s->instance->name.s,
                                            s->instance->name.n, "term", (json_int_t)s->term);
    // defensive: nobody else has written since it was read
    if (!s->leads)
        return true;
    return event_append_for(tx, 0, S("leader:scheduler"), EVENT_LEADER_CHANGED,
                            json_text(tx->arena, detail), err);
}

static bool lead_renew(struct tx *tx, const struct lead *lead, struct scheduling *s,
                       struct pawl_error *err)
{
    s->leads = true;
    s->term = lead->term;
    s->renewed = lead->expires_at - tx->now <= RENEW_AT_US;
    return !s->renewed
        || sql_run(tx, Q_LEADER_RENEW, err, TEXT(lead->boot_id), INT(lead->term),
                   INT(tx->now + LEADER_US));
}

// An earlier boot of the same instance is dead: its name is held by this process.
static bool lead_keep(struct tx *tx, struct scheduling *s, struct pawl_error *err)
{
    struct lead lead;
    if (!lead_load(tx, &lead, err))
        return false;
    bool same_instance = str_eq(lead.instance, s->instance->name);
    if (same_instance && str_eq(lead.boot_id, s->instance->boot_id) && lead.expires_at > tx->now)
        return lead_renew(tx, &lead, s, err);
    if (same_instance || lead.expires_at <= tx->now)
        return lead_take(tx, &lead, s, err);
    s->leader = lead.instance;
    return true;
}

bool leader_leave(struct tx *tx, const struct instance *instance, struct pawl_error *err)
{
    return sql_run(tx, Q_LEADER_LEAVE, err, TEXT(instance->name), TEXT(instance->boot_id),
                   INT(tx->now));
}

// ----- what is stale

static bool last_execution(struct tx *tx, const struct job *job, struct execution *e, bool *found,
                           struct pawl_error *err)
{
    struct execution *all = NULL;
    size_t count = 0;
    if (!executions_of_job(tx, job->id.high, &all, &count, err))
        return false;
    *found = count > 0;
    if (*found)
        *e = all[count - 1];
    return true;
}

// A row that should have ended long ago, and whether it turned out to have time left.
struct stale {
    int64_t run;
    bool postponed;
};

static bool close_row(struct tx *tx, const struct stale *row, struct str why,
                      struct pawl_error *err)
{
    return sql_run(tx, Q_RUN_CLOSE_ROW, err, INT(row->run),
                   TEXT(str_of(run_status_name(RUN_SKIPPED_TIMEOUT))), INT(tx->now), TEXT(why));
}

static bool postpone(struct tx *tx, struct stale *row, pawl_time to, struct pawl_error *err)
{
    row->postponed = true;
    return sql_run(tx, Q_RUN_POSTPONE, err, INT(row->run), INT(to));
}

// A run past its time is TIMED_OUT, which closes its row; one that has committed is finished.
static bool end_running(struct tx *tx, struct stale *row, const struct job *job,
                        struct pawl_error *err)
{
    static const struct work_error late = {
        .class = ERROR_TIMEOUT,
        .message = { "its slot is stale", sizeof("its slot is stale") - 1 },
    };
    struct execution e = {0};
    bool found = false;
    if (!last_execution(tx, job, &e, &found, err))
        return false;
    assert(found && execution_status_live(e.status));  // or the job would not be RUNNING
    if (e.status == EXECUTION_COMMITTED)
        return postpone(tx, row, tx->now + job->contract.policy.timeout_us, err);
    return execution_end(tx, &e, END_TIMEOUT, &late, err);
}

// When the turn of a slot came that was claimed with others: they run one after another.
static bool turn_of(struct tx *tx, const struct stale *row, pawl_time *turn,
                    struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_RUN_TURN, err, INT(row->run), INT(tx->now))
        && rows_number(&rows, turn, err);
}

// One that did not begin has waited since its turn came; a second try, since the end of the first.
// One that waits for another of its schedule cannot begin: that one runs, or is stale itself and
// comes first.
static bool end_waiting(struct tx *tx, struct stale *row, struct job *job, struct pawl_error *err)
{
    struct execution e;
    bool found = false;
    pawl_time from = 0;
    if (!last_execution(tx, job, &e, &found, err) || !turn_of(tx, row, &from, err))
        return false;
    if (found && e.finished_at > from)
        from = e.finished_at;
    if (job->phase == PHASE_BLOCKED)
        from = tx->now;
    if (from + job->contract.policy.timeout_us > tx->now)
        return postpone(tx, row, from + job->contract.policy.timeout_us, err);
    return close_row(tx, row, S("it did not begin within twice its expected_max_runtime"), err)
        && job_end_waiting(tx, job, FAILURE_RESOURCE_EXHAUSTED, ENDED_STALE, err);
}

// Whoever closes a row ends its job in the same transaction. A job that waits for another try has
// the time of that try; one that never began has waited too long.
static bool end_stale(struct tx *tx, struct stale *row, struct pawl_error *err)
{
    int64_t key = 0;
    struct job job;
    {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask(tx, &rows, Q_RUN_JOB_OF, err, INT(row->run))
            || !rows_number(&rows, &key, err))
            return false;
    }
    if (key == 0)
        return close_row(tx, row, TOO_LONG, err);
    if (!job_load_row(tx, key, &job, err))
        return false;
    switch (job.state) {
    case JOB_RUNNING:
        return end_running(tx, row, &job, err);
    case JOB_RETRYING:
        return postpone(tx, row, job.run_at + job.contract.policy.timeout_us, err);
    case JOB_QUEUED:
        return end_waiting(tx, row, &job, err);
    default:
        return close_row(tx, row, TOO_LONG, err);
    }
}

// One job whose records are damaged must not keep all schedules from their slots: it is left to the
// operator. It is noticed before anything is written.
static bool end_or_leave(struct tx *tx, struct stale *row, struct pawl_error *err)
{
    return end_stale(tx, row, err)
        || (err->code == PAWL_DAMAGED && postpone(tx, row, tx->now + AGAIN_US, err));
}

static bool stale_rows(struct tx *tx, const struct schedule_view *v, size_t limit,
                       struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    bool asked = v ? sql_ask(tx, &rows, Q_RUNS_STALE_OF, err, INT(v->org), TEXT(v->schedule.name),
                             INT(tx->now), INT((int64_t)limit))
                   : sql_ask(tx, &rows, Q_RUNS_STALE, err, INT(tx->now), INT((int64_t)limit));
    return asked && rows_keys(&rows, keys, err);
}

bool slots_end_stale(struct tx *tx, const struct schedule_view *v, size_t limit, size_t *ended,
                     struct pawl_error *err)
{
    struct keys keys = {0};
    const struct caller *caller = tx->caller;
    *ended = 0;
    if (!stale_rows(tx, v, limit, &keys, err))
        return false;
    bool done = true;
    tx->caller = &caller_pawl;
    for (size_t i = 0; done && i < keys.count; i++) {
        struct stale row = { .run = keys.at[i] };
        done = end_or_leave(tx, &row, err);
        *ended += !row.postponed;
    }
    tx->caller = caller;
    return done;
}

// ----- what is due

// Its own queue is full, its time zone is gone, or there is no room for a new job: nothing that
// keeps the rest of the tick from being done. A disk that is full says so before it is written to.
static bool is_its_own(const struct tx *tx, enum pawl_code code)
{
    return pawl_code(code)->refusal || (code == PAWL_DISK_FULL && db_is_short(tx->db));
}

// A schedule that is refused must not keep the others from their slots, nor what is stale from its
// end, and is not moved on: it is tried again until it is a misfire.
static bool settle_one(struct tx *tx, int64_t id, struct scheduling *s, struct pawl_error *err)
{
    struct schedule_view v;
    struct settled settled = { .worker_instance = s->instance->name };
    struct pawl_error why = {0};
    if (!tx_mark(tx, err))
        return false;
    if (schedule_load_row(tx, id, &v, &why) && slots_settle(tx, &v, &settled, &why)) {
        s->claimed += settled.claimed;
        s->stale += settled.stale;
        s->rows += settled.rows;
        for (size_t i = 0; i < SKIP_REASONS; i++)
            s->skips[i] += settled.skips[i];
        return tx_keep(tx, err);
    }
    if (!tx_take_back(tx, err))
        return false;
    if (!is_its_own(tx, why.code))
        return fail(err, why.code, "%s", why.message);
    s->refused++;
    (void)!fail(&s->why, why.code, "schedule %.*s: %s", STR(v.schedule.name), why.message);
    return sql_run(tx, Q_SCHEDULE_POSTPONE, err, INT(id), INT(tx->now + AGAIN_US));
}

static bool due_ids(struct tx *tx, size_t limit, struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_SCHEDULES_DUE, err, INT(tx->now), INT((int64_t)limit))
        && rows_keys(&rows, keys, err);
}

static bool settle_due(struct tx *tx, struct scheduling *s, struct pawl_error *err)
{
    struct keys keys = {0};
    if (!due_ids(tx, s->limit, &keys, err))
        return false;
    for (size_t i = 0; i < keys.count && s->rows < s->limit; i++)
        if (!settle_one(tx, keys.at[i], s, err))
            return false;
    s->more = keys.count == s->limit || s->rows >= s->limit;
    return true;
}

static bool earliest(struct tx *tx, enum query query, pawl_time *next, struct pawl_error *err)
{
    pawl_time time = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, query, err) || !rows_number(&rows, &time, err))
        return false;
    if (time && (!*next || time < *next))
        *next = time;
    return true;
}

static bool when_next(struct tx *tx, struct scheduling *s, struct pawl_error *err)
{
    s->next = 0;
    return earliest(tx, Q_SCHEDULES_NEXT, &s->next, err)
        && earliest(tx, Q_RUN_STALE_NEXT, &s->next, err);
}

static bool clock_is_off(const struct tx *tx, const struct scheduling *s)
{
    int64_t off = tx->now - s->wall;
    return off > CLOCK_OFF_US || off < -CLOCK_OFF_US;
}

// Where nothing is scheduled nobody needs to lead.
bool slots_tick(struct tx *tx, struct scheduling *s, struct pawl_error *err)
{
    if (!when_next(tx, s, err))
        return false;
    s->clock_off = clock_is_off(tx, s);
    if (s->next == 0 || s->clock_off)
        return true;
    if (!lead_keep(tx, s, err))
        return false;
    if (!s->leads || s->next > tx->now)
        return true;
    size_t stale = 0;
    if (!slots_end_stale(tx, NULL, s->limit, &stale, err) || !settle_due(tx, s, err))
        return false;
    s->stale += stale;
    s->more = s->more || stale == s->limit;
    return when_next(tx, s, err);
}
