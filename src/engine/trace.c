// One row each, by its key.
#include "engine/trace.h"

bool traced_job_load(struct tx *tx, int64_t high, struct traced_job *job, bool *found,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_TRACE_JOB, err, INT(high)))
        return false;
    *found = rows_next(&rows);
    *job = (struct traced_job){0};
    if (*found) {
        job->id = (struct id){ high, row_int(&rows) };
        job->traceparent = row_text(&rows);
        job->job_type = row_text(&rows);
        job->queue = row_text(&rows);
        job->org_id = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

bool traced_execution_load(struct tx *tx, int64_t job, int64_t attempt,
                           struct traced_execution *execution, bool *found,
                           struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_TRACE_EXECUTION, err, INT(job), INT(attempt)))
        return false;
    *found = rows_next(&rows);
    *execution = (struct traced_execution){0};
    if (*found) {
        execution->id.high = row_int(&rows);
        execution->id.low = row_int(&rows);
        execution->leased_at = row_int(&rows);
        execution->started_at = row_int(&rows);
        execution->finished_at = row_int(&rows);
        execution->status = row_text(&rows);
        execution->end_reason = row_text(&rows);
        execution->error_class = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

struct str traced_context_of(struct arena *arena, struct str made_in, struct id job,
                             struct id execution, int64_t per_million)
{
    if (per_million == TRACE_OFF)
        return made_in;
    struct trace trace = trace_of_job(made_in, job, per_million);
    struct trace own = trace_execution(&trace, execution);
    return trace_text(arena, &own);
}

bool traced_context(struct tx *tx, struct id execution, int64_t per_million,
                    struct str *traceparent, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *traceparent = S("");
    if (!sql_ask(tx, &rows, Q_TRACE_MADE_IN, err, INT(execution.high), INT(execution.low)))
        return false;
    if (rows_next(&rows)) {
        struct id job = {0};
        job.high = row_int(&rows);
        job.low = row_int(&rows);
        *traceparent = traced_context_of(tx->arena, row_text(&rows), job, execution, per_million);
    }
    return rows_ok(&rows, err);
}
