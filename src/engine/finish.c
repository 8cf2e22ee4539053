// Three ways in which a commit phase loses its worker; the claim finds it a new one.
#include "engine/finish.h"

#include <assert.h>

#include "engine/alert.h"
#include "engine/event.h"
#include "engine/job.h"
#include "model/redact.h"
#include "store/observe.h"

enum { REASON_BYTES_MAX = 256 };  // in the audit trail, for every try that failed

// When the next try may begin after so many failures.
static bool next_try(struct tx *tx, const struct execution *e, int64_t failures, pawl_time *at,
                     struct pawl_error *err)
{
    struct policy policy;
    *at = tx->now;
    if (failures == 0)
        return true;
    if (!policy_load(tx, e->policy, &policy, err))
        return false;
    int64_t delay = policy_delay(&policy, failures, db_random(tx->db));
    *at += delay < FINISH_DELAY_US_MIN ? FINISH_DELAY_US_MIN : delay;
    return true;
}

static void tell_claimable(struct tx *tx, const struct execution *e)
{
    if (e->finish_at <= tx->now)
        observe_ready(tx, e->org, e->type, e->queue);
}

static bool give_back(struct tx *tx, const struct lease *lease, struct held *held, pawl_time at,
                      struct pawl_error *err)
{
    struct execution *e = &held->execution;
    int64_t changed = 0;
    e->finish_at = at;
    e->lease_expires_at = tx->now;
    tell_claimable(tx, e);
    return sql_run_counting(tx, Q_EXECUTION_FINISH_GIVE_BACK, &changed, err, INT(e->id.high),
                            INT(e->attempt), INT(e->worker), INT(tx->now), INT(at),
                            INT(e->finish_failures))
        && fence_held(tx, lease, held, changed, err);
}

// The reason stands nowhere else: the execution has committed and did not fail.
static struct str detail(struct tx *tx, const struct execution *e, const struct work_error *error)
{
    struct str why = redact_error(tx->arena, error->message, REASON_BYTES_MAX);
    SCOPED(json) json_t *told = json_pack("{s:s, s:I}", "error_class",
                                          error_class_name(error->class), "failures",
                                          (json_int_t)e->finish_failures);
    if (why.n)
        json_object_set_new(told, "error", json_stringn(why.s, why.n));
    return json_text(tx->arena, told);
}

// Somebody is told once, when it has failed as often as a job of its policy may be tried.
static bool alert(struct tx *tx, const struct execution *e, struct subject *subject,
                  struct pawl_error *err)
{
    struct policy policy;
    return policy_load(tx, e->policy, &policy, err)
        && (e->finish_failures != policy.max_attempts
            || alert_raise(tx, subject, ALERT_FINISH_FAILING, err));
}

static bool record_failure(struct tx *tx, const struct execution *e,
                           const struct work_error *error, struct pawl_error *err)
{
    struct subject subject = execution_subject(e);
    return alert(tx, e, &subject, err)
        && event_append(tx, subject, EVENT_JOB_FINISH_FAILED, detail(tx, e, error), err);
}

bool finish_failed(struct tx *tx, const struct lease *lease, struct held *held,
                   const struct work_error *error, struct pawl_error *err)
{
    struct execution *e = &held->execution;
    int64_t asked = error->retry_after_us;
    pawl_time at = 0;
    if (asked > RETRY_AFTER_US_MAX)
        asked = RETRY_AFTER_US_MAX;
    e->finish_failures++;
    if (!next_try(tx, e, e->finish_failures, &at, err))
        return false;
    if (at < tx->now + asked)
        at = tx->now + asked;
    return give_back(tx, lease, held, at, err) && record_failure(tx, e, error, err);
}

bool finish_release(struct tx *tx, const struct lease *lease, struct held *held,
                    struct pawl_error *err)
{
    return give_back(tx, lease, held, tx->now, err)
        && event_append(tx, execution_subject(&held->execution), EVENT_JOB_FINISH_RELEASED,
                        S(""), err);
}

bool finish_free(struct tx *tx, struct execution *e, struct pawl_error *err)
{
    pawl_time at = 0;
    if (!next_try(tx, e, e->finish_failures, &at, err))
        return false;
    e->finish_failures++;
    e->finish_at = at;
    tell_claimable(tx, e);
    return sql_run(tx, Q_EXECUTION_FINISH_FREE, err, INT(e->id.high), INT(tx->now), INT(at),
                   INT(e->finish_failures))
        && record_failure(tx, e, &(struct work_error){ .class = ERROR_CRASH }, err);
}

static bool live_keys(struct tx *tx, int64_t job, struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_EXECUTION_LIVE_OF_JOB, err, INT(job))
        || !rows_keys(&rows, keys, err))
        return false;
    assert(keys->count == 1);  // the job is FINISHING: a live execution holds it
    return true;
}

// COMMITTED -> DONE by an operator's word: the phase failed for good and somebody has seen to it.
bool finish_end(struct tx *tx, struct id id, struct job *job, struct pawl_error *err)
{
    struct keys keys;
    struct execution e;
    if (!job_load(tx, id, job, err))
        return false;
    if (job->phase != PHASE_FINISHING)
        return fail(err, PAWL_CONFLICT,
                    "job %.*s is %s (%s): only a committed job has a phase to end",
                    STR(id_text(tx->arena, id)), job_state_name(job->state),
                    job_phase_name(job->phase));
    return live_keys(tx, job->id.high, &keys, err) && execution_load_row(tx, keys.at[0], &e, err)
        && event_append(tx, execution_subject(&e), EVENT_JOB_FINISH_ENDED, S(""), err)
        && execution_settle(tx, &e, err) && job_load(tx, id, job, err);
}
