// Faults that a test asks for, where a transaction of its handle begins and ends.
#include "run/handle.h"

static bool die(struct fault_plan *plan, struct pawl_error *err)
{
    plan->dead = true;
    return fail(err, PAWL_STORE, "the process is dead, as the test asked: pawl_test_restart");
}

static bool begin(struct fault_plan *plan, struct pawl_error *err)
{
    if (plan->dead)
        return die(plan, err);
    bool blind = plan->blind;
    plan->blind = false;
    return !blind || fail(err, PAWL_STORE, "it cannot be found out, as the test asked");
}

static bool before_commit(struct fault_plan *plan, struct pawl_error *err)
{
    plan->due = PAWL_FAULT_NONE;
    if (plan->dead)
        return die(plan, err);
    if (plan->commits == 0 || --plan->commits > 0)
        return true;
    plan->due = plan->fault;
    if (plan->due == PAWL_FAULT_CRASH_BEFORE)
        return die(plan, err);
    return plan->due != PAWL_FAULT_REFUSE
        || fail(err, PAWL_DISK_FULL, "commit refused, as the test asked: the disk is full");
}

static bool after_commit(struct fault_plan *plan, struct pawl_error *err)
{
    if (plan->due == PAWL_FAULT_CRASH_AFTER)
        return die(plan, err);
    plan->blind = plan->due == PAWL_FAULT_LOSE_ANSWER;
    return !plan->blind
        || fail(err, PAWL_IN_DOUBT, "the answer to a commit was lost, as the test asked");
}

static bool pass(void *self, enum fault_point point, struct pawl_error *err)
{
    static bool (*const points[])(struct fault_plan *plan, struct pawl_error *err) = {
        [FAULT_BEGIN] = begin,
        [FAULT_BEFORE_COMMIT] = before_commit,
        [FAULT_AFTER_COMMIT] = after_commit,
    };
    return points[point](self, err);
}

const struct faults *handle_faults(struct pawl *pawl)
{
    if (!pawl->options.virtual_time)
        return NULL;
    pawl->fault_plan.faults = (struct faults){ .self = &pawl->fault_plan, .pass = pass };
    return &pawl->fault_plan.faults;
}

static bool for_tests(const struct pawl *pawl, struct pawl_error *err)
{
    return handle_usable(pawl, err)
        && (pawl->options.virtual_time
            || fail(err, PAWL_USAGE, "faults are for tests: open the store with virtual_time"));
}

bool pawl_test_fault(struct pawl *pawl, enum pawl_fault fault, int64_t nth,
                     struct pawl_error *err)
{
    if (!for_tests(pawl, err))
        return false;
    if ((unsigned)fault > PAWL_FAULT_CRASH_AFTER)
        return fail(err, PAWL_USAGE, "fault: must be one of enum pawl_fault");
    if (nth < 1)
        return fail(err, PAWL_USAGE, "nth: must be 1 or more");
    pawl->fault_plan.fault = fault;
    pawl->fault_plan.commits = fault == PAWL_FAULT_NONE ? 0 : nth;
    return true;
}

bool pawl_test_fault_waits(struct pawl *pawl)
{
    return for_tests(pawl, NULL) && pawl->fault_plan.commits > 0;
}

bool pawl_test_restart(struct pawl *pawl, struct pawl_error *err)
{
    if (!for_tests(pawl, err))
        return false;
    struct fault_plan *plan = &pawl->fault_plan;
    struct fault_plan before = *plan;
    plan->dead = true;  // what is closed may not end or give back anything
    if (!handle_reopen(pawl, err)) {
        plan->dead = before.dead;
        return false;
    }
    *plan = (struct fault_plan){ .faults = before.faults };
    return true;
}
