// Both sides of a comparison: what the store says about a job, and what the model does.
#include "sequence.h"

#include "engine/api_key.h"

#include <stdio.h>

static struct str text(struct sequence *s, const char *format, uint64_t number)
{
    return str_format(&s->arena, "%s-%llu", format, (unsigned long long)number);
}

const struct str orgs[2] = { { "00000000-0000-7000-8000-000000000000", 36 },
                             { "00000000-0000-7000-8000-00000000000b", 36 } };

void sequence_meet_orgs(struct box *box)
{
    for (size_t i = 0; i < countof(orgs); i++) {
        int64_t org = 0;
        OK(org_intern(tx, orgs[i], &org, err));
    }
}

void sequence_begin(struct sequence *s, struct box *box, uint64_t seed)
{
    struct arena kept = s->arena;
    arena_reset(&kept);
    *s = (struct sequence){
        .box = box,
        .arena = kept,
        .seed = seed,
        .dice = seed * 7919,
        .focus = SIZE_MAX,
    };
    s->model.arena = &s->arena;
    box->world.dice = seed;  // alone or after others, a seed is the same sequence
    world_pass(&box->world, SECONDS(1) - box->world.wall % SECONDS(1));
    s->one_by_one = chance(s, 30);
    s->workers[0] = (struct worker){ S("anna"), S("one"), text(s, "boot", seed) };
    s->workers[1] = (struct worker){ S("bert"), S("one"), text(s, "boot", seed) };
    s->workers[2] = (struct worker){ S("carl"), S("two"), text(s, "boot", seed) };
    s->workers[3] = (struct worker){ .worker_id = S("dora") };
}

void sequence_end(struct sequence *s)
{
    moment_over(s);
    world_jump(&s->box->world, s->set_back_us);
    s->set_back_us = 0;
}

uint64_t roll(struct sequence *s)
{
    uint64_t number = s->dice += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

size_t pick(struct sequence *s, size_t count)
{
    return (size_t)(roll(s) % count);
}

bool chance(struct sequence *s, size_t percent)
{
    return pick(s, 100) < percent;
}

int64_t between(struct sequence *s, int64_t min, int64_t max)
{
    return min + (int64_t)(roll(s) % (uint64_t)(max - min + 1));
}

void differ(struct sequence *s, const char *format, ...)
{
    if (s->unlike)
        return;
    va_list arguments;
    va_start(arguments, format);
    s->unlike = true;
    vsnprintf(s->problem, sizeof s->problem, format, arguments);
    va_end(arguments);
}

struct tx *moment(struct sequence *s, struct str org)
{
    if (!s->tx.open && !tx_begin(s->box->db, TX_WRITE, &s->arena, &s->tx, &s->err))
        differ(s, "no transaction: %s", s->err.message);
    s->caller = s->box->caller;
    s->caller.org_id = org;
    s->tx.caller = &s->caller;
    s->model.org = org;
    s->model.now = s->tx.now;
    return &s->tx;
}

void moment_over(struct sequence *s)
{
    if (!s->tx.open)
        return;
    s->commits++;
    if (!tx_commit(&s->tx, &s->err))
        differ(s, "no commit: %s", s->err.message);
}

void answer(struct sequence *s, const char *what, bool done, enum pawl_code expected)
{
    s->code = done ? PAWL_OK : s->err.code;
    if (s->verbose)
        print_message("%3zu %+14.6f s  %-10s %-14s %s\n", s->operations,
                      (double)(s->model.now - SECONDS(1800000000)) / 1e6, what,
                      pawl_code(s->code)->word, done ? "" : s->err.message);
    if (s->code != expected)
        differ(s, "%s: the engine answers %s (%s), the model %s", what, pawl_code(s->code)->word,
               done ? "" : s->err.message, pawl_code(expected)->word);
}

void adopt_job(struct sequence *s, size_t index, const struct job *job)
{
    struct ref_job *m = &s->model.jobs[index];
    struct str key = job->contract.idempotency_key;
    m->id = job->id;
    if (m->contract.idempotency_key.n == 0)
        m->stem = m->contract.idempotency_key = key;
    if (!str_eq(m->contract.idempotency_key, key))
        differ(s, "job %zu: its key is %.*s, not %.*s", index, STR(key),
               STR(m->contract.idempotency_key));
}

void adopt_newest(struct sequence *s, size_t count)
{
    struct job_list list = {0};
    struct job_filter newest = { .limit = (int64_t)count };
    if (count == 0 || s->unlike)
        return;
    if (!job_find(moment(s, S("")), &newest, &list, &s->err) || list.count != count)
        differ(s, "%zu new jobs expected, %zu found", count, list.count);
    for (size_t i = 0; i < count && !s->unlike; i++)
        adopt_job(s, s->model.job_count - 1 - i, &list.jobs[i]);
}

// ----- one job

static struct str text_of_id(struct sequence *s, struct id id)
{
    return str_format(&s->arena, "%llx", (unsigned long long)id.high);
}

#define SAME_INT(what, actual, expected)                                         \
    if ((int64_t)(actual) != (int64_t)(expected))                                \
    differ(s, "job %zu: %s is %lld, not %lld", index, what, (long long)(actual), \
           (long long)(expected))
#define SAME_NAME(what, name, actual, expected) \
    if ((actual) != (expected))                 \
    differ(s, "job %zu: %s is %s, not %s", index, what, name(actual), name(expected))
#define SAME_TEXT(what, actual, expected) \
    if (!str_eq(actual, expected))        \
    differ(s, "job %zu: %s is `%.*s`, not `%.*s`", index, what, STR(actual), STR(expected))

// Dice decided inside the span: from here on the moment is known.
static void adopt_due(struct sequence *s, size_t index, pawl_time run_at)
{
    struct ref_job *m = &s->model.jobs[index];
    if (m->where != REF_HELD && m->where != REF_DELAYED && m->where != REF_BACKOFF)
        return;
    if (run_at < m->due.min || run_at > m->due.max)
        differ(s, "job %zu: due at %+lld us, not between %+lld and %+lld", index,
               (long long)(run_at - s->model.now), (long long)(m->due.min - s->model.now),
               (long long)(m->due.max - s->model.now));
    m->due = (struct ref_span){ run_at, run_at };
}

static void compare_job(struct sequence *s, size_t index, const struct job *job)
{
    struct ref_job *m = &s->model.jobs[index];
    const struct ref_execution *e = ref_newest(&s->model, index);
    SAME_NAME("its phase", job_phase_name, job->phase, ref_phase(&s->model, m));
    SAME_NAME("its state", job_state_name, job->state, ref_state(&s->model, m));
    SAME_INT("attempt", job->attempt, m->attempt);
    SAME_INT("attempts_used", job->attempts_used, m->attempts_used);
    SAME_INT("retry_count", job->retry_count, m->retry_count);
    SAME_INT("priority", job->priority, m->priority);
    SAME_TEXT("its queue", job->queue, m->dead_letter.n ? S("q:deadletter") : m->queue);
    SAME_NAME("failure_type", failure_type_name, job->failure_type, m->failure_type);
    SAME_NAME("error_class", error_class_name, job->error_class, m->error_class);
    SAME_TEXT("last_error", job->last_error, m->last_error);
    SAME_TEXT("dead_letter", job->dead_letter, m->dead_letter);
    SAME_TEXT("its result", job->result, m->result);
    SAME_INT("started_at", job->started_at, m->started_at);
    SAME_INT("completed_at", job->completed_at, m->completed_at);
    SAME_INT("cancel_requested_at", job->cancel_requested_at, m->cancel_requested_at);
    SAME_INT("progress", job->progress_percent, e ? e->percent : -1);
    adopt_due(s, index, job->run_at);
}

static void compare_execution(struct sequence *s, size_t index, const struct execution *e,
                              const struct ref_execution *m)
{
    SAME_TEXT("the id of an execution", text_of_id(s, e->id), text_of_id(s, m->id));
    SAME_INT("an execution's attempt", e->attempt, m->attempt);
    SAME_NAME("an execution", execution_status_name, e->status, m->status);
    SAME_NAME("an end reason", end_reason_name, e->end_reason, m->end_reason);
    SAME_NAME("an error class", error_class_name, e->error_class, m->error_class);
    SAME_TEXT("a lease's owner", e->lease_owner, m->owner.worker_id);
    SAME_INT("a lease's end", e->lease_expires_at, m->lease_expires_at);
    SAME_INT("a cancel request", e->cancel_requested_at != 0, m->cancel_requested);
    SAME_INT("failed finishes", e->finish_failures, m->finish_failures);
}

static void compare_executions(struct sequence *s, size_t index)
{
    struct execution *executions = NULL;
    size_t count = 0, next = 0;
    const struct reference *model = &s->model;
    if (!executions_of_job(&s->tx, model->jobs[index].id.high, &executions, &count, &s->err))
        differ(s, "job %zu: its executions: %s", index, s->err.message);
    for (size_t i = 0; i < model->execution_count && !s->unlike; i++) {
        if (model->executions[i].job != index)
            continue;
        if (next == count)
            differ(s, "job %zu: it has only %zu executions", index, count);
        else
            compare_execution(s, index, &executions[next++], &model->executions[i]);
    }
    SAME_INT("the number of executions", count, next);
}

static void compare_steps(struct sequence *s, size_t index)
{
    struct step *steps = NULL;
    size_t count = 0, done = 0, tries = 0, model_done = 0, model_tries = 0;
    if (!steps_of_job(&s->tx, s->model.jobs[index].id.high, &steps, &count, &s->err))
        differ(s, "job %zu: its steps: %s", index, s->err.message);
    for (size_t i = 0; i < count; i++) {
        done += steps[i].done;
        tries += (size_t)steps[i].tries;
    }
    for (size_t i = 0; i < REF_STEPS; i++) {
        model_done += s->model.jobs[index].steps[i].done;
        model_tries += (size_t)s->model.jobs[index].steps[i].tries;
    }
    SAME_INT("steps done", done, model_done);
    SAME_INT("failed tries of steps", tries, model_tries);
}

static void compare_events(struct sequence *s, size_t index)
{
    struct audit_event *trail = NULL;
    size_t count = 0, seen[EVENTS] = {0};
    if (!events_of_job(&s->tx, s->model.jobs[index].id.high, &trail, &count, &s->err))
        differ(s, "job %zu: its events: %s", index, s->err.message);
    for (size_t i = 0; i < count; i++)
        seen[trail[i].event]++;
    for (enum event event = EVENT_JOB_CREATED; event < EVENTS; event++)
        SAME_INT(event_name(event), seen[event], s->model.jobs[index].events[event]);
}

static size_t events_told(const struct ref_job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < EVENTS; i++)
        count += job->events[i];
    return count;
}

// A job to which something happened is compared with its whole history; the others as they are,
// those that wait for a turn each time, the rest in turn.
void compare(struct sequence *s, bool all)
{
    moment(s, S(""));
    for (size_t i = 0; i < s->model.job_count && !s->unlike; i++) {
        const struct ref_job *m = &s->model.jobs[i];
        size_t told = events_told(m);
        bool touched = i == s->focus || told != s->told[i];
        bool waits = m->where == REF_QUEUED && m->contract.serial_key.n;
        struct job job;
        if (!touched && !all && !waits && (i + s->operations) % 8 != 0)
            continue;
        if (!job_load(&s->tx, m->id, &job, &s->err)) {
            differ(s, "job %zu: %s", i, s->err.message);
            return;
        }
        compare_job(s, i, &job);
        if (!touched && !all)
            continue;
        compare_executions(s, i);
        compare_steps(s, i);
        compare_events(s, i);
        s->told[i] = told;
    }
}
