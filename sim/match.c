// What the store says about a job beside what the model does, field by field.
#include "match.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/queue.h"
#include "store/names.h"

void match_copy(struct match *to, const struct match *from)
{
    reference_copy(&to->model, &from->model);
    memcpy((char *)to + sizeof to->model, (const char *)from + sizeof from->model,
           sizeof *from - sizeof from->model);
}

void differ(struct match *m, const char *format, ...)
{
    if (m->unlike)
        return;
    va_list arguments;
    va_start(arguments, format);
    m->unlike = true;
    vsnprintf(m->problem, sizeof m->problem, format, arguments);
    va_end(arguments);
}

// A store that failed says nothing about the engine: its transaction is given up.
static bool store_failed(struct match *m)
{
    bool failed = m->store_may_fail && !pawl_code(m->err.code)->refusal;
    m->broken |= failed;
    return failed;
}

static void unread(struct match *m, size_t index, const char *what)
{
    if (!store_failed(m))
        differ(m, "job %zu: %s: %s", index, what, m->err.message);
}

void answer(struct match *m, const char *what, bool done, enum pawl_code expected)
{
    m->code = done ? PAWL_OK : m->err.code;
    if (m->code != expected && (done || !store_failed(m)))
        differ(m, "%s: the engine answers %s (%s), the model %s", what, pawl_code(m->code)->word,
               done ? "" : m->err.message, pawl_code(expected)->word);
}

void adopt_job(struct match *m, size_t index, const struct job *job)
{
    struct ref_job *want = &m->model.jobs[index];
    struct str key = job->contract.idempotency_key;
    want->id = job->id;
    if (want->contract.idempotency_key.n == 0)
        want->stem = want->contract.idempotency_key = str_dup(m->model.arena, key);
    if (!str_eq(want->contract.idempotency_key, key))
        differ(m, "job %zu: its key is %.*s, not %.*s", index, STR(key),
               STR(want->contract.idempotency_key));
}

void adopt_newest(struct match *m, size_t count)
{
    struct job_list list = {0};
    struct job_filter newest = { .limit = (int64_t)count };
    if (count == 0 || m->unlike)
        return;
    bool found = job_find(m->tx, &newest, &list, &m->err);
    if (!found && store_failed(m))
        return;
    if (!found || list.count != count)
        differ(m, "%zu new jobs expected, %zu found", count, list.count);
    for (size_t i = 0; i < count && !m->unlike; i++)
        adopt_job(m, m->model.job_count - 1 - i, &list.jobs[i]);
}

// Which batch the store says this job is the callback of; NULL: of none.
static struct ref_batch *batch_called_by(struct match *m, struct id job)
{
    struct reference *model = &m->model;
    for (struct ref_batch *b = model->batches; b < model->batches + model->batch_count; b++) {
        struct job_batch batch;
        if (!b->ended || !b->has_callback)
            continue;
        if (!batch_load(m->tx, b->id, &batch, &m->err)) {
            unread(m, b->callback_job, "its batch");
            return NULL;
        }
        if (id_eq(batch.callback_job, job))
            return b;
    }
    return NULL;
}

// The callback of the batch becomes the job at this place, and the other way round.
static void change_places(struct reference *model, struct ref_batch *batch, size_t place)
{
    struct ref_job job = model->jobs[place];
    size_t old = batch->callback_job;
    for (size_t i = 0; i < model->batch_count; i++)
        if (model->batches[i].ended && model->batches[i].callback_job == place)
            model->batches[i].callback_job = old;
    model->jobs[place] = model->jobs[old];
    model->jobs[old] = job;
    batch->callback_job = place;
}

void adopt_callbacks(struct match *m)
{
    struct reference *model = &m->model;
    struct job_list list = {0};
    struct job_filter newest = {0};
    while ((size_t)newest.limit < model->job_count
           && model->jobs[model->job_count - 1 - (size_t)newest.limit].id.high == 0)
        newest.limit++;
    if (newest.limit == 0)
        return;
    if (!job_find(m->tx, &newest, &list, &m->err))
        unread(m, model->job_count, "the callbacks cannot be found");
    for (size_t i = 0; i < list.count && !m->unlike && !m->broken; i++) {
        size_t place = model->job_count - 1 - i;
        struct ref_batch *batch = batch_called_by(m, list.jobs[i].id);
        if (batch && batch->callback_job <= place && model->jobs[batch->callback_job].id.high == 0)
            change_places(model, batch, place);
        else if (!m->broken)
            differ(m, "a job that is nobody's callback");
        adopt_job(m, place, &list.jobs[i]);
    }
}

// The dice of a finish phase's delay.
void adopt_finish(struct match *m)
{
    for (size_t i = 0; i < m->model.execution_count && !m->unlike; i++) {
        struct ref_execution *want = &m->model.executions[i];
        struct execution e;
        if (!want->free || want->finish_at.min == want->finish_at.max)
            continue;
        if (!execution_load_row(m->tx, want->id.high, &e, &m->err)) {
            unread(m, want->job, "its execution");
            return;
        }
        if (e.finish_at < want->finish_at.min || e.finish_at > want->finish_at.max)
            differ(m, "job %zu: to be finished at %+lld us, not %+lld to %+lld", want->job,
                   (long long)(e.finish_at - m->model.now),
                   (long long)(want->finish_at.min - m->model.now),
                   (long long)(want->finish_at.max - m->model.now));
        want->finish_at = (struct ref_span){ e.finish_at, e.finish_at };
    }
}

// ----- one job

#define SAME_INT(what, actual, expected)                                         \
    if ((int64_t)(actual) != (int64_t)(expected))                                \
    differ(m, "job %zu: %s is %lld, not %lld", index, what, (long long)(actual), \
           (long long)(expected))
#define SAME_NAME(what, name, actual, expected) \
    if ((actual) != (expected))                 \
    differ(m, "job %zu: %s is %s, not %s", index, what, name(actual), name(expected))
#define SAME_TEXT(what, actual, expected) \
    if (!str_eq(actual, expected))        \
    differ(m, "job %zu: %s is `%.*s`, not `%.*s`", index, what, STR(actual), STR(expected))

// Dice decided inside the span: from here on the moment is known.
static void adopt_due(struct match *m, size_t index, pawl_time run_at)
{
    struct ref_job *want = &m->model.jobs[index];
    if (want->where != REF_HELD && want->where != REF_DELAYED && want->where != REF_BACKOFF)
        return;
    if (run_at < want->due.min || run_at > want->due.max)
        differ(m, "job %zu: due at %+lld us, not between %+lld and %+lld", index,
               (long long)(run_at - m->model.now), (long long)(want->due.min - m->model.now),
               (long long)(want->due.max - m->model.now));
    want->due = (struct ref_span){ run_at, run_at };
}

static void compare_job(struct match *m, size_t index, const struct job *job)
{
    struct ref_job *want = &m->model.jobs[index];
    const struct ref_execution *e = ref_newest(&m->model, index);
    SAME_NAME("its phase", job_phase_name, job->phase, ref_phase(&m->model, want));
    SAME_NAME("its state", job_state_name, job->state, ref_state(&m->model, want));
    SAME_INT("attempt", job->attempt, want->attempt);
    SAME_INT("attempts_used", job->attempts_used, want->attempts_used);
    SAME_INT("retry_count", job->retry_count, want->retry_count);
    SAME_INT("priority", job->priority, want->priority);
    SAME_TEXT("its queue", job->queue, want->dead_letter.n ? S("q:deadletter") : want->queue);
    SAME_NAME("failure_type", failure_type_name, job->failure_type, want->failure_type);
    SAME_NAME("error_class", error_class_name, job->error_class, want->error_class);
    if (want->failure_type != FAILURE_DEPENDENCY_FAILED
        || !str_starts(job->last_error, want->last_error))
        SAME_TEXT("last_error", job->last_error, want->last_error);
    SAME_TEXT("dead_letter", job->dead_letter, want->dead_letter);
    SAME_TEXT("its result", job->result, want->result);
    SAME_INT("started_at", job->started_at, want->started_at);
    SAME_INT("completed_at", job->completed_at, want->completed_at);
    SAME_INT("cancel_requested_at", job->cancel_requested_at, want->cancel_requested_at);
    SAME_INT("progress", job->progress_percent, e ? e->percent : -1);
    adopt_due(m, index, job->run_at);
}

static void compare_execution(struct match *m, size_t index, const struct execution *e,
                              const struct ref_execution *want)
{
    if (!id_eq(e->id, want->id))
        differ(m, "job %zu: an execution of another id", index);
    SAME_INT("an execution's attempt", e->attempt, want->attempt);
    SAME_NAME("an execution", execution_status_name, e->status, want->status);
    SAME_NAME("an end reason", end_reason_name, e->end_reason, want->end_reason);
    SAME_NAME("an error class", error_class_name, e->error_class, want->error_class);
    SAME_TEXT("a lease's owner", e->lease_owner, want->owner.worker_id);
    SAME_INT("a lease's end", e->lease_expires_at, want->lease_expires_at);
    SAME_INT("a cancel request", e->cancel_requested_at != 0, want->cancel_requested);
    SAME_INT("failed finishes", e->finish_failures, want->finish_failures);
}

static void compare_executions(struct match *m, size_t index)
{
    struct execution *executions = NULL;
    size_t count = 0, next = 0;
    const struct reference *model = &m->model;
    if (!executions_of_job(m->tx, model->jobs[index].id.high, &executions, &count, &m->err))
        unread(m, index, "its executions");
    for (size_t i = 0; i < model->execution_count && !m->unlike; i++) {
        if (model->executions[i].job != index)
            continue;
        if (next == count)
            differ(m, "job %zu: it has only %zu executions", index, count);
        else
            compare_execution(m, index, &executions[next++], &model->executions[i]);
    }
    SAME_INT("the number of executions", count, next);
}

static void compare_steps(struct match *m, size_t index)
{
    struct step *steps = NULL;
    size_t count = 0, done = 0, tries = 0, model_done = 0, model_tries = 0;
    if (!steps_of_job(m->tx, m->model.jobs[index].id.high, &steps, &count, &m->err))
        unread(m, index, "its steps");
    for (size_t i = 0; i < count; i++) {
        done += steps[i].done;
        tries += (size_t)steps[i].tries;
    }
    for (size_t i = 0; i < REF_STEPS; i++) {
        model_done += m->model.jobs[index].steps[i].done;
        model_tries += (size_t)m->model.jobs[index].steps[i].tries;
    }
    SAME_INT("steps done", done, model_done);
    SAME_INT("failed tries of steps", tries, model_tries);
}

static void compare_events(struct match *m, size_t index)
{
    struct audit_event *trail = NULL;
    size_t count = 0, seen[EVENTS] = {0};
    if (!events_of_job(m->tx, m->model.jobs[index].id.high, &trail, &count, &m->err))
        unread(m, index, "its events");
    for (size_t i = 0; i < count; i++)
        seen[trail[i].event]++;
    for (enum event event = EVENT_JOB_CREATED; event < EVENTS; event++)
        SAME_INT(event_name(event), seen[event], m->model.jobs[index].events[event]);
}

static size_t events_told(const struct ref_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < EVENTS; i++)
        count += job->events[i];
    return count;
}

static void compare_history(struct match *m, size_t index)
{
    compare_executions(m, index);
    compare_steps(m, index);
    compare_events(m, index);
}

static void compare_one(struct match *m, size_t index, bool whole)
{
    struct job job;
    if (!job_load(m->tx, m->model.jobs[index].id, &job, &m->err)) {
        unread(m, index, "it cannot be read");
        return;
    }
    compare_job(m, index, &job);
    if (whole && !m->unlike)
        compare_history(m, index);
}

static void compare_batch(struct match *m, const struct ref_batch *want)
{
    struct job_batch batch;
    struct id none = {0};
    size_t index = (size_t)(want - m->model.batches);
    bool called = want->ended && want->has_callback;
    if (!batch_load(m->tx, want->id, &batch, &m->err)) {
        if (!store_failed(m))
            differ(m, "batch %zu: %s", index, m->err.message);
        return;
    }
    if (batch.jobs != want->jobs || batch.succeeded != want->succeeded
        || batch.failed != want->failed || batch.timed_out != want->timed_out)
        differ(m, "batch %zu: its numbers are others", index);
    if ((batch.ended_at != 0) != want->ended)
        differ(m, "batch %zu: it has ended or not", index);
    if (!id_eq(batch.callback_job, called ? m->model.jobs[want->callback_job].id : none))
        differ(m, "batch %zu: its callback is another", index);
}

// All of them, or one in turn.
static void compare_batches(struct match *m, bool all)
{
    size_t count = m->model.batch_count;
    for (size_t i = 0; i < count && !m->unlike && !m->broken; i++)
        if (all || m->compared % count == i)
            compare_batch(m, &m->model.batches[i]);
}

void compare(struct match *m, bool all)
{
    m->compared++;
    compare_batches(m, all);
    for (size_t i = 0; i < m->model.job_count && !m->unlike && !m->broken; i++) {
        const struct ref_job *want = &m->model.jobs[i];
        size_t told = events_told(want);
        bool touched = all || i == m->focus || told != m->told[i];
        bool waits = want->where == REF_QUEUED && want->contract.serial_key.n;
        if (touched || waits || (i + m->compared) % m->every == 0)
            compare_one(m, i, touched);
        m->told[i] = told;
    }
}

static void compare_newest(struct match *m)
{
    struct job_list list = {0};
    struct job_filter newest = { .limit = 1 };
    size_t count = m->model.job_count;
    if (!job_find(m->tx, &newest, &list, &m->err)) {
        unread(m, count, "the newest cannot be found");
        return;
    }
    bool same = count == 0 ? list.count == 0
                           : list.count > 0 && id_eq(list.jobs[0].id, m->model.jobs[count - 1].id);
    if (!same)
        differ(m, "the newest job of the store is not the model's");
}

static void compare_pause(struct match *m, struct str queue, struct str org)
{
    int64_t queue_number = 0, org_number = 0;
    struct share_pause share = {0};
    pawl_time since = 0;
    bool read = name_find(m->tx, NAME_QUEUE, queue, &queue_number, &m->err)
             && (org.n == 0 || name_find(m->tx, NAME_ORG, org, &org_number, &m->err))
             && (org.n == 0 ? queue_paused(m->tx, queue_number, &since, &m->err)
                            : share_paused(m->tx, queue_number, org_number, &share, &m->err));
    if (!read)
        unread(m, 0, "a pause cannot be read");
    else if ((since || share.since) != ref_paused(&m->model, queue, org))
        differ(m, "%.*s is paused for %.*s or not", STR(queue), STR(org));
}

static void compare_wait_limit(struct match *m, size_t index)
{
    SCOPED(rows) struct rows rows = {0};
    pawl_time until = 0;
    const struct ref_job *want = &m->model.jobs[index];
    if (!sql_ask(m->tx, &rows, Q_WAIT_LIMIT_OF_JOB, &m->err, INT(want->id.high))
        || !rows_number(&rows, &until, &m->err)) {
        unread(m, index, "its limit");
        return;
    }
    SAME_INT("the end of its wait", until, want->wait_until);
}

void compare_rest(struct match *m, const struct str *queues, size_t queue_count,
                  const struct str *orgs, size_t org_count)
{
    compare_newest(m);
    for (size_t i = 0; i < m->model.job_count && !m->unlike && !m->broken; i++)
        compare_wait_limit(m, i);
    for (size_t i = 0; i < queue_count; i++) {
        compare_pause(m, queues[i], S(""));
        for (size_t k = 0; k < org_count && !m->unlike && !m->broken; k++)
            compare_pause(m, queues[i], orgs[k]);
    }
}
