// What a worker does while it works: start, heartbeat, progress, release, fail.
#include "engine/execution.h"

#include <assert.h>

#include "base/list.h"
#include "engine/event.h"
#include "engine/fence.h"
#include "engine/finish.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/outcome.h"
#include "engine/place.h"
#include "engine/slot.h"
#include "model/redact.h"
#include "model/text_rule.h"
#include "store/counts.h"

struct lease lease_of(const struct execution *execution, const struct worker *worker)
{
    return (struct lease){ execution->id, execution->attempt, *worker };
}

struct subject execution_subject(const struct execution *e)
{
    return (struct subject){
        .org = e->org,
        .job = e->job.high,
        .job_low = e->job.low,
        .attempt = e->attempt,
        .type = e->type,
        .queue = e->queue,
        .attempts = e->tally.attempts_used,
        .started_at = e->started_at,
        .end_reason = e->end_reason,
        .error_class = e->error_class,
    };
}

// A lease does not outlive its run: the sweep that finds it expired then knows it as a timeout.
// After COMMITTED there is no deadline any more.
static pawl_time lease_end(const struct execution *e, pawl_time now)
{
    pawl_time end = now + e->lease_us;
    bool bounded = e->deadline_at && e->status == EXECUTION_IN_PROGRESS;
    return bounded && end > e->deadline_at ? e->deadline_at : end;
}

static bool committed(const struct execution *e)
{
    return e->status == EXECUTION_COMMITTED || e->status == EXECUTION_DONE;
}

bool execution_start(struct tx *tx, const struct lease *lease, struct execution *execution,
                     struct pawl_error *err)
{
    struct held held;
    struct policy policy;
    struct execution *e = &held.execution;
    int64_t changed = 0;
    if (!fence_look(tx, lease, &held, err))
        return false;
    if (held.own && committed(e))
        return fail(err, PAWL_ALREADY_COMMITTED,
                    "execution %.*s has committed: it cannot start again",
                    STR(id_text(tx->arena, e->id)));
    if (!held.live)
        return fence_lost(tx, lease, &held, err);
    *execution = *e;
    if (e->status == EXECUTION_IN_PROGRESS)
        return true;
    if (!policy_load(tx, e->policy, &policy, err))
        return false;
    execution_move(e, EXECUTION_IN_PROGRESS);
    e->started_at = tx->now;
    e->deadline_at = tx->now + policy.timeout_us;
    e->lease_expires_at = lease_end(e, tx->now);
    assert(!execution_problem(e));
    *execution = *e;
    return sql_run_counting(tx, Q_EXECUTION_START, &changed, err, INT(e->id.high), INT(e->attempt),
                            INT(e->worker), INT(tx->now), INT(e->deadline_at),
                            INT(e->lease_expires_at))
        && fence_held(tx, lease, &held, changed, err) && slot_started(tx, e, err)
        && event_append(tx, execution_subject(e), EVENT_JOB_STARTED, S(""), err);
}

void progress_check(const struct progress *progress, const char *prefix, struct problems *problems)
{
    struct arena *arena = problems->arena;
    if (progress->percent < 0 || progress->percent > 100)
        problem_add(problems, str_format(arena, "%sprogress.percent", prefix).s,
                    "must be 0 to 100");
    if (progress->message.n > PROGRESS_BYTES_MAX
        || (progress->message.n && !text_is_key(progress->message)))
        problem_add(problems, str_format(arena, "%sprogress.message", prefix).s,
                    "must be at most %d bytes of printable UTF-8", PROGRESS_BYTES_MAX);
}

static bool progress_allowed(struct tx *tx, const struct progress *progress,
                             struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    progress_check(progress, "", &problems);
    return problems_none(&problems, err);
}

// Only work that has started can progress.
static bool progress_write(struct tx *tx, const struct lease *lease, struct held *held,
                           const struct progress *progress, struct pawl_error *err)
{
    struct execution *e = &held->execution;
    int64_t changed = 0;
    if (e->status == EXECUTION_LEASED)
        return fail(err, PAWL_NOT_STARTED, "execution %.*s has not started: start it first",
                    STR(id_text(tx->arena, e->id)));
    e->progress_percent = progress->percent;
    e->progress_message = progress->message;
    return sql_run_counting(tx, Q_EXECUTION_PROGRESS, &changed, err, INT(e->id.high),
                            INT(e->attempt), INT(e->worker), INT(tx->now), INT(progress->percent),
                            TEXT_OR_NONE(progress->message))
        && fence_held(tx, lease, held, changed, err);
}

bool execution_progress(struct tx *tx, const struct lease *lease, const struct progress *progress,
                        struct execution *execution, struct pawl_error *err)
{
    struct held held;
    if (!progress_allowed(tx, progress, err) || !fence_pass(tx, lease, &held, err)
        || !progress_write(tx, lease, &held, progress, err))
        return false;
    *execution = held.execution;
    return true;
}

bool execution_heartbeat(struct tx *tx, const struct lease *lease, const struct progress *progress,
                         struct execution *execution, struct pawl_error *err)
{
    struct held held;
    struct execution *e = &held.execution;
    int64_t changed = 0;
    if ((progress && !progress_allowed(tx, progress, err)) || !fence_pass(tx, lease, &held, err)
        || (progress && !progress_write(tx, lease, &held, progress, err)))
        return false;
    e->lease_expires_at = lease_end(e, tx->now);
    *execution = *e;
    return sql_run_counting(tx, Q_EXECUTION_RENEW, &changed, err, INT(e->id.high), INT(e->attempt),
                            INT(e->worker), INT(tx->now), INT(e->lease_expires_at))
        && fence_held(tx, lease, &held, changed, err);
}

static bool holdings_read(struct rows *rows, struct list *list, struct pawl_error *err)
{
    while (rows_next(rows)) {
        struct holding *holding = list_add(list);
        if (!holding)
            return fail(err, PAWL_NO_MEMORY, "no memory for the leases of a worker");
        holding->execution.high = row_int(rows);
        holding->execution.low = row_int(rows);
        holding->attempt = row_int(rows);
        holding->leased_at = row_int(rows);
        holding->cancel_requested = row_int(rows) != 0;
    }
    return rows_ok(rows, err);
}

static bool holdings_ask(struct tx *tx, const struct worker *worker, enum query query,
                         struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    int64_t org = 0, number = 0;
    if (!caller_org(tx, &org, err) || !worker_find(tx, org, worker, &number, err))
        return false;
    return number == 0  // it never held anything
        || (sql_ask(tx, &rows, query, err, INT(number), INT(tx->now), caller_projects(tx))
            && holdings_read(&rows, list, err));
}

bool executions_renew(struct tx *tx, const struct worker *worker, struct holding **holdings,
                      size_t *count, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct holding));
    bool done = holdings_ask(tx, worker, Q_EXECUTION_RENEW_ALL, &list, err);
    *holdings = list.items;
    *count = list.count;
    return done;
}

bool executions_held(struct tx *tx, const struct worker *worker, struct holding **holdings,
                     size_t *count, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct holding));
    bool done = holdings_ask(tx, worker, Q_EXECUTION_HELD, &list, err);
    *holdings = list.items;
    *count = list.count;
    return done;
}

static bool abort_execution(struct tx *tx, struct execution *e, enum end_reason reason,
                            const struct work_error *error, struct pawl_error *err)
{
    int64_t changed = 0;
    bool by_its_worker = reason == END_ERROR || reason == END_RELEASED || reason == END_CANCELLED;
    execution_move(e, EXECUTION_ABORTED);
    e->finished_at = tx->now;
    e->end_reason = reason;
    e->error_class = error->class;
    e->error_message = redact_error(tx->arena, error->message, ERROR_MESSAGE_BYTES_MAX);
    e->error_detail = redact_error(tx->arena, error->detail, ERROR_DETAIL_BYTES_MAX);
    assert(!execution_problem(e));
    if (!sql_run_counting(tx, by_its_worker ? Q_EXECUTION_ABORT : Q_EXECUTION_EXPIRE, &changed, err,
                          INT(e->id.high), INT(e->attempt),
                          INT(e->worker), INT(tx->now), TEXT(str_of(end_reason_name(reason))),
                          TEXT_OR_NONE(str_of(error_class_name(error->class))),
                          TEXT_OR_NONE(e->error_message), TEXT_OR_NONE(e->error_detail)))
        return false;
    if (changed != 1)
        return fail(err, PAWL_STORE, "an execution changed under its own lock");
    tx_count(tx, e->org, e->queue, PLACE_RUNNING, -1);
    return limit_ended(tx, e, err);
}

// RUNNING -> RETRYING, and on to QUEUED at once when the worker gave the job back.
static bool retry(struct tx *tx, const struct execution *e, const struct verdict *v,
                  struct job *job, struct pawl_error *err)
{
    struct waiting waiting = waiting_of(job);
    struct str detail = str_format(tx->arena, "{\"reason\":\"%s\",\"error_class\":\"%s\"}",
                                   end_reason_name(e->end_reason),
                                   error_class_name(e->error_class));
    job_must_move(job, JOB_RETRYING, FAILURE_NONE);
    if (!event_append(tx, execution_subject(e),
                      v->at_once ? EVENT_JOB_RELEASED : EVENT_JOB_RETRIED, detail, err))
        return false;
    if (!v->at_once)
        return place_park(tx, &waiting, PHASE_BACKOFF, v->run_at, err);
    job_must_move(job, JOB_QUEUED, FAILURE_NONE);
    return place_queue(tx, &waiting, 0, &job->phase, err)
        && event_append(tx, execution_subject(e), EVENT_JOB_ENQUEUED, S(""), err);
}

static bool end_job(struct tx *tx, const struct execution *e, const struct verdict *v,
                    struct job *job, struct pawl_error *err)
{
    struct ending ending = {
        .subject = execution_subject(e),
        .execution = e->id.high,
        .state = v->state,
        .type = v->type,
        .dead_letter = v->dead_letter,
        .error_class = str_of(error_class_name(e->error_class)),
        .reason = e->error_message,
        .policy = e->policy,
    };
    job_must_move(job, v->state, v->type);
    tx_flow(tx, e->org, e->queue, FLOW_ENDED);
    return outcome_fail(tx, &ending, err);
}

// A live execution whose job is elsewhere by its other records is damage. It is noticed before
// anything is written, or it would keep the sweep from all others.
static bool runs(struct tx *tx, const struct execution *e, const struct job *job,
                 struct pawl_error *err)
{
    return job->state == JOB_RUNNING
        || fail(err, PAWL_DAMAGED, "execution %.*s has not ended, and its job is %s; run `pawl "
                                   "verify`",
                STR(id_text(tx->arena, e->id)), job_state_name(job->state));
}

bool execution_end(struct tx *tx, struct execution *e, enum end_reason reason,
                   const struct work_error *error, struct pawl_error *err)
{
    struct job job;  // as it was before anything moved
    if (!job_load_row(tx, e->job.high, &job, err) || !runs(tx, e, &job, err))
        return false;
    struct tally tally = tally_after(&e->tally, reason, error->class, false);
    struct failure failure = {
        .reason = reason,
        .class = error->class,
        .retry_after_us = error->retry_after_us,
        .cancel_requested = e->cancel_requested_at != 0,
    };
    struct verdict v = verdict(&failure, &job.contract.policy, &tally, tx->now,
                               db_random(tx->db));
    if (v.type == FAILURE_CANCELLED && (reason == END_ERROR || reason == END_RELEASED))
        reason = END_CANCELLED;
    return abort_execution(tx, e, reason, error, err)
        && place_next_of_key(tx, e->org, e->serial_key, err)
        && (v.state == JOB_RETRYING ? retry(tx, e, &v, &job, err)
                                    : end_job(tx, e, &v, &job, err));
}

static bool fail_committed(struct tx *tx, const struct lease *lease, struct held *held,
                           const struct work_error *error, struct pawl_error *err)
{
    struct execution *e = &held->execution;
    if (e->status == EXECUTION_COMMITTED && e->finish_at)
        return true;  // it was said before
    if (e->status == EXECUTION_COMMITTED && e->finish)
        return held->live ? finish_failed(tx, lease, held, error, err)
                          : fence_lost(tx, lease, held, err);
    return fail(err, PAWL_ALREADY_COMMITTED,
                "execution %.*s has committed its effect: it cannot fail any more",
                STR(id_text(tx->arena, e->id)));
}

bool execution_fail(struct tx *tx, const struct lease *lease, const struct work_error *error,
                    struct execution *execution, struct pawl_error *err)
{
    struct held held;
    struct execution *e = &held.execution;
    if (error->class == ERROR_NONE)
        return fail(err, PAWL_INVALID, "error.class: must be one of the error classes");
    if (!fence_look(tx, lease, &held, err))
        return false;
    if (held.own && committed(e)) {
        bool failed = fail_committed(tx, lease, &held, error, err);
        *execution = *e;
        return failed;
    }
    *execution = *e;
    bool repeated = held.own && e->status == EXECUTION_ABORTED && e->error_class == error->class
        && (e->end_reason == END_ERROR || e->end_reason == END_CANCELLED);
    if (repeated)
        return true;
    if (!held.live)
        return fence_lost(tx, lease, &held, err);
    if (!execution_end(tx, e, END_ERROR, error, err)
        || (error->class == ERROR_RATE_LIMITED
            && !type_pause(tx, e, error->retry_after_us, err)))
        return false;
    *execution = *e;
    return true;
}

bool execution_release(struct tx *tx, const struct lease *lease, struct execution *execution,
                       struct pawl_error *err)
{
    struct held held;
    struct execution *e = &held.execution;
    if (!fence_look(tx, lease, &held, err))
        return false;
    *execution = *e;
    bool finishing = e->status == EXECUTION_COMMITTED && e->finish;
    bool repeated = held.own
        && (e->finish_at != 0 || e->end_reason == END_RELEASED
            || (e->end_reason == END_CANCELLED && e->error_class == ERROR_NONE));
    if (repeated)
        return true;
    if (held.own && committed(e) && !finishing)
        return fail(err, PAWL_ALREADY_COMMITTED,
                    "execution %.*s has committed: finish it with done",
                    STR(id_text(tx->arena, e->id)));
    if (!held.live)
        return fence_lost(tx, lease, &held, err);
    bool released = finishing
        ? finish_release(tx, lease, &held, err)
        : execution_end(tx, e, END_RELEASED, &(struct work_error){0}, err);
    *execution = *e;
    return released;
}
