// Each of these passes the fence first: a stalled worker cannot write a step either.
#include "engine/step.h"

#include "base/list.h"
#include "engine/event.h"
#include "engine/fence.h"
#include "model/redact.h"
#include "model/text_rule.h"

static bool check(struct tx *tx, struct str name, struct str result, bool has_result,
                  struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    if (name.n > STEP_NAME_BYTES_MAX || !text_is_key(name))
        problem_add(&problems, "name", "must be 1 to %d bytes of printable UTF-8",
                    STEP_NAME_BYTES_MAX);
    SCOPED(json) json_t *value = NULL;
    struct pawl_error why;
    if (has_result && !json_parse(result, PAYLOAD_BYTES_MAX, &value, &why))
        problem_add(&problems, "result", "%s", why.message);
    return problems_none(&problems, err);
}

static bool load(struct tx *tx, const struct execution *e, struct str name, struct step *step,
                 struct pawl_error *err)
{
    *step = (struct step){ .name = name, .attempt = e->attempt };
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_STEP_LOAD, err, INT(e->job.high), TEXT(name)))
        return false;
    if (rows_next(&rows)) {
        step->attempt = row_int(&rows);
        step->tries = row_int(&rows);
        step->done = !row_is_null(&rows);
        step->result = row_text(&rows);
        step->error_message = row_text(&rows);
        step->updated_at = row_int(&rows);
    }
    // Tries are counted within one execution: a new attempt starts afresh.
    if (!step->done && step->attempt != e->attempt)
        step->tries = 0;
    return rows_ok(&rows, err);
}

// Writes the step, and says so in the audit trail.
static bool store(struct tx *tx, const struct execution *e, struct step *step, enum event event,
                  struct pawl_error *err)
{
    step->attempt = e->attempt;
    step->updated_at = tx->now;
    SCOPED(json) json_t *told = json_pack("{s:s%, s:I}", "step", step->name.s, step->name.n,
                                          "tries", (json_int_t)step->tries);
    return sql_run(tx, Q_STEP_PUT, err, INT(e->job.high), TEXT(step->name), INT(e->org),
                   INT(step->attempt), INT(step->tries), step->done ? TEXT(step->result) : NONE,
                   TEXT_OR_NONE(step->error_message), INT(tx->now))
        && event_append(tx, execution_subject(e), event, json_text(tx->arena, told), err);
}

static bool pass(struct tx *tx, const struct lease *lease, struct str name, struct held *held,
                 struct step *step, struct pawl_error *err)
{
    if (!fence_pass(tx, lease, held, err))
        return false;
    if (held->execution.status == EXECUTION_LEASED)
        return fail(err, PAWL_NOT_STARTED, "execution %.*s has not started: start it first",
                    STR(id_text(tx->arena, held->execution.id)));
    return load(tx, &held->execution, name, step, err);
}

// After COMMITTED only heartbeat and done are left: what the effect was made from stays as it was.
static bool open_to_write(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    return e->status != EXECUTION_COMMITTED
        || fail(err, PAWL_ALREADY_COMMITTED,
                "execution %.*s has committed: its steps stay as they are",
                STR(id_text(tx->arena, e->id)));
}

bool step_get(struct tx *tx, const struct lease *lease, struct str name, struct step *step,
              struct pawl_error *err)
{
    struct held held;
    return check(tx, name, S(""), false, err) && pass(tx, lease, name, &held, step, err);
}

bool step_put(struct tx *tx, const struct lease *lease, struct str name, struct str result,
              struct step *step, struct pawl_error *err)
{
    struct held held;
    if (!check(tx, name, result, true, err) || !pass(tx, lease, name, &held, step, err)
        || !open_to_write(tx, &held.execution, err))
        return false;
    if (step->done)
        return str_eq(step->result, result)
            || fail(err, PAWL_CONFLICT, "step %.*s has another result already: the first stays",
                    STR(name));
    step->done = true;
    step->result = result;
    step->error_message = S("");
    return store(tx, &held.execution, step, EVENT_STEP_DONE, err);
}

bool step_fail(struct tx *tx, const struct lease *lease, struct str name, struct str message,
               struct step *step, struct pawl_error *err)
{
    struct held held;
    struct policy policy;
    const struct execution *e = &held.execution;
    if (!check(tx, name, S(""), false, err) || !pass(tx, lease, name, &held, step, err)
        || !open_to_write(tx, e, err) || !policy_load(tx, e->policy, &policy, err))
        return false;
    if (step->done)
        return fail(err, PAWL_CONFLICT, "step %.*s is done: it cannot fail any more", STR(name));
    if (step->tries >= policy.step_attempts)
        return fail(err, PAWL_CONFLICT, "step %.*s has used its %lld tries: fail the execution",
                    STR(name), (long long)policy.step_attempts);
    step->tries++;
    step->may_retry = step->tries < policy.step_attempts;
    step->error_message = redact_error(tx->arena, message, ERROR_MESSAGE_BYTES_MAX);
    return store(tx, e, step, step->may_retry ? EVENT_STEP_RETRIED : EVENT_STEP_FAILED, err);
}

bool steps_of_job(struct tx *tx, int64_t job, struct step **steps, size_t *count,
                  struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct step));
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_STEPS_OF_JOB, err, INT(job)))
        return false;
    while (rows_next(&rows)) {
        struct step *step = list_add(&list);
        if (!step)
            return fail(err, PAWL_NO_MEMORY, "no memory for the steps of a job");
        step->name = row_text(&rows);
        step->attempt = row_int(&rows);
        step->tries = row_int(&rows);
        step->done = !row_is_null(&rows);
        step->result = row_text(&rows);
        step->error_message = row_text(&rows);
        step->updated_at = row_int(&rows);
    }
    *steps = list.items;
    *count = list.count;
    return rows_ok(&rows, err);
}
