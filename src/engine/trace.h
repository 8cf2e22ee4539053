// What traces tell of jobs and executions, read after they were committed.
#pragma once

#include "model/trace.h"
#include "store/db.h"

struct traced_job {
    struct id id;
    struct str traceparent, job_type, queue, org_id;
};

// `found` is false when the job is gone.
CHECKED bool traced_job_load(struct tx *tx, int64_t high, struct traced_job *job, bool *found,
                             struct pawl_error *err);

struct traced_execution {
    struct id id;
    pawl_time leased_at, started_at, finished_at;
    struct str status, end_reason, error_class;
};

CHECKED bool traced_execution_load(struct tx *tx, int64_t job, int64_t attempt,
                                   struct traced_execution *execution, bool *found,
                                   struct pawl_error *err);

// The context for what an execution does, as a traceparent: its own span when traces are kept (see
// `per_million` of trace_of_job), else what its job was made in, or nothing.
CHECKED bool traced_context(struct tx *tx, struct id execution, int64_t per_million,
                            struct str *traceparent, struct pawl_error *err);
struct str traced_context_of(struct arena *arena, struct str made_in, struct id job,
                             struct id execution, int64_t per_million);
