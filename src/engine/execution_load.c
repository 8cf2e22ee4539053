// Reads executions, and refuses rows that contradict themselves.
#include "engine/execution.h"
#include "engine/job.h"

static bool read_words(struct rows *rows, struct execution *e)
{
    struct str reason = row_text(rows), class = row_text(rows);
    return (reason.n == 0 || end_reason_parse(reason, &e->end_reason))
        && (class.n == 0 || error_class_parse(class, &e->error_class));
}

static bool read_execution(struct rows *rows, struct execution *e)
{
    *e = (struct execution){0};
    e->id.high = row_int(rows);
    e->id.low = row_int(rows);
    e->job.high = row_int(rows);
    e->job.low = row_int(rows);
    e->org = row_int(rows);
    e->attempt = row_int(rows);
    bool readable = execution_status_parse(row_text(rows), &e->status);
    e->worker = row_int(rows);
    e->queue = row_int(rows);
    e->type = row_int(rows);
    e->policy = row_int(rows);
    e->lease_us = row_int(rows);
    e->lease_expires_at = row_int(rows);
    e->leased_at = row_int(rows);
    e->started_at = row_int(rows);
    e->deadline_at = row_int(rows);
    e->committed_at = row_int(rows);
    e->finished_at = row_int(rows);
    e->cancel_requested_at = row_int(rows);
    e->tally.attempts_used = row_int(rows);
    e->tally.retry_count = row_int(rows);
    e->tally.crash_count = row_int(rows);
    e->finish = row_int(rows) != 0;
    e->finish_failures = row_int(rows);
    e->finish_at = row_int(rows);
    readable = read_words(rows, e) && readable;
    e->error_message = row_text(rows);
    e->error_detail = row_text(rows);
    e->progress_percent = row_int(rows);
    e->progress_message = row_text(rows);
    e->serial_key = row_text(rows);
    return readable;
}

static bool unknown(struct tx *tx, struct id id, struct pawl_error *err)
{
    return fail(err, PAWL_NOT_FOUND, "there is no execution %.*s", STR(id_text(tx->arena, id)));
}

#define unknown(...) REFUSES(unknown(__VA_ARGS__))

// Which execution; NONE stands for any.
struct wanted {
    int64_t high;
    struct value low, org;
    bool seen;  // the caller must be allowed to see its job
};

static bool load(struct tx *tx, const struct wanted *wanted, struct execution *execution,
                 struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    struct id id = { wanted->high, wanted->low.number };
    bool sees = true;
    if (!sql_ask(tx, &rows, Q_EXECUTION_LOAD, err, INT(id.high), wanted->low, wanted->org))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err) && unknown(tx, id, err);
    const char *problem = read_execution(&rows, execution)
                            ? execution_problem(execution)
                            : "it holds a word this program does not know";
    if (wanted->seen && !caller_sees_job(tx, execution->job.high, &sees, err))
        return false;
    if (!sees)
        return unknown(tx, id, err);
    if (!problem)
        return worker_text(tx, execution->worker, &execution->lease_owner, err);
    return fail(err, PAWL_DAMAGED, "the record of execution %.*s is damaged: %s; run `pawl verify`",
                STR(id_text(tx->arena, execution->id)), problem);
}

bool execution_load(struct tx *tx, struct id id, struct execution *execution,
                    struct pawl_error *err)
{
    int64_t org = 0;
    return caller_org(tx, &org, err)
        && load(tx, &(struct wanted){ id.high, INT(id.low), INT_OR_NONE(org), true }, execution,
                err);
}

bool execution_load_row(struct tx *tx, int64_t high, struct execution *execution,
                        struct pawl_error *err)
{
    return load(tx, &(struct wanted){ high, NONE, NONE, false }, execution, err);
}

static bool keys_of_job(struct tx *tx, int64_t job, struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_EXECUTIONS_OF_JOB, err, INT(job)) && rows_keys(&rows, keys, err);
}

bool executions_of_job(struct tx *tx, int64_t job, struct execution **executions, size_t *count,
                       struct pawl_error *err)
{
    struct keys keys;
    if (!keys_of_job(tx, job, &keys, err))
        return false;
    *count = keys.count;
    *executions = arena_new(tx->arena, struct execution, keys.count);
    if (keys.count && !*executions)
        return fail(err, PAWL_NO_MEMORY, "no memory for the executions of a job");
    for (size_t i = 0; i < keys.count; i++)
        if (!execution_load_row(tx, keys.at[i], &(*executions)[i], err))
            return false;
    return true;
}
