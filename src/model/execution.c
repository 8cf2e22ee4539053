// The mover and the checker of executions.
#include "model/execution.h"

#include <assert.h>

#include "base/json_put.h"
#include "model/json_field.h"

void execution_move(struct execution *execution, enum execution_status to)
{
    assert(execution_status_may(execution->status, to));
    execution->status = to;
}

struct tally tally_after(const struct tally *tally, enum end_reason reason,
                         enum error_class class, bool retried)
{
    bool released = reason == END_RELEASED;
    bool crashed = end_reason_crash(reason) || class == ERROR_CRASH;
    return (struct tally){
        .attempts_used = tally->attempts_used - (released ? 1 : 0),
        .retry_count = tally->retry_count + (retried && !released ? 1 : 0),
        .crash_count = crashed ? tally->crash_count + 1 : released ? tally->crash_count
                                                                   : 0,
    };
}

static bool in_order(pawl_time first, pawl_time second)
{
    return first == 0 || second == 0 || first <= second;
}

bool execution_took_too_long(const struct execution *e)
{
    return e->status == EXECUTION_IN_PROGRESS && e->lease_expires_at >= e->deadline_at;
}

const char *execution_problem(const struct execution *e)
{
    bool started = e->status == EXECUTION_IN_PROGRESS || e->status == EXECUTION_COMMITTED
        || e->status == EXECUTION_DONE;
    bool committed = e->status == EXECUTION_COMMITTED || e->status == EXECUTION_DONE;

    if (e->attempt < 1)
        return "attempts count from 1";
    if (e->leased_at == 0 || e->lease_expires_at == 0)
        return "an execution has a lease";
    if (started && e->started_at == 0)
        return "it went past LEASED without a start time";
    if (e->status == EXECUTION_LEASED && e->started_at != 0)
        return "it has a start time and is still LEASED";
    if (committed != (e->committed_at != 0))
        return "a commit time belongs to COMMITTED and DONE and to nothing else";
    if (execution_status_final(e->status) != (e->finished_at != 0))
        return "an end time belongs to DONE and ABORTED and to nothing else";
    if (execution_status_final(e->status) != (e->end_reason != END_NONE))
        return "an end reason belongs to DONE and ABORTED and to nothing else";
    if ((e->status == EXECUTION_DONE) != (e->end_reason == END_DONE))
        return "the end reason `done` belongs to DONE and to nothing else";
    if (!in_order(e->leased_at, e->started_at) || !in_order(e->started_at, e->committed_at)
        || !in_order(e->committed_at, e->finished_at) || !in_order(e->leased_at, e->finished_at))
        return "its times are out of order";
    if (e->tally.attempts_used > e->attempt || e->tally.retry_count > e->attempt)
        return "it counts more attempts than there were";
    return NULL;
}

static void put_error(struct buf *out, const struct execution *e)
{
    if (e->error_class == ERROR_NONE && e->error_message.n == 0) {
        json_put_raw(out, "error", S("null"));
        return;
    }
    json_put_open(out, "error", '{');
    json_put_text(out, "class", str_of(error_class_name(e->error_class)));
    json_put_text(out, "message", e->error_message);
    json_put_text(out, "detail", e->error_detail);
    json_put_close(out, '}');
}

void execution_put(struct buf *out, const struct execution *e)
{
    json_put_id(out, "exec_id", e->id);
    json_put_id(out, "job_id", e->job);
    json_put_int(out, "attempt", e->attempt);
    json_put_text(out, "lease_owner", e->lease_owner);
    json_put_time(out, "lease_expires_at", e->lease_expires_at);
    json_put_text(out, "status", str_of(execution_status_name(e->status)));
    json_put_time(out, "leased_at", e->leased_at);
    json_put_time(out, "started_at", e->started_at);
    json_put_time(out, "committed_at", e->committed_at);
    json_put_time(out, "finished_at", e->finished_at);
    json_put_text(out, "end_reason", str_of(end_reason_name(e->end_reason)));
    put_error(out, e);
    json_put_progress(out, "progress", e->progress_percent, e->progress_message);
}

json_t *execution_json(struct arena *arena, const struct execution *e)
{
    struct buf text = buf_new(arena, SIZE_MAX);
    json_put_open(&text, NULL, '{');
    execution_put(&text, e);
    json_put_close(&text, '}');
    return text.full ? NULL : json_of(buf_str(&text));
}
