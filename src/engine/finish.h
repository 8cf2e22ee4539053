// The commit phase: what a job still has to do after COMMITTED, if its commit said so.
//
// The effect is committed and stays so; the phase may be run again until it is done, each time as
// the same execution and attempt, so it must carry a key that is the same on every try (EXEC-10). A
// try that fails, or whose worker dies, is followed by another, ever more slowly.
#pragma once

#include "engine/fence.h"

#define FINISH_DELAY_US_MIN SECONDS(1)

// The try failed: another is allowed after the policy's back-off.
CHECKED bool finish_failed(struct tx *tx, const struct lease *lease, struct held *held,
                           const struct work_error *error, struct pawl_error *err);

// The worker gives it back: another may have it at once.
CHECKED bool finish_release(struct tx *tx, const struct lease *lease, struct held *held,
                            struct pawl_error *err);

// An operator ends a commit phase that keeps failing: the job has SUCCEEDED, and the audit trail
// says who said so. PAWL_CONFLICT unless the job is committed and not done.
CHECKED bool finish_end(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// Its worker is gone. The first time another may have it at once; then it is a try that failed.
CHECKED bool finish_free(struct tx *tx, struct execution *execution, struct pawl_error *err);
