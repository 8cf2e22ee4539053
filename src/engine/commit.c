// The commit boundary: the effect and the mark COMMITTED are one transaction, once per job.
#include <assert.h>

#include "base/json_plain.h"
#include "engine/event.h"
#include "engine/execution.h"
#include "engine/fence.h"
#include "engine/finish.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/links.h"
#include "engine/place.h"
#include "engine/slot.h"
#include "model/category.h"
#include "store/counts.h"

static bool stored_result(struct tx *tx, int64_t job, struct str *result, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_OUTCOME_RESULT, err, INT(job)))
        return false;
    *result = rows_next(&rows) ? row_text(&rows) : S("");
    return rows_ok(&rows, err);
}

// The worker did not hear the answer and asks again: the same result gets the same answer.
static bool repeated(struct tx *tx, const struct execution *e, const struct commit *commit,
                     struct pawl_error *err)
{
    struct str result;
    if (!stored_result(tx, e->job.high, &result, err))
        return false;
    return str_eq(result, commit->result)
        || fail(err, PAWL_ALREADY_COMMITTED, "execution %.*s has committed another result",
                STR(id_text(tx->arena, e->id)));
}

static void check_json(struct problems *problems, const char *field, struct str text)
{
    SCOPED(json) json_t *value = NULL;
    struct pawl_error why;
    bool plain = text.n <= PAYLOAD_BYTES_MAX && json_plain(text, NULL);
    if (!plain && !json_parse(text, PAYLOAD_BYTES_MAX, &value, &why))
        problem_add(problems, field, "%s", why.message);
}

static unsigned effects_of(const struct commit *commit)
{
    return (commit->result.n ? EFFECT_RESULT : 0U)
         | (commit->follow_up_count ? EFFECT_FOLLOW_UPS : 0U)
         | (commit->annotation_count ? EFFECT_ANNOTATIONS : 0U)
         | (commit->outputs.count ? EFFECT_ARTIFACTS : 0U)
         | (commit->apply ? EFFECT_ROWS : 0U) | (commit->finish ? EFFECT_FINISH : 0U);
}

static bool authorized(struct tx *tx, const struct execution *e, bool *yes, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_JOB_AUTHORIZED_BY, err, INT(e->job.high)))
        return false;
    *yes = rows_next(&rows) && row_text(&rows).n > 0;
    return rows_ok(&rows, err);
}

static struct str effect_names(struct tx *tx, unsigned effects)
{
    struct buf names = buf_new(tx->arena, KEY_BYTES_MAX);
    for (unsigned i = 0; i < EFFECTS; i++)
        if (effects & 1U << i)
            buf_addf(&names, "%s%s", names.n ? ", " : "", effect_name(1U << i));
    return buf_str(&names);
}

static bool refuse_effects(struct tx *tx, const struct policy *policy,
                           struct effect_verdict verdict, struct pawl_error *err)
{
    if (verdict.refused)
        return fail(err, PAWL_EFFECT_NOT_ALLOWED, "the commit of a job of category %.*s may not "
                                                  "carry %.*s%s",
                    STR(policy->category), STR(effect_names(tx, verdict.refused)),
                    verdict.with_leave ? ", unless its type says may_write and the job carries "
                                         "authorized_by"
                                       : "");
    return fail(err, PAWL_EFFECT_NOT_ALLOWED, "the commit of a job of category %.*s must carry "
                                              "%.*s",
                STR(policy->category), STR(effect_names(tx, verdict.missing)));
}

#define refuse_effects(...) REFUSES(refuse_effects(__VA_ARGS__))

// The category on the job's policy says what its commit may and must carry (OPS-22, OPS-23).
static bool effects_allowed(struct tx *tx, const struct execution *e, const struct commit *commit,
                            struct pawl_error *err)
{
    struct policy policy;
    unsigned effects = effects_of(commit), required = 0;
    bool leave = false;
    if (!policy_required(tx, e->policy, &required, err))
        return false;
    if (effects == 0 && required == 0)
        return true;
    // defensive: policy_required has just read it, and it is remembered
    if (!policy_load(tx, e->policy, &policy, err)
        || (policy.may_write && !authorized(tx, e, &leave, err)))
        return false;
    struct effect_verdict verdict = effects_judge(&policy, leave, effects);
    return (verdict.refused | verdict.missing) == 0 || refuse_effects(tx, &policy, verdict, err);
}

// A notification is best effort: refused, it is told in the audit trail and fails nothing (OPS-2).
static bool best_effort(const struct contract *contract)
{
    return str_eq(contract->policy.category, str_of(category_row(CATEGORY_NOTIFICATION)->name));
}

static bool commit_check(struct tx *tx, const struct execution *e, const struct commit *commit,
                         struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    if (commit->finish && commit->done)
        problem_add(&problems, "done", "comes after the commit phase that `finish` announces");
    if (commit->result.n)
        check_json(&problems, "result", commit->result);
    for (size_t i = 0; i < commit->annotation_count; i++)
        check_json(&problems, "annotations", commit->annotations[i]);
    for (size_t i = 0; i < commit->follow_up_count; i++) {
        const char *prefix = str_cstr(tx->arena, str_format(tx->arena, "enqueue[%zu].", i));
        const struct contract *follow_up = &commit->follow_ups[i];
        int64_t org = 0;
        if (!best_effort(follow_up))
            contract_check(follow_up, tx->now, prefix, &problems);
        if (!name_find(tx, NAME_ORG, follow_up->org_id, &org, err))
            return false;
        if (org != e->org)
            problem_add(&problems, str_cstr(tx->arena, str_format(tx->arena, "%sorg_id", prefix)),
                        "must be the org of the job that enqueues it");
    }
    return problems_none(&problems, err);
}

static bool tell_refused(struct tx *tx, const struct execution *e, const struct contract *contract,
                         const struct pawl_error *why, struct pawl_error *err)
{
    SCOPED(json) json_t *detail =
        json_pack("{s:{s:s%,s:s,s:s}}", "follow_up_refused", "job_type", contract->job_type.s,
                  contract->job_type.n, "code", pawl_code(why->code)->word, "message",
                  why->message);
    return event_append(tx, execution_subject(e), EVENT_JOB_ANNOTATED,
                        json_text(tx->arena, detail), err);
}

static bool enqueue_one(struct tx *tx, const struct contract *contract, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    struct job job;
    bool deduplicated = false;
    if (best_effort(contract)) {
        contract_check(contract, tx->now, "", &problems);
        if (!problems_none(&problems, err))
            return false;
    }
    return job_enqueue(tx, contract, &job, &deduplicated, err);
}

static bool follow_up(struct tx *tx, const struct execution *e, const struct commit *commit,
                      struct pawl_error *err)
{
    for (size_t i = 0; i < commit->follow_up_count; i++) {
        struct contract contract = commit->follow_ups[i];
        struct pawl_error why = {0};
        contract.parent = e->job;
        contract.origin = S("follow_up");
        if (enqueue_one(tx, &contract, &why))
            continue;
        if (!best_effort(&contract) || !pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
        if (!tell_refused(tx, e, &contract, &why, err))
            return false;
    }
    return true;
}

static bool annotate(struct tx *tx, const struct execution *e, const struct commit *commit,
                     struct pawl_error *err)
{
    for (size_t i = 0; i < commit->annotation_count; i++)
        if (!event_append(tx, execution_subject(e), EVENT_JOB_ANNOTATED,
                          commit->annotations[i], err))
            return false;
    return true;
}

// The effect: what the caller writes itself, and what it asks Pawl to write.
static bool apply(struct tx *tx, const struct execution *e, const struct commit *commit,
                  struct pawl_error *err)
{
    return (!commit->apply || commit->apply(tx, commit->self, err))
        && (!commit->outputs.count || outputs_put(tx, e, &commit->outputs, err))
        && follow_up(tx, e, commit, err)
        && annotate(tx, e, commit, err);
}

// The statement behind the fence. What is not yet DONE has a new lease for what is left.
static bool mark_execution(struct tx *tx, struct execution *e, const struct commit *commit,
                           bool done, int64_t *changed, struct pawl_error *err)
{
    enum query together = e->serial_key.n ? Q_EXECUTION_COMMIT_DONE_OF_KEY
                                          : Q_EXECUTION_COMMIT_DONE;
    if (done && !e->serial_key.n && tx_hopes(tx)) {
        *changed = 1;
        return sql_later(tx, Q_EXECUTION_COMMIT_DONE, err, INT(e->id.high), INT(e->attempt),
                         INT(e->worker), INT(tx->now));
    }
    if (done)
        return sql_run_counting(tx, together, changed, err, INT(e->id.high), INT(e->attempt),
                                INT(e->worker), INT(tx->now));
    if (!commit->done)
        e->lease_expires_at = tx->now + e->lease_us;
    return sql_run_counting(tx, Q_EXECUTION_COMMIT, changed, err, INT(e->id.high),
                            INT(e->attempt), INT(e->worker), INT(tx->now), INT(commit->finish),
                            INT(e->lease_expires_at));
}

// What follows from the mark: the job's row in `outcomes`; with `done` its end too.
static bool mark_job(struct tx *tx, struct execution *e, const struct commit *commit, bool done,
                     struct pawl_error *err)
{
    execution_move(e, EXECUTION_COMMITTED);
    e->committed_at = tx->now;
    e->finish = commit->finish;
    if (done)
        return sql_later(tx, Q_OUTCOME_COMMIT_DONE, err, INT(e->job.high), INT(e->org),
                         INT(e->id.high), INT(tx->now), TEXT_OR_NONE(commit->result));
    return sql_run(tx, Q_OUTCOME_COMMIT, err, INT(e->job.high), INT(e->org), INT(e->id.high),
                   INT(tx->now), TEXT_OR_NONE(commit->result));
}

// COMMITTED -> DONE in the store is the caller's; this is what follows from it.
static bool ended(struct tx *tx, struct execution *e, struct pawl_error *err)
{
    execution_move(e, EXECUTION_DONE);
    e->finished_at = tx->now;
    e->end_reason = END_DONE;
    tx_count(tx, e->org, e->queue, PLACE_RUNNING, -1);
    tx_flow(tx, e->org, e->queue, FLOW_ENDED);
    assert(!execution_problem(e));
    return place_next_of_key(tx, e->org, e->serial_key, err) && limit_ended(tx, e, err)
        && slot_succeeded(tx, e, err)
        && event_append(tx, execution_subject(e), EVENT_JOB_SUCCEEDED, S(""), err)
        && links_ended(tx, e->job.high, JOB_SUCCEEDED, err);
}

static bool tell_committed(struct tx *tx, const struct execution *e, struct pawl_error *err)
{
    return event_append(tx, execution_subject(e), EVENT_JOB_COMMITTED, S(""), err);
}

// Behind a mark that was COMMITTED and DONE in one statement: nothing can be refused any more.
static bool commit_marked(struct tx *tx, struct execution *e, const struct commit *commit,
                          struct pawl_error *err)
{
    return mark_job(tx, e, commit, commit->done, err) && annotate(tx, e, commit, err)
        && (commit->done ? ended(tx, e, err) : tell_committed(tx, e, err));
}

static bool commit_plain(struct tx *tx, const struct lease *lease, struct held *held,
                         const struct commit *commit, struct pawl_error *err)
{
    struct execution *e = &held->execution;
    int64_t changed = 0;
    return mark_execution(tx, e, commit, commit->done, &changed, err)
        && fence_held(tx, lease, held, changed, err) && commit_marked(tx, e, commit, err);
}

// The mark first, so that the effect is applied by who holds the lease and by nobody else. DONE
// comes last: until then the job holds its serial key, also against its own follow-ups.
static bool commit_effect(struct tx *tx, const struct lease *lease, struct held *held,
                          const struct commit *commit, struct pawl_error *err)
{
    struct execution *e = &held->execution;
    int64_t changed = 0;
    return mark_execution(tx, e, commit, false, &changed, err)
        && fence_held(tx, lease, held, changed, err) && mark_job(tx, e, commit, false, err)
        && apply(tx, e, commit, err)
        && (commit->done ? execution_settle(tx, e, err) : tell_committed(tx, e, err));
}

static bool has_effect(const struct commit *commit)
{
    return commit->apply || commit->follow_up_count > 0 || commit->outputs.count > 0;
}

// An effect that is refused half-way leaves nothing behind, not even the mark, though its
// neighbours in the transaction stay.
static bool commit_whole(struct tx *tx, const struct lease *lease, struct held *held,
                         const struct commit *commit, struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (!has_effect(commit))
        return commit_plain(tx, lease, held, commit, err);
    if (!tx_mark(tx, err))
        return false;
    if (commit_effect(tx, lease, held, commit, &why))
        return tx_keep(tx, err);
    return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
}

// Whether what the caller knows is enough: of the columns of a run that has started only those can
// have changed that the fence asks for, or that no commit needs. What is refused here is looked at
// once more, and refused for its reason.
static bool known_is_enough(struct tx *tx, const struct lease *lease, const struct commit *commit,
                            bool *enough, struct pawl_error *err)
{
    const struct execution *e = commit->known;
    int64_t org = 0, worker = 0;
    struct pawl_error why = {0};
    *enough = e && !has_effect(commit) && e->status == EXECUTION_IN_PROGRESS
           && id_eq(e->id, lease->execution) && e->attempt == lease->attempt
           && !caller_limited(tx) && caller_org(tx, &org, &why)
           && (org == 0 || org == e->org) && worker_find(tx, org, &lease->worker, &worker, &why)
           && worker == e->worker && effects_allowed(tx, e, commit, &why)
           && commit_check(tx, e, commit, &why);
    return why.code == PAWL_OK || pawl_code(why.code)->refusal
        || fail(err, why.code, "%s", why.message);
}

// The fence alone decides. When it does not hold, nothing was written and somebody must look why.
static bool commit_known(struct tx *tx, const struct commit *commit, struct execution *e,
                         bool *committed, struct pawl_error *err)
{
    int64_t changed = 0;
    *e = *commit->known;
    if (!mark_execution(tx, e, commit, commit->done, &changed, err))
        return false;
    *committed = changed == 1;
    return !*committed || commit_marked(tx, e, commit, err);
}

bool execution_commit(struct tx *tx, const struct lease *lease, const struct commit *commit,
                      struct execution *execution, struct pawl_error *err)
{
    struct held held;
    struct execution *e = &held.execution;
    bool known = false, committed = false;
    if (!known_is_enough(tx, lease, commit, &known, err)
        || (known && !commit_known(tx, commit, execution, &committed, err)))
        return false;
    if (committed)
        return true;
    if (!fence_look(tx, lease, &held, err))
        return false;
    *execution = *e;
    if (held.own && (e->status == EXECUTION_COMMITTED || e->status == EXECUTION_DONE))
        return repeated(tx, e, commit, err)
            && (!commit->done || !held.live || execution_done(tx, lease, execution, err));
#ifdef PAWL_WITHOUT_BOUNDARY
    // A test build, to show what the boundary prevents: a stale worker's effect is applied
    // (FM_001).
    if (!held.live)
        return apply(tx, e, commit, err);
#endif
    if (!held.live)
        return fence_lost(tx, lease, &held, err);
    if (e->status == EXECUTION_LEASED)
        return fail(err, PAWL_NOT_STARTED, "execution %.*s has not started: start it first",
                    STR(id_text(tx->arena, e->id)));
    if (!effects_allowed(tx, e, commit, err) || !commit_check(tx, e, commit, err)
        || !commit_whole(tx, lease, &held, commit, err))
        return false;
    *execution = *e;
    return true;
}

bool execution_done(struct tx *tx, const struct lease *lease, struct execution *execution,
                    struct pawl_error *err)
{
    struct held held;
    struct execution *e = &held.execution;
    int64_t changed = 0;
    if (!fence_look(tx, lease, &held, err))
        return false;
    *execution = *e;
    if (held.own && e->status == EXECUTION_DONE)
        return true;
    if (!held.live)
        return fence_lost(tx, lease, &held, err);
    if (e->status != EXECUTION_COMMITTED)
        return fail(err, e->status == EXECUTION_LEASED ? PAWL_NOT_STARTED : PAWL_CONFLICT,
                    "execution %.*s is %s: only a committed one can be done",
                    STR(id_text(tx->arena, e->id)), execution_status_name(e->status));
    if (!sql_run_counting(tx, Q_EXECUTION_DONE, &changed, err, INT(e->id.high), INT(e->attempt),
                          INT(e->worker), INT(tx->now))
        || !fence_held(tx, lease, &held, changed, err)
        || !sql_run(tx, Q_OUTCOME_DONE, err, INT(e->job.high), INT(tx->now)) || !ended(tx, e, err))
        return false;
    *execution = *e;
    return true;
}

bool execution_reconcile(struct tx *tx, struct execution *e, struct pawl_error *err)
{
    return e->finish ? finish_free(tx, e, err) : execution_settle(tx, e, err);
}

bool execution_settle(struct tx *tx, struct execution *e, struct pawl_error *err)
{
    assert(e->status == EXECUTION_COMMITTED);
    return sql_run(tx, Q_EXECUTION_FINISH, err, INT(e->id.high), INT(tx->now))
        && sql_run(tx, Q_OUTCOME_DONE, err, INT(e->job.high), INT(tx->now)) && ended(tx, e, err);
}
