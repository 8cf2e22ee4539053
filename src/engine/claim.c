// Claiming: the oldest due jobs of the asked queues become executions, in one transaction.
//
// Queues take turns by weight, one job at a time; within a queue orgs do, and of an org the oldest
// job of the greatest priority is next.
#include <assert.h>

#include "base/list.h"
#include "engine/artifact.h"
#include "engine/event.h"
#include "engine/execution.h"
#include "engine/gate.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/place.h"
#include "engine/queue.h"
#include "engine/slot.h"
#include "engine/taken.h"
#include "model/input.h"
#include "model/text_rule.h"
#include "store/counts.h"

enum { MANY = 64 };

// One queue of a claim.
struct source {
    struct lanes lanes;
    bool open;             // the rest is known
    bool closed;           // the claim's own org paused its share
    struct list finishes;  // keys of executions whose commit phase is due ...
    size_t finish_next;    // ... and the next of them
};

struct claiming {
    const struct claim *claim;
    int64_t org, worker;
    struct list claimed;
    struct list sources;     // the queues ...
    struct list contenders;  // ... and, side by side, how they stand in the order of turns
    struct turns *turns, fresh;
    struct taken taken;
    struct gates gates;      // what limits let through
};

static size_t room(const struct claiming *c)
{
    return c->claim->limit - c->claimed.count;
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

static bool insert_first(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    return sql_later(tx, Q_EXECUTION_INSERT_FIRST, err, INT(e->id.high), INT(e->id.low),
                     INT(e->org), INT(e->job.high),
                     TEXT(str_of(execution_status_name(e->status))), INT(e->worker), INT(e->queue),
                     INT(e->type), INT(e->policy), INT(e->lease_us), INT(e->lease_expires_at),
                     INT(e->leased_at), INT_OR_NONE(e->started_at), INT_OR_NONE(e->deadline_at));
}

static bool insert(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    assert(!execution_problem(e));
    if (e->attempt == 1 && e->serial_key.n == 0)
        return insert_first(tx, e, err);
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
        execution_move(e, EXECUTION_IN_PROGRESS);
        e->started_at = tx->now;
        e->deadline_at = tx->now + policy->timeout_us;
        if (e->lease_expires_at > e->deadline_at)
            e->lease_expires_at = e->deadline_at;
    }
    return id_make(tx, ID_EXECUTION, &e->id, err)
        && insert(tx, e, err) && (!start || slot_started(tx, e, err))
        && event_append(tx, execution_subject(e), start ? EVENT_JOB_STARTED : EVENT_JOB_LEASED,
                        S(""), err);
}

// A job whose input is gone ends here: nobody could do its work (JOB-11).
static bool end_without_input(struct tx *tx, struct job *job, bool *ended, struct pawl_error *err)
{
    struct str why = S("");
    if (!inputs_lost(tx, job, &why, err))
        return false;
    *ended = why.n > 0;
    return !*ended || job_end_waiting(tx, job, FAILURE_RESOURCE_EXHAUSTED, why, err);
}

// A delayed job that comes due leaves no event, and so no time in the store. If the calendar was
// set back since, and the store opened again, its time is still to come: it stays where it is
// (OPS-15).
static bool is_early(const struct tx *tx, const struct job *job)
{
    return job->run_at > tx->now;
}

// Whether the job may be found to be none to run now. Then the next of its serial key moves up, to
// wherever in `ready` it belongs.
static bool may_give_way(const struct claiming *c, const struct job *job)
{
    return policy_has_inputs(&job->contract.policy)
        || (c->gates.some && job->contract.limit_key.n > 0);
}

// Whether the job is one to run now; if not, it may have been moved elsewhere.
static bool let_through(struct tx *tx, struct claiming *c, struct job *job, bool *passes,
                        struct pawl_error *err)
{
    bool gives_way = may_give_way(c, job), ended = false;
    *passes = false;
    if ((gives_way && !taken_settle(tx, &c->taken, err))
        || !end_without_input(tx, job, &ended, err))
        return false;
    if (!ended && !is_early(tx, job) && !gates_key(tx, &c->gates, job, passes, err))
        return false;
    c->taken.scattered = c->taken.scattered || (gives_way && !*passes);
    return true;
}

// QUEUED -> RUNNING. The job in hand is what the worker needs to know of it.
static bool take(struct tx *tx, struct claiming *c, const struct waiting *place,
                 struct pawl_error *err)
{
    struct tally tally;
    bool many = c->claimed.count >= MANY;  // then it is likely to be all that were asked for
    struct claimed *claimed = many && !list_room(&c->claimed, room(c)) ? NULL
                                                                       : list_add(&c->claimed);
    if (!claimed)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    struct job *job = &claimed->job;
    bool passes = false;
    if (!job_load_ready(tx, place, job, err) || !let_through(tx, c, job, &passes, err))
        return false;
    if (!passes) {
        c->claimed.count--;
        return true;
    }
    job_must_move(job, JOB_RUNNING, FAILURE_NONE);
    if (!history(tx, place->job, place->attempt, &tally, err)
        || !taken_add(tx, &c->taken, place, err)
        || !lease_job(tx, c, claimed, &tally, err) || !gates_pass(tx, &c->gates, job, err))
        return false;
    tx_count(tx, place->org, place->queue, PLACE_READY, -1);
    tx_count(tx, place->org, place->queue, PLACE_RUNNING, 1);
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

// What the limit of the queue leaves of the room. A claim that moved many jobs behind their keys
// has done enough: there may be more for the next one.
static bool room_in_queue(struct tx *tx, struct claiming *c, const struct source *source,
                          size_t *left, struct pawl_error *err)
{
    size_t passing = SIZE_MAX;
    if (!gates_room(tx, &c->gates, LIMIT_QUEUE, source->lanes.queue, &passing, err))
        return false;
    *left = passing < room(c) ? passing : room(c);
    if (c->gates.parked < GATE_PARKS_MAX)
        return true;
    tx_has_news(tx, NEWS_ANY);
    *left = 0;
    return true;
}

// The next candidate: of the org whose turn it is, else of the next one that has any.
static bool next_ready(struct tx *tx, struct claiming *c, struct source *source,
                       const struct waiting **place, struct pawl_error *err)
{
    size_t left = 0;
    *place = NULL;
    if (!room_in_queue(tx, c, source, &left, err))
        return false;
    for (bool more = left > 0; more;) {
        if (!lanes_take(tx, &source->lanes, left, place, err))
            return false;
        if (*place)
            return true;
        if (!taken_settle(tx, &c->taken, err) || !lanes_next_share(tx, &source->lanes, &more, err))
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

static bool finishes_add(struct tx *tx, struct claiming *c, struct source *source, int64_t type,
                         struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_EXECUTION_FINISH_DUE, err, INT(tx->now), INT(source->lanes.queue),
                 INT(type), INT(c->org), INT((int64_t)room(c)), caller_projects(tx)))
        return false;
    while (rows_next(&rows)) {
        int64_t *key = list_add(&source->finishes);
        if (!key)
            return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
        *key = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool type_is_repeated(const struct claim *claim, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(claim->job_types[k], claim->job_types[i]))
            return true;
    return false;
}

static bool finishes_find(struct tx *tx, struct claiming *c, struct source *source,
                          struct pawl_error *err)
{
    source->finishes = list_of(tx->arena, sizeof(int64_t));
    if (c->claim->job_type_count == 0)
        return finishes_add(tx, c, source, 0, err);
    for (size_t i = 0; i < c->claim->job_type_count; i++) {
        int64_t type = 0;
        if (!name_find(tx, NAME_JOB_TYPE, c->claim->job_types[i], &type, err)
            || (type && !type_is_repeated(c->claim, i)
                && !finishes_add(tx, c, source, type, err)))
            return false;
    }
    return true;
}

// ----- the queues

static bool source_add(struct tx *tx, struct claiming *c, int64_t queue, struct str name,
                       struct pawl_error *err)
{
    struct source *source = list_add(&c->sources);
    struct contender *contender = list_add(&c->contenders);
    if (!source || !contender)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    source->lanes = (struct lanes){ .claim = c->claim,
                                    .gates = &c->gates,
                                    .org = c->org,
                                    .queue = queue,
                                    .turn = turns_share(c->turns, queue) };
    *contender = (struct contender){
        .queue = queue,
        .weight = queue_term_of(tx->queue_terms, name).weight,
        .critical = str_eq(name, CRITICAL_QUEUE),
    };
    return true;
}

static bool filled_queues(struct tx *tx, struct keys *queues, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_CLAIM_QUEUES, err, INT(tx->now)) && rows_keys(&rows, queues, err);
}

static bool add_every_queue(struct tx *tx, struct claiming *c, struct pawl_error *err)
{
    struct keys queues = {0};
    if (!filled_queues(tx, &queues, err))
        return false;
    for (size_t i = 0; i < queues.count; i++) {
        struct str name;
        if (!name_text(tx, NAME_QUEUE, queues.at[i], &name, err)
            || !source_add(tx, c, queues.at[i], name, err))
            return false;
    }
    return true;
}

static bool has_source(const struct claiming *c, int64_t queue)
{
    const struct source *all = c->sources.items;
    for (size_t i = 0; i < c->sources.count; i++)
        if (all[i].lanes.queue == queue)
            return true;
    return false;
}

static bool add_named(struct tx *tx, struct claiming *c, struct pawl_error *err)
{
    for (size_t i = 0; i < c->claim->queue_count; i++) {
        int64_t queue = 0;
        pawl_time paused = 0;
        if (!name_find(tx, NAME_QUEUE, c->claim->queues[i], &queue, err)
            || !queue_paused(tx, queue, &paused, err))
            return false;
        if (queue != 0 && paused == 0 && !has_source(c, queue)
            && !source_add(tx, c, queue, c->claim->queues[i], err))
            return false;
    }
    return true;
}

static bool look_for_pauses(struct tx *tx, const struct claiming *c, struct source *source,
                            struct pawl_error *err)
{
    int64_t found = 0;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_QUEUE_HAS_PAUSES, err, INT(source->lanes.queue))
        || !rows_number(&rows, &found, err))
        return false;
    source->lanes.has_pauses = found != 0;
    struct share_pause pause = {0};
    if (found && c->org && !share_paused(tx, source->lanes.queue, c->org, &pause, err))
        return false;
    source->closed = pause.since != 0;
    return true;
}

// A queue is looked into when its turn comes first: commit phases before new work.
static bool source_open(struct tx *tx, struct claiming *c, struct source *source,
                        struct pawl_error *err)
{
    if (source->open)
        return true;
    source->open = true;
    source->lanes.only_queue = c->sources.count == 1;
    return look_for_pauses(tx, c, source, err)
        && (source->closed
            || (finishes_find(tx, c, source, err)
                && lanes_open(tx, &source->lanes, err)));
}

// Takes one job from the queue, if it has one.
static bool take_from(struct tx *tx, struct claiming *c, struct source *source, bool *taken,
                      struct pawl_error *err)
{
    size_t before = c->claimed.count;
    const struct waiting *place = NULL;
    *taken = false;
    if (!source_open(tx, c, source, err))
        return false;
    if (source->finish_next < source->finishes.count) {
        *taken = true;
        return take_finish(tx, c, ((int64_t *)source->finishes.items)[source->finish_next++], err);
    }
    while (c->claimed.count == before) {
        if (!next_ready(tx, c, source, &place, err))
            return false;
        if (!place)
            return true;
        if (!take_sound(tx, c, place, err))
            return false;
    }
    lanes_took(&source->lanes);
    *taken = true;
    return true;
}

static size_t next_in_order(const struct claiming *c)
{
    const struct contender *all = c->contenders.items;
    size_t i = 0;
    while (i < c->contenders.count && all[i].empty)
        i++;
    return i;
}

static bool take_all(struct tx *tx, struct claiming *c, struct pawl_error *err)
{
    struct turns *turns = c->turns;
    struct contender *contenders = c->contenders.items;
    struct source *sources = c->sources.items;
    size_t count = c->contenders.count;
    while (room(c) > 0) {
        size_t next = c->claim->in_order ? next_in_order(c) : turns_next(turns, contenders, count);
        bool taken = false;
        if (next == count)
            return true;
        if (!take_from(tx, c, &sources[next], &taken, err))
            return false;
        if (taken)
            turns_took(turns, contenders, count, next);
        else
            contenders[next].empty = true;
    }
    return true;
}

// A name that nothing can have is a mistake, not an empty queue.
static void check_queues(const struct claim *claim, struct problems *problems)
{
    for (size_t i = 0; i < claim->queue_count; i++)
        if (claim->queues[i].n > NAME_BYTES_MAX || !text_is_name(claim->queues[i]))
            problem_add(problems, str_format(problems->arena, "queues[%zu]", i).s,
                        "must be 1 to %d of A-Z a-z 0-9 . _ : -", NAME_BYTES_MAX);
}

static void check_types(const struct claim *claim, struct problems *problems)
{
    for (size_t i = 0; i < claim->job_type_count; i++)
        if (claim->job_types[i].n > NAME_BYTES_MAX || !text_is_type(claim->job_types[i]))
            problem_add(problems, str_format(problems->arena, "job_types[%zu]", i).s,
                        "must be 1 to %d of A-Z a-z 0-9 . _ : - that start with a letter or digit",
                        NAME_BYTES_MAX);
}

void claim_check(const struct claim *claim, struct problems *problems)
{
    if (claim->limit < 1 || claim->limit > CLAIM_MAX)
        problem_add(problems, "max", "must be 1 to %d", CLAIM_MAX);
    if (claim->worker.worker_id.n > KEY_BYTES_MAX || !text_is_key(claim->worker.worker_id))
        problem_add(problems, "worker_id", "must be 1 to %d bytes of printable UTF-8",
                    KEY_BYTES_MAX);
    if (claim->queue_count == 0 && !claim->every_queue)
        problem_add(problems, "queues", "must name at least one queue");
    for (size_t i = 0; i < claim->queue_count; i++)
        if (str_eq(claim->queues[i], DEADLETTER_QUEUE))
            problem_add(problems, "queues", "nothing can be leased from q:deadletter");
    check_queues(claim, problems);
    check_types(claim, problems);
}

static bool claim_allowed(struct tx *tx, const struct claim *claim, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    claim_check(claim, &problems);
    return problems_none(&problems, err);
}

bool execution_claim(struct tx *tx, const struct claim *claim, struct claimed **claimed,
                     size_t *count, struct pawl_error *err)
{
    struct claiming c = { .claim = claim,
                          .claimed = list_of(tx->arena, sizeof(struct claimed)),
                          .sources = list_of(tx->arena, sizeof(struct source)),
                          .contenders = list_of(tx->arena, sizeof(struct contender)) };
    c.turns = claim->turns ? claim->turns : &c.fresh;
    *claimed = NULL;
    *count = 0;
    if (claim->more_at)
        *claim->more_at = 0;
    if (!claim_allowed(tx, claim, err) || !caller_org(tx, &c.org, err))
        return false;
    if (c.org < 0)
        return true;  // an org that never had a job
    if (!worker_intern(tx, c.org, &claim->worker, &c.worker, err)
        || !gates_open(tx, &c.gates, err))
        return false;
    if (!(claim->every_queue ? add_every_queue : add_named)(tx, &c, err)
        || !take_all(tx, &c, err) || !taken_settle(tx, &c.taken, err)
        || !gates_close(tx, &c.gates, err))
        return false;
    if (claim->more_at)
        *claim->more_at = c.gates.next;
    *claimed = c.claimed.items;
    *count = c.claimed.count;
    return true;
}
