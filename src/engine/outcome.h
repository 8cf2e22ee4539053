// The bad end of a job: its outcome, its dead letter and the events that tell of it.
#pragma once

#include "engine/event.h"
#include "model/job.h"

struct ending {
    struct subject subject;
    int64_t execution;       // 0: it ended without running
    enum job_state state;    // JOB_FAILED or JOB_TIMED_OUT
    enum failure_type type;
    bool dead_letter;
    struct str message;      // when no execution could say it
    struct str error_class;  // for the event; empty: none
    struct str reason;       // what its last execution said
    int64_t policy;          // of the job
};

// Writes the end. The move was checked by the caller; the key of `outcomes` allows one end per job.
CHECKED bool outcome_fail(struct tx *tx, const struct ending *ending, struct pawl_error *err);
