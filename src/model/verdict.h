// The verdict after an execution ended without success: what becomes of the job.
//
// One pure function: the same failure, policy and counts give the same verdict for the worker that
// reports, the sweep that finds an expired lease and the boot that finds its own dead runs.
#pragma once

#include "model/failure.h"
#include "model/policy.h"
#include "model/state.h"

struct failure {
    enum end_reason reason;   // what happened to the execution
    enum error_class class;   // with END_ERROR, what the worker said
    int64_t retry_after_us;   // the provider's own back-off: a lower bound, at most 24 h
    bool cancel_requested;    // somebody asked for the job to stop before this
};

// A job's history when the execution ended, that execution included.
struct tally {
    int64_t attempts_used;  // executions that count
    int64_t retry_count;    // failures that led to RETRYING
    int64_t crash_count;    // crashes in a row
};

struct verdict {
    enum job_state state;    // JOB_RETRYING, JOB_FAILED or JOB_TIMED_OUT
    enum failure_type type;  // FAILURE_NONE with JOB_RETRYING
    bool at_once;            // RETRYING goes on to QUEUED in the same transaction
    bool dead_letter;
    pawl_time run_at;        // with JOB_RETRYING
};

#define RETRY_AFTER_US_MAX HOURS(24)

struct verdict verdict(const struct failure *failure, const struct policy *policy,
                       const struct tally *tally, pawl_time now, uint64_t dice);
