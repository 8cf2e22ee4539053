// Rules in the order they win: cancellation, release, crash, timeout, error; then the attempts.
#include "model/verdict.h"

#include <assert.h>

static struct verdict ended(enum job_state state, enum failure_type type,
                            const struct policy *policy)
{
    return (struct verdict){
        .state = state,
        .type = type,
        .dead_letter = policy->dead_letter && type != FAILURE_CANCELLED,
    };
}

static enum failure_type crash_type(enum end_reason reason)
{
    return reason == END_LEASE_EXPIRED ? FAILURE_LEASE_EXPIRED : FAILURE_PROCESS_TERMINATED;
}

// What ends the job whatever attempts are left; FAILURE_NONE when a retry is allowed.
static enum failure_type final_type(const struct failure *failure, const struct policy *policy,
                                    const struct tally *tally)
{
    bool crashed = end_reason_crash(failure->reason) || failure->class == ERROR_CRASH;
    if (failure->cancel_requested || failure->class == ERROR_CANCELLED)
        return FAILURE_CANCELLED;
    if (crashed && (policy->on_crash == ON_CRASH_FAIL || tally->crash_count >= CRASHES_MAX))
        return crash_type(failure->reason);
    if (failure->reason == END_TIMEOUT && policy->on_timeout != ON_TIMEOUT_RETRY)
        return FAILURE_TIMEOUT;
    if (failure->reason == END_ERROR && !error_class_retryable(failure->class))
        return FAILURE_HANDLER_ERROR;
    if (tally->attempts_used >= policy->max_attempts)
        return FAILURE_ATTEMPTS_EXHAUSTED;
    return FAILURE_NONE;
}

struct verdict verdict(const struct failure *failure, const struct policy *policy,
                       const struct tally *tally, pawl_time now, uint64_t dice)
{
    assert(failure->reason != END_NONE && failure->reason != END_DONE);
    if (failure->reason == END_RELEASED && !failure->cancel_requested)
        return (struct verdict){ .state = JOB_RETRYING, .at_once = true, .run_at = now };

    enum failure_type type = final_type(failure, policy, tally);
    if (type == FAILURE_TIMEOUT && policy->on_timeout == ON_TIMEOUT_TIMED_OUT)
        return ended(JOB_TIMED_OUT, type, policy);
    if (type != FAILURE_NONE)
        return ended(JOB_FAILED, type, policy);

    int64_t delay = policy_delay(policy, tally->retry_count + 1, dice);
    int64_t asked = failure->retry_after_us;
    if (asked > RETRY_AFTER_US_MAX)
        asked = RETRY_AFTER_US_MAX;
    return (struct verdict){
        .state = JOB_RETRYING,
        .run_at = now + (asked > delay ? asked : delay),
    };
}
