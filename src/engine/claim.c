// Claiming: the oldest due jobs of the asked queues become executions, in one transaction.
//
// `ready` is ordered by queue, type, rank and job. A claim that names its types reads only
// theirs, so jobs nobody here can run cost nothing; the heads of the types are merged by rank,
// then age (RUN-9).
#include <assert.h>

#include "base/list.h"
#include "engine/event.h"
#include "engine/execution.h"
#include "engine/job.h"
#include "engine/place.h"
#include "model/text_rule.h"

enum { LANE_ROWS = 64, LANES_MAX = 4096 };

// The ready jobs of one type in one queue, read a few at a time; of one project, if the caller is
// limited to some.
struct lane {
    int64_t queue, type;
    struct str project;  // empty: whatever it is
    struct waiting *rows;
    size_t count, next;
    bool drained;  // the store has no more than these
};

struct claiming {
    const struct claim *claim;
    int64_t org, worker;
    struct list claimed;
};

static size_t room(const struct claiming *c)
{
    return c->claim->limit - c->claimed.count;
}

static bool lane_ask(struct tx *tx, const struct claiming *c, const struct lane *lane,
                     size_t wanted, struct rows *rows, struct pawl_error *err)
{
    struct waiting last = { .rank = INT64_MIN };
    if (lane->count)
        last = lane->rows[lane->count - 1];
    if (lane->project.n)
        return sql_ask(tx, rows, Q_READY_LANE_OF_PROJECT, err, INT(c->org), TEXT(lane->project),
                       INT(lane->queue), INT(lane->type), INT(last.rank), INT(last.job),
                       INT((int64_t)wanted));
    return sql_ask(tx, rows, Q_READY_LANE, err, INT(lane->queue), INT(lane->type), INT(last.rank),
                   INT(last.job), INT(c->org), INT((int64_t)wanted));
}

static bool lane_fill(struct tx *tx, const struct claiming *c, struct lane *lane,
                      struct pawl_error *err)
{
    size_t wanted = room(c) < LANE_ROWS ? room(c) : LANE_ROWS;
    SCOPED(rows) struct rows rows = {0};
    if (!lane_ask(tx, c, lane, wanted, &rows, err))
        return false;
    lane->rows = arena_new(tx->arena, struct waiting, wanted);
    if (!lane->rows)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    lane->count = lane->next = 0;
    while (lane->count < wanted && rows_next(&rows)) {
        struct waiting *row = &lane->rows[lane->count++];
        row->queue = lane->queue;
        row->type = lane->type;
        row->rank = row_int(&rows);
        row->job = row_int(&rows);
        row->org = row_int(&rows);
        row->attempt = row_int(&rows);
        row->serial_key = row_text(&rows);
    }
    lane->drained = lane->count < wanted;
    return rows_ok(&rows, err);
}

static bool lane_add(struct tx *tx, const struct claiming *c, struct list *lanes,
                     const struct lane *wanted, struct pawl_error *err)
{
    struct lane *lane = list_add(lanes);
    if (!lane)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    *lane = *wanted;
    return lane_fill(tx, c, lane, err);
}

// The type after the lane's own that has something ready; 0: none.
static bool next_type(struct tx *tx, const struct claiming *c, struct lane *lane,
                      struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    bool asked = lane->project.n
        ? sql_ask(tx, &rows, Q_READY_NEXT_TYPE_OF_PROJECT, err, INT(c->org), TEXT(lane->project),
                             INT(lane->queue), INT(lane->type))
        : sql_ask(tx, &rows, Q_READY_NEXT_TYPE, err, INT(lane->queue), INT(lane->type));
    return asked && rows_number(&rows, &lane->type, err);
}

static bool has_lane(const struct list *lanes, const struct lane *wanted)
{
    const struct lane *all = lanes->items;
    for (size_t i = 0; i < lanes->count; i++)
        if (all[i].type == wanted->type && str_eq(all[i].project, wanted->project))
            return true;
    return false;
}

// One lane per asked type that exists; without types, one per type that has something ready. A type
// that is asked for twice has one lane: a second would offer the same jobs again.
static bool lanes_add(struct tx *tx, const struct claiming *c, struct lane lane,
                      struct list *lanes, struct pawl_error *err)
{
    for (size_t i = 0; i < c->claim->job_type_count; i++) {
        if (!name_find(tx, NAME_JOB_TYPE, c->claim->job_types[i], &lane.type, err)
            || (lane.type && !has_lane(lanes, &lane) && !lane_add(tx, c, lanes, &lane, err)))
            return false;
    }
    if (c->claim->job_type_count)
        return true;
    while (lanes->count < LANES_MAX) {
        if (!next_type(tx, c, &lane, err))
            return false;
        if (lane.type == 0)
            return true;
        if (!lane_add(tx, c, lanes, &lane, err))
            return false;
    }
    return true;
}

// A caller that is limited to projects has lanes of its own for each of them: what is ready for
// others costs it nothing (OPS-18).
static bool lanes_open(struct tx *tx, const struct claiming *c, int64_t queue, struct list *lanes,
                       struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    if (!caller || caller->project_count == 0)
        return lanes_add(tx, c, (struct lane){ .queue = queue }, lanes, err);
    for (size_t i = 0; i < caller->project_count; i++) {
        struct lane lane = { .queue = queue, .project = caller->projects[i] };
        if (!lanes_add(tx, c, lane, lanes, err))
            return false;
    }
    return true;
}

static bool before(const struct waiting *a, const struct waiting *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->job < b->job;
}

// The lane with the first candidate of all; NULL when all are empty.
static struct lane *lanes_first(struct list *lanes)
{
    struct lane *first = NULL;
    struct lane *all = lanes->items;
    for (size_t i = 0; i < lanes->count; i++)
        if (all[i].next < all[i].count
            && (!first || before(&all[i].rows[all[i].next], &first->rows[first->next])))
            first = &all[i];
    return first;
}

static bool key_of_attempt(struct tx *tx, int64_t job, int64_t attempt, int64_t *key,
                           struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_EXECUTION_OF_ATTEMPT, err, INT(job), INT(attempt))
        && rows_number(&rows, key, err);
}

// The job's history before this attempt. A first attempt has none.
static bool history(struct tx *tx, int64_t job, int64_t attempt, struct tally *tally,
                    struct pawl_error *err)
{
    struct execution previous;
    int64_t key = 0;
    *tally = (struct tally){0};
    if (attempt == 0)
        return true;
    if (!key_of_attempt(tx, job, attempt, &key, err)
        || !execution_load_row(tx, key, &previous, err))
        return false;
    *tally = tally_after(&previous.tally, previous.end_reason, previous.error_class, true);
    return true;
}

static int64_t lease_length(const struct claim *claim, const struct policy *policy)
{
    int64_t lease_us = claim->lease_us ? claim->lease_us : policy->lease_us;
    if (lease_us < LEASE_US_MIN)
        return LEASE_US_MIN;
    return lease_us > LEASE_US_MAX ? LEASE_US_MAX : lease_us;
}

static bool insert(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    assert(!execution_problem(e));
    return sql_later(tx, Q_EXECUTION_INSERT, err, INT(e->id.high), INT(e->id.low), INT(e->org),
                     INT(e->job.high), INT(e->attempt),
                     TEXT(str_of(execution_status_name(e->status))), INT(e->worker), INT(e->queue),
                     INT(e->type), INT(e->policy), INT(e->lease_us), INT(e->lease_expires_at),
                     INT(e->leased_at), INT_OR_NONE(e->started_at), INT_OR_NONE(e->deadline_at),
                     INT(e->tally.attempts_used), INT(e->tally.retry_count),
                     INT(e->tally.crash_count), TEXT_OR_NONE(e->serial_key));
}

static bool lease_job(struct tx *tx, struct claiming *c, struct claimed *claimed,
                      const struct tally *before_this, struct pawl_error *err)
{
    struct job *job = &claimed->job;
    struct execution *e = &claimed->execution;
    const struct policy *policy = &job->contract.policy;
    *e = (struct execution){
        .job = job->id,
        .attempt = job->attempt + 1,
        .status = EXECUTION_LEASED,
        .lease_owner = c->claim->worker.worker_id,
        .lease_us = lease_length(c->claim, policy),
        .leased_at = tx->now,
        .progress_percent = -1,
        .tally = *before_this,
        .serial_key = job->contract.serial_key,
        .org = job->keys.org,
        .worker = c->worker,
        .policy = job->keys.policy,
        .type = job->keys.type,
        .queue = job->keys.queue,
    };
    e->tally.attempts_used++;
    e->lease_expires_at = tx->now + e->lease_us;
    bool start = c->claim->start && policy->timeout_us >= c->claim->start_us_min;
    if (start) {
        e->started_at = tx->now;
        e->deadline_at = tx->now + policy->timeout_us;
        if (e->lease_expires_at > e->deadline_at)
            e->lease_expires_at = e->deadline_at;
    }
    struct subject subject = { e->org, job->id.high, e->attempt };
    return id_make(tx, ID_EXECUTION, &e->id, err)
        && (!start || execution_move(e, EXECUTION_IN_PROGRESS, err))
        && insert(tx, e, err)
        && event_append(tx, subject, start ? EVENT_JOB_STARTED : EVENT_JOB_LEASED,
                        S(""), err);
}

// QUEUED -> RUNNING. The job in hand is what the worker needs to know of it.
static bool take(struct tx *tx, struct claiming *c, const struct waiting *place,
                 struct pawl_error *err)
{
    struct tally tally;
    struct claimed *claimed = list_add(&c->claimed);
    if (!claimed)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    struct job *job = &claimed->job;
    if (!job_load_ready(tx, place, job, err)
        || !job_move(job, JOB_RUNNING, FAILURE_NONE, err)
        || !history(tx, place->job, place->attempt, &tally, err)
        || !sql_run(tx, Q_READY_DELETE, err, INT(place->queue), INT(place->type),
                    INT(place->rank), INT(place->job))
        || !lease_job(tx, c, claimed, &tally, err))
        return false;
    job->phase = claimed->execution.started_at ? PHASE_RUNNING : PHASE_LEASED;
    job->attempt = claimed->execution.attempt;
    job->attempts_used = claimed->execution.tally.attempts_used;
    job->started_at = job->started_at ? job->started_at : claimed->execution.started_at;
    job->updated_at = tx->now;
    return true;
}

// A job whose records are damaged is passed over, or it would keep its whole queue waiting. That is
// noticed before anything is written.
static bool take_sound(struct tx *tx, struct claiming *c, const struct waiting *place,
                       struct pawl_error *err)
{
    size_t before = c->claimed.count;
    struct pawl_error why = {0};
    if (take(tx, c, place, &why))
        return true;
    c->claimed.count = before;
    if (why.code == PAWL_DAMAGED)
        return true;
    return fail(err, why.code, "%s", why.message);
}

static bool take_ready(struct tx *tx, struct claiming *c, int64_t queue, struct pawl_error *err)
{
    struct list lanes = list_of(tx->arena, sizeof(struct lane));
    if (!lanes_open(tx, c, queue, &lanes, err))
        return false;
    while (room(c) > 0) {
        struct lane *lane = lanes_first(&lanes);
        if (!lane)
            return true;
        if (!take_sound(tx, c, &lane->rows[lane->next++], err))
            return false;
        if (lane->next == lane->count && !lane->drained && room(c) > 0
            && !lane_fill(tx, c, lane, err))
            return false;
    }
    return true;
}

// A committed execution whose commit phase is to be run again: same execution, same attempt.
static bool take_finish(struct tx *tx, struct claiming *c, int64_t key, struct pawl_error *err)
{
    struct claimed *claimed = list_add(&c->claimed);
    if (!claimed)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    struct execution *e = &claimed->execution;
    if (!execution_load_row(tx, key, e, err) || !job_load_row(tx, e->job.high, &claimed->job, err))
        return false;
    claimed->finish = true;
    e->lease_us = lease_length(c->claim, &claimed->job.contract.policy);
    e->lease_expires_at = tx->now + e->lease_us;
    e->worker = c->worker;
    e->lease_owner = c->claim->worker.worker_id;
    return sql_run(tx, Q_EXECUTION_FINISH_LEASE, err, INT(key), INT(e->worker), INT(e->lease_us),
                   INT(e->lease_expires_at))
        && event_append(tx, execution_subject(e),
                        EVENT_JOB_FINISH_LEASED, S(""), err);
}

static bool finish_keys(struct tx *tx, struct claiming *c, int64_t queue, int64_t type,
                        struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_EXECUTION_FINISH_DUE, err, INT(tx->now), INT(queue), INT(type),
                   INT(c->org), INT((int64_t)room(c)), caller_projects(tx))
        && rows_keys(&rows, keys, err);
}

static bool take_finishes_of(struct tx *tx, struct claiming *c, int64_t queue, int64_t type,
                             struct pawl_error *err)
{
    struct keys keys;
    if (!finish_keys(tx, c, queue, type, &keys, err))
        return false;
    for (size_t i = 0; i < keys.count; i++)
        if (!take_finish(tx, c, keys.at[i], err))
            return false;
    return true;
}

static bool take_finishes(struct tx *tx, struct claiming *c, int64_t queue, struct pawl_error *err)
{
    if (c->claim->job_type_count == 0)
        return take_finishes_of(tx, c, queue, 0, err);
    for (size_t i = 0; i < c->claim->job_type_count && room(c) > 0; i++) {
        int64_t type = 0;
        if (!name_find(tx, NAME_JOB_TYPE, c->claim->job_types[i], &type, err)
            || (type && !take_finishes_of(tx, c, queue, type, err)))
            return false;
    }
    return true;
}

static bool paused_since(struct tx *tx, int64_t queue, pawl_time *since, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_QUEUE_PAUSED, err, INT(queue)) && rows_number(&rows, since, err);
}

static bool take_from(struct tx *tx, struct claiming *c, struct str name, struct pawl_error *err)
{
    int64_t queue = 0;
    pawl_time paused = 0;
    if (!name_find(tx, NAME_QUEUE, name, &queue, err) || !paused_since(tx, queue, &paused, err))
        return false;
    if (queue == 0 || paused != 0)
        return true;
    return take_finishes(tx, c, queue, err) && take_ready(tx, c, queue, err);
}

static bool filled_queues(struct tx *tx, struct keys *queues, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_CLAIM_QUEUES, err, INT(tx->now)) && rows_keys(&rows, queues, err);
}

static bool is_critical(struct tx *tx, int64_t queue, bool *critical, struct pawl_error *err)
{
    struct str name;
    if (!name_text(tx, NAME_QUEUE, queue, &name, err))
        return false;
    *critical = str_eq(name, S("q:critical"));
    return true;
}

// The first is the critical one if it has something. The others take turns at being next, so that a
// long queue cannot keep a short one waiting for ever.
static bool take_from_every_queue(struct tx *tx, struct claiming *c, struct pawl_error *err)
{
    struct keys queues = {0};
    bool critical = false;
    if (!filled_queues(tx, &queues, err))
        return false;
    if (queues.count > 0 && !is_critical(tx, queues.at[0], &critical, err))
        return false;
    size_t others = queues.count - critical;
    for (size_t i = 0; i < queues.count && room(c) > 0; i++) {
        bool first = critical && i == 0;
        size_t next = first ? 0 : critical + (i - critical + c->claim->turn) % others;
        int64_t queue = queues.at[next];
        if (!take_finishes(tx, c, queue, err) || !take_ready(tx, c, queue, err))
            return false;
    }
    return true;
}

static bool take_from_named(struct tx *tx, struct claiming *c, struct pawl_error *err)
{
    for (size_t i = 0; i < c->claim->queue_count && room(c) > 0; i++)
        if (!take_from(tx, c, c->claim->queues[i], err))
            return false;
    return true;
}

static bool claim_check(struct tx *tx, const struct claim *claim, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    if (claim->limit < 1 || claim->limit > CLAIM_MAX)
        problem_add(&problems, "max", "must be 1 to %d", CLAIM_MAX);
    if (claim->worker.worker_id.n > KEY_BYTES_MAX || !text_is_key(claim->worker.worker_id))
        problem_add(&problems, "worker_id", "must be 1 to %d bytes of printable UTF-8",
                    KEY_BYTES_MAX);
    if (claim->queue_count == 0 && !claim->every_queue)
        problem_add(&problems, "queues", "must name at least one queue");
    for (size_t i = 0; i < claim->queue_count; i++)
        if (str_eq(claim->queues[i], DEADLETTER_QUEUE))
            problem_add(&problems, "queues", "nothing can be leased from q:deadletter");
    return problems_none(&problems, err);
}

bool execution_claim(struct tx *tx, const struct claim *claim, struct claimed **claimed,
                     size_t *count, struct pawl_error *err)
{
    struct claiming c = { .claim = claim,
                          .claimed = list_of(tx->arena, sizeof(struct claimed)) };
    *claimed = NULL;
    *count = 0;
    if (!claim_check(tx, claim, err) || !caller_org(tx, &c.org, err))
        return false;
    if (c.org < 0)
        return true;  // an org that never had a job
    if (!worker_intern(tx, c.org, &claim->worker, &c.worker, err))
        return false;
    if (!(claim->every_queue ? take_from_every_queue : take_from_named)(tx, &c, err))
        return false;
    *claimed = c.claimed.items;
    *count = c.claimed.count;
    return true;
}
