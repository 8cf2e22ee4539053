// Steps: named parts of a run whose results are durable.
//
// A step is tried `step_attempts` times within one execution (RUN-6); retrying one makes no new
// run. Its result is kept with the job, so an attempt after a crash does not compute it again.
// Steps belong to the repeatable work: after COMMITTED none can be written.
#pragma once

#include "engine/execution.h"

enum { STEP_NAME_BYTES_MAX = 256 };

struct step {
    struct str name;
    bool done;
    struct str result;         // JSON, when done
    int64_t attempt;           // the execution that wrote last
    int64_t tries;             // failed tries in the current execution
    bool may_retry;            // after step_fail: another try is allowed
    struct str error_message;  // of the last failed try
    pawl_time updated_at;
};

// The step as it stands; one nobody has touched is not done and has no tries.
CHECKED bool step_get(struct tx *tx, const struct lease *lease, struct str name, struct step *step,
                      struct pawl_error *err);

// Stores the result. The first write wins: the same value again is fine, another is PAWL_CONFLICT.
CHECKED bool step_put(struct tx *tx, const struct lease *lease, struct str name, struct str result,
                      struct step *step, struct pawl_error *err);

// Records a failed try. `may_retry` says whether the step may be tried again in this execution; if
// so the audit trail has `step.retried` (STEP_RETRIED), if not `step.failed`, and the execution has
// to fail: a further try is PAWL_CONFLICT.
CHECKED bool step_fail(struct tx *tx, const struct lease *lease, struct str name,
                       struct str message, struct step *step, struct pawl_error *err);

CHECKED bool steps_of_job(struct tx *tx, int64_t job, struct step **steps, size_t *count,
                          struct pawl_error *err);
