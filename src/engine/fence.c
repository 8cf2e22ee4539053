// The check in C gives the caller a reason; the same check in the WHERE of each statement is the
// guard.
#include "engine/fence.h"

#include "base/time_text.h"
#include "engine/job.h"

bool fence_look(struct tx *tx, const struct lease *lease, struct held *held,
                struct pawl_error *err)
{
    int64_t org = 0;
    struct execution *e = &held->execution;
    if (!caller_org(tx, &org, err) || !execution_load(tx, lease->execution, e, err)
        || !worker_find(tx, org, &lease->worker, &held->worker, err))
        return false;
    held->own = held->worker != 0 && e->worker == held->worker && e->attempt == lease->attempt;
    held->live = held->own && execution_status_live(e->status) && e->lease_expires_at > tx->now;
    return true;
}

bool(fence_lost)(struct tx *tx, const struct lease *lease, const struct held *held,
                 struct pawl_error *err)
{
    const struct execution *e = &held->execution;
    struct str id = id_text(tx->arena, e->id);
    if (!held->own)
        return fail(err, PAWL_FENCED,
                    "execution %.*s is attempt %lld of worker %.*s: attempt %lld of worker %.*s "
                    "does not hold it",
                    STR(id), (long long)e->attempt, STR(e->lease_owner),
                    (long long)lease->attempt, STR(lease->worker.worker_id));
    if (execution_status_final(e->status))
        return fail(err, PAWL_FENCED, "execution %.*s ended as %s (%s): drop this work", STR(id),
                    execution_status_name(e->status), end_reason_name(e->end_reason));
    return fail(err, PAWL_FENCED, "the lease of execution %.*s expired at %.*s: drop this work",
                STR(id), STR(time_text(tx->arena, e->lease_expires_at)));
}

bool fence_pass(struct tx *tx, const struct lease *lease, struct held *held,
                struct pawl_error *err)
{
    return fence_look(tx, lease, held, err) && (held->live || fence_lost(tx, lease, held, err));
}

bool fence_held(struct tx *tx, const struct lease *lease, const struct held *held,
                int64_t changed, struct pawl_error *err)
{
    return changed == 1 || fence_lost(tx, lease, held, err);
}
