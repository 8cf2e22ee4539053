// What can be done to a job that is stored: cancel it, change it, end it, let its time come.
#include "engine/job.h"

#include "engine/event.h"
#include "engine/outcome.h"
#include "engine/place.h"
#include "engine/queue.h"
#include "model/json_field.h"
#include "model/text_rule.h"
#include "store/names.h"

struct subject job_subject(const struct job *job)
{
    return (struct subject){
        .org = job->keys.org,
        .job = job->id.high,
        .job_low = job->id.low,
        .attempt = job->attempt,
        .type = job->keys.type,
        .queue = job->keys.queue,
        .attempts = job->attempts_used,
    };
}

bool job_end_waiting(struct tx *tx, struct job *job, enum failure_type why, struct str message,
                     struct pawl_error *err)
{
    struct job ended = *job;
    job_must_move(&ended, JOB_FAILED, why);
    if (!place_leave(tx, job, err))
        return false;
    ended.phase = PHASE_ENDED;
    ended.completed_at = ended.updated_at = tx->now;
    ended.last_error = job->last_error.n ? job->last_error : message;
    bool dead = job->contract.policy.dead_letter && why != FAILURE_CANCELLED;
    if (dead) {
        ended.dead_letter = S("open");
        job_bury(&ended);
    }
    *job = ended;
    struct ending ending = {
        .subject = job_subject(job),
        .state = JOB_FAILED,
        .type = why,
        .dead_letter = dead,
        .message = message,
        .policy = job->keys.policy,
    };
    tx_flow(tx, job->keys.org, job->keys.queue, FLOW_ENDED);
    return outcome_fail(tx, &ending, err);
}

static bool live_execution(struct tx *tx, int64_t job, int64_t *execution, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_EXECUTION_LIVE_OF_JOB, err, INT(job))
        && rows_number(&rows, execution, err);
}

// The worker learns of it with its next heartbeat. Asking twice is asking once.
static bool request_cancel(struct tx *tx, struct job *job, struct pawl_error *err)
{
    int64_t execution = 0;
    if (job->cancel_requested_at)
        return true;
    job->cancel_requested_at = tx->now;
    return live_execution(tx, job->id.high, &execution, err)
        && sql_run(tx, Q_EXECUTION_CANCEL_REQUEST, err, INT(execution), INT(tx->now))
        && event_append(tx, job_subject(job), EVENT_JOB_CANCEL_REQUESTED, S(""), err);
}

bool job_cancel(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    if (!job_load(tx, id, job, err))
        return false;
    if (job_state_final(job->state))
        return fail(err, PAWL_TERMINAL, "job %.*s is %s, which is final: it cannot be cancelled",
                    STR(id_text(tx->arena, id)), job_state_name(job->state));
    if (job->phase == PHASE_FINISHING)
        return fail(err, PAWL_ALREADY_COMMITTED, "job %.*s has committed its effect: it cannot be "
                                                 "cancelled any more",
                    STR(id_text(tx->arena, id)));
    if (job->state == JOB_RUNNING)
        return request_cancel(tx, job, err);
    return event_append(tx, job_subject(job), EVENT_JOB_CANCEL_REQUESTED, S(""), err)
        && job_end_waiting(tx, job, FAILURE_CANCELLED, ENDED_CANCELLED, err);
}

void job_change_check(const struct job_change *change, pawl_time now, struct problems *problems)
{
    if (change->has_queue && change->queue.n == 0)
        problem_add(problems, "queue", "is empty");
    else if (change->has_queue && str_eq(change->queue, DEADLETTER_QUEUE))
        problem_add(problems, "queue", "nothing can be moved to q:deadletter");
    else if (change->has_queue
             && (change->queue.n > NAME_BYTES_MAX || !text_is_name(change->queue)))
        problem_add(problems, "queue", "must be 1 to %d of A-Z a-z 0-9 . _ : -", NAME_BYTES_MAX);
    if (change->has_priority
        && (change->priority < PRIORITY_MIN || change->priority > PRIORITY_MAX))
        problem_add(problems, "priority", "must be %d to %d", PRIORITY_MIN, PRIORITY_MAX);
    if (change->has_run_at && change->run_at < now - CLOCK_DRIFT_US)
        problem_add(problems, "scheduled_for", "lies more than 60 s in the past");
    if (change->has_run_at && change->run_at > now + SCHEDULE_US_MAX)
        problem_add(problems, "scheduled_for", "lies more than 10 years ahead");
}

static bool change_allowed(struct tx *tx, const struct job *job, const struct job_change *change,
                           struct pawl_error *err)
{
    if (job_state_final(job->state))
        return fail(err, PAWL_TERMINAL, "job %.*s is %s, which is final: it cannot be changed",
                    STR(id_text(tx->arena, job->id)), job_state_name(job->state));
    if (job->state == JOB_RUNNING)
        return fail(err, PAWL_CONFLICT, "job %.*s is RUNNING: only a waiting job can be changed",
                    STR(id_text(tx->arena, job->id)));
    struct problems problems = { .arena = tx->arena };
    job_change_check(change, tx->now, &problems);
    return problems_none(&problems, err);
}

// What became other than it was: field, old value, new value.
static struct str change_detail(struct tx *tx, const struct job *from, const struct job *to)
{
    SCOPED(json) json_t *detail = json_object();
    bool fine = detail != NULL;
    if (!str_eq(from->queue, to->queue))
        fine &= json_object_set_new(detail, "queue",
                                    json_pack("[s%, s%]", from->queue.s, from->queue.n,
                                              to->queue.s, to->queue.n))
             == 0;
    if (from->priority != to->priority)
        fine &= json_object_set_new(detail, "priority",
                                    json_pack("[I, I]", (json_int_t)from->priority,
                                              (json_int_t)to->priority))
             == 0;
    if (from->run_at != to->run_at)
        fine &= json_object_set_new(detail, "run_at",
                                    json_pack("[o, o]", json_time_or_null(tx->arena, from->run_at),
                                              json_time_or_null(tx->arena, to->run_at)))
             == 0;
    tx->arena->failed |= !fine;
    return fine ? json_text(tx->arena, detail) : S("");
}

// Goes back where it was, under its new terms: held and backing off stay what they are.
static bool place_again(struct tx *tx, struct job *job, struct pawl_error *err)
{
    struct waiting waiting = waiting_of(job);
    if (job->phase == PHASE_HELD)
        return place_park(tx, &waiting, PHASE_HELD, 0, err);
    if (job->phase == PHASE_BACKOFF)
        return place_park(tx, &waiting, PHASE_BACKOFF, job->run_at, err);
    return place_queue(tx, &waiting, job->run_at, &job->phase, err);
}

// Waiting counts from the new time on; a job that is held or was claimed does not wait for a claim.
static bool limit_wait_again(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    if (job->contract.max_wait_us == 0 || job->state != JOB_QUEUED || job->attempt > 0)
        return true;
    return sql_run(tx, Q_WAIT_LIMIT_PUT, err, INT(job->id.high), INT(job->keys.org),
                   INT(job->run_at + job->contract.max_wait_us));
}

bool job_change(struct tx *tx, struct id id, const struct job_change *change, struct job *job,
                struct pawl_error *err)
{
    if (!job_load(tx, id, job, err) || !change_allowed(tx, job, change, err))
        return false;
    struct job changed = *job;
    if (change->has_run_at)
        changed.run_at = change->run_at > tx->now ? change->run_at : tx->now;
    if (change->has_priority)
        changed.priority = change->priority;
    if (change->has_queue)
        changed.queue = change->queue;
    if (!str_eq(changed.queue, job->queue) && !queue_has_room(tx, changed.queue, err))
        return false;
    if (!place_leave(tx, job, err)
        || !name_intern(tx, NAME_QUEUE, changed.queue, &changed.keys.queue, err)
        || !sql_run(tx, Q_CHANGE_PUT, err, INT(job->id.high), INT(job->keys.org),
                    INT(changed.keys.queue), INT(changed.priority), INT(changed.run_at))
        || !place_again(tx, &changed, err)
        || (change->has_run_at && !limit_wait_again(tx, &changed, err))
        || !event_append(tx, job_subject(job), EVENT_JOB_CHANGED, change_detail(tx, job, &changed),
                         err))
        return false;
    *job = changed;
    return true;
}

// Only what is delayed or backs off has a time at which it is due.
static bool waits_for_a_time(struct tx *tx, const struct job *job, struct pawl_error *err)
{
    return job->phase == PHASE_DELAYED || job->phase == PHASE_BACKOFF
        || fail(err, PAWL_DAMAGED, "job %.*s is %s, and due at a time; run `pawl verify`",
                STR(id_text(tx->arena, job->id)), job_phase_name(job->phase));
}

bool job_due(struct tx *tx, int64_t high, struct pawl_error *err)
{
    struct job job;
    if (!job_load_row(tx, high, &job, err) || !waits_for_a_time(tx, &job, err)
        || !place_leave(tx, &job, err))
        return false;
    struct waiting waiting = waiting_of(&job);
    if (job.phase == PHASE_DELAYED)
        return place_queue(tx, &waiting, 0, &job.phase, err);
    job_must_move(&job, JOB_QUEUED, FAILURE_NONE);
    return place_queue(tx, &waiting, 0, &job.phase, err)
        && event_append(tx, job_subject(&job), EVENT_JOB_ENQUEUED, S(""), err);
}
