// One job by the rules of the model: its state, its executions in their order, its audit trail.
//
// Everything is computed again from the start: tallies by adding up the attempts, ends by giving
// the verdict once more, the state by walking the trail. Rows are read one at a time, not kept.
#include "base/json.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/seal.h"
#include "engine/verify_check.h"
#include "model/execution.h"

// What the outcome says of the job's end.
struct recorded_end {
    int64_t execution;  // 0: none, or it ended while it waited
    bool ended;
    bool readable;
    enum job_state state;
    enum failure_type type;
    bool dead_letter;
};

// The executions so far, added up.
struct history {
    int64_t attempts;
    struct tally tally;
    struct execution newest;
    bool readable;  // every word of them
};

static bool load_ending(struct verifying *v, struct recorded_end *ending, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *ending = (struct recorded_end){ .readable = true };
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_OUTCOME, err, INT(v->job)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err);
    ending->execution = row_int(&rows);
    struct str state = row_text(&rows), type = row_text(&rows), letter = row_text(&rows);
    ending->ended = state.n != 0;
    ending->dead_letter = letter.n != 0;
    ending->readable = (!ending->ended || job_state_parse(state, &ending->state))
                    && (type.n == 0 || failure_type_parse(type, &ending->type));
    return ending->readable
        || verify_report(v, CHECK_WORDS, err, "the outcome is %.*s, %.*s", STR(state), STR(type));
}

static bool read_execution(struct rows *rows, struct execution *e)
{
    *e = (struct execution){0};
    e->attempt = row_int(rows);
    bool readable = execution_status_parse(row_text(rows), &e->status);
    e->lease_expires_at = row_int(rows);
    e->leased_at = row_int(rows);
    e->started_at = row_int(rows);
    e->committed_at = row_int(rows);
    e->finished_at = row_int(rows);
    e->cancel_requested_at = row_int(rows);
    e->tally.attempts_used = row_int(rows);
    e->tally.retry_count = row_int(rows);
    e->tally.crash_count = row_int(rows);
    struct str reason = row_text(rows), class = row_text(rows);
    return readable && (reason.n == 0 || end_reason_parse(reason, &e->end_reason))
        && (class.n == 0 || error_class_parse(class, &e->error_class));
}

static struct str tally_text(struct verifying *v, const struct tally *t)
{
    return str_format(v->tx.arena, "%lld attempts used, %lld retries, %lld crashes",
                      (long long)t->attempts_used, (long long)t->retry_count,
                      (long long)t->crash_count);
}

static bool check_tally(struct verifying *v, const struct execution *e, const struct tally *counted,
                        struct pawl_error *err)
{
    const struct tally *t = &e->tally;
    if (t->attempts_used == counted->attempts_used && t->retry_count == counted->retry_count
        && t->crash_count == counted->crash_count)
        return true;
    struct str stored = tally_text(v, t), right = tally_text(v, counted);
    return verify_report(v, CHECK_TALLY, err, "attempt %lld: %.*s; counted: %.*s",
                         (long long)e->attempt, STR(stored), STR(right));
}

static bool ended_badly(const struct execution *e)
{
    return e->status == EXECUTION_ABORTED && e->end_reason != END_NONE
        && e->end_reason != END_DONE;
}

// Gives the verdict again. `ending` is NULL for an execution after which the job went on.
static bool check_verdict(struct verifying *v, const struct policy *policy, const struct history *h,
                          const struct recorded_end *ending, struct pawl_error *err)
{
    const struct execution *e = &h->newest;
    if (!ended_badly(e))
        return true;
    struct failure failure = {
        .reason = e->end_reason,
        .class = e->error_class,
        .cancel_requested = e->cancel_requested_at != 0,
    };
    struct verdict right = verdict(&failure, policy, &h->tally, 0, 0);
    enum job_state state = ending ? ending->state : JOB_RETRYING;
    enum failure_type type = ending ? ending->type : FAILURE_NONE;
    bool dead_letter = ending && ending->dead_letter;
    if (right.state == state && right.type == type && right.dead_letter == dead_letter)
        return true;
    return verify_report(v, CHECK_VERDICT, err, "attempt %lld: %s %s%s; the verdict is %s %s%s",
                         (long long)e->attempt, job_state_name(state), failure_type_name(type),
                         dead_letter ? ", a dead letter" : "", job_state_name(right.state),
                         failure_type_name(right.type),
                         right.dead_letter ? ", a dead letter" : "");
}

// Adds one execution to the history: the job went on after the one before it.
static bool add_execution(struct verifying *v, const struct policy *policy, struct history *h,
                          const struct execution *e, struct pawl_error *err)
{
    struct tally counted = h->tally;
    const char *problem = execution_problem(e);
    bool retried = h->attempts > 0 && h->newest.end_reason != END_RELEASED;
    counted.attempts_used++;
    counted.retry_count += retried;
    if (!check_verdict(v, policy, h, NULL, err) || !check_tally(v, e, &counted, err))
        return false;
    if (problem
        && !verify_report(v, CHECK_EXECUTION, err, "attempt %lld: %s", (long long)e->attempt,
                          problem))
        return false;
    h->attempts++;
    h->newest = *e;
    h->tally = counted;
    if (e->end_reason != END_NONE)
        h->tally = tally_after(&counted, e->end_reason, e->error_class, false);
    return true;
}

static bool check_executions(struct verifying *v, const struct policy *policy, struct history *h,
                             struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *h = (struct history){ .readable = true };
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_EXECUTIONS, err, INT(v->job)))
        return false;
    while (rows_next(&rows)) {
        struct execution e;
        v->verified->executions++;
        bool readable = read_execution(&rows, &e);
        h->readable &= readable;
        if (!readable
            && !verify_report(v, CHECK_WORDS, err, "attempt %lld", (long long)e.attempt))
            return false;
        if (h->readable && !add_execution(v, policy, h, &e, err))
            return false;
    }
    return rows_ok(&rows, err);
}

// The last execution: the job ended with it, or went on.
static bool check_end(struct verifying *v, const struct policy *policy, const struct history *h,
                      struct pawl_error *err)
{
    struct recorded_end ending;
    if (!load_ending(v, &ending, err))
        return false;
    if (!h->readable || !ending.readable)
        return true;
    bool with_it = ending.ended && ending.execution != 0;
    return check_verdict(v, policy, h, with_it ? &ending : NULL, err);
}

// ----- the audit trail

// What each event does to the state of a job.
static const struct step_of_trail {
    bool moves;
    bool cancels;
    enum job_state to;
} steps[EVENTS] = {
    [EVENT_JOB_ENQUEUED] = { .moves = true, .to = JOB_QUEUED },
    [EVENT_JOB_LEASED] = { .moves = true, .to = JOB_RUNNING },
    [EVENT_JOB_STARTED] = { .moves = true, .to = JOB_RUNNING },
    [EVENT_JOB_SUCCEEDED] = { .moves = true, .to = JOB_SUCCEEDED },
    [EVENT_JOB_RETRIED] = { .moves = true, .to = JOB_RETRYING },
    [EVENT_JOB_RELEASED] = { .moves = true, .to = JOB_RETRYING },
    [EVENT_JOB_FAILED] = { .moves = true, .to = JOB_FAILED },
    [EVENT_JOB_CANCELLED] = { .moves = true, .cancels = true, .to = JOB_FAILED },
};

struct trail {
    bool created;
    enum job_state state;
    enum event last_move;
    int64_t attempts;
    pawl_time at;
};

// Takes one step. Answers what is wrong with it, or NULL.
static const char *trail_step(struct trail *t, int64_t event, int64_t attempt, pawl_time at)
{
    if (event <= 0 || event >= EVENTS)
        return "is not known";
    if (t->created == (event == EVENT_JOB_CREATED))
        return t->created ? "comes twice" : "comes before job.created";
    t->created = true;
    const struct step_of_trail *step = &steps[event];
    bool starts_leased = event == EVENT_JOB_STARTED && t->last_move == EVENT_JOB_LEASED;
    if (step->moves && !starts_leased && !job_state_may(t->state, step->to, step->cancels))
        return "is not allowed after those before it";
    if (event == EVENT_JOB_COMMITTED && t->last_move != EVENT_JOB_STARTED)
        return "comes without a start";
    if (step->moves) {
        t->attempts += step->to == JOB_RUNNING && !starts_leased;
        t->state = step->to;
        t->last_move = (enum event)event;
    }
    if (attempt != t->attempts)
        return "has the number of another attempt";
    if (at < t->at)
        return "is older than the one before it";
    t->at = at;
    return NULL;
}

static bool same_state(enum job_state told, enum job_state actual)
{
    return told == actual || (told == JOB_FAILED && actual == JOB_TIMED_OUT);
}

static bool check_trail(struct verifying *v, const struct job *job, bool state_known,
                        struct pawl_error *err)
{
    struct trail t = {0};
    struct seal pruned;
    SCOPED(rows) struct rows rows = {0};
    if (!seal_newest_pruned(&v->tx, &pruned, err))
        return false;
    if (job->created_at <= pruned.newest_at)
        return true;  // its beginning may be gone
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_TRAIL, err, INT(v->job)))
        return false;
    while (rows_next(&rows)) {
        int64_t event = row_int(&rows), attempt = row_int(&rows);
        const char *wrong = trail_step(&t, event, attempt, row_int(&rows));
        if (wrong)  // what follows could not be judged
            return verify_report(v, CHECK_TRAIL, err, "event %lld of attempt %lld %s",
                                 (long long)event, (long long)attempt, wrong);
    }
    if (!rows_ok(&rows, err))
        return false;
    if (!t.created)
        return verify_report(v, CHECK_TRAIL, err, "there is none");
    if (!state_known || (same_state(t.state, job->state) && t.attempts == job->attempt))
        return true;
    return verify_report(v, CHECK_TRAIL, err, "it leads to %s, attempt %lld; the job is %s, %lld",
                         job_state_name(t.state), (long long)t.attempts,
                         job_state_name(job->state), (long long)job->attempt);
}

// ----- texts

static bool check_payload(struct verifying *v, const struct job *job, struct pawl_error *err)
{
    SCOPED(json) json_t *value = NULL;
    struct pawl_error why = {0};
    if (!json_parse(job->contract.payload, PAYLOAD_BYTES_MAX, &value, &why))
        return verify_report(v, CHECK_PAYLOAD, err, "%s", why.message);
    return json_is_object(value) || verify_report(v, CHECK_PAYLOAD, err, "it is not an object");
}

static bool check_result(struct verifying *v, const struct job *job, struct pawl_error *err)
{
    SCOPED(json) json_t *value = NULL;
    struct pawl_error why = {0};
    return job->result.n == 0 || json_parse(job->result, PAYLOAD_BYTES_MAX, &value, &why)
        || verify_report(v, CHECK_RESULT, err, "%s", why.message);
}

static bool check_steps(struct verifying *v, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_STEPS, err, INT(v->job)))
        return false;
    while (rows_next(&rows)) {
        SCOPED(json) json_t *value = NULL;
        struct pawl_error why = {0};
        struct str name = row_text(&rows);
        if (!json_parse(row_text(&rows), PAYLOAD_BYTES_MAX, &value, &why)
            && !verify_report(v, CHECK_STEP, err, "step %.*s: %s", STR(name), why.message))
            return false;
        if (!verify_forget(v, err))
            return false;
    }
    return rows_ok(&rows, err);
}

bool verify_job(struct verifying *v, struct pawl_error *err)
{
    struct job job;
    struct history history;
    const struct policy *policy = &job.contract.policy;
    const char *problem = NULL;
    if (!check_steps(v, err) || !job_examine(&v->tx, v->job, &job, &problem, err))
        return false;
    if (problem && !verify_report(v, CHECK_STATE, err, "%s", problem))
        return false;
    bool key_known = v->finds_keys && !problem;
    return check_executions(v, policy, &history, err) && check_end(v, policy, &history, err)
        && check_trail(v, &job, !problem, err) && check_payload(v, &job, err)
        && check_result(v, &job, err) && (!key_known || verify_key_of_job(v, &job, err));
}
