// Jobs: enqueue, look, wait, cancel, retry. Each change is one operation of the pipeline; looking
// has a connection of its own, which never holds up the writer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/job.h"
#include "model/text_rule.h"
#include "run/loan.h"
#include "run/request.h"
#include "run/runner.h"

enum { ENQUEUE_MAX = 10000, ENQUEUE_BYTES_MAX = 64 << 20 };

#define WAIT_US_MAX MILLISECONDS(50)  // between two looks at a job somebody waits for

// ----- enqueueing

struct enqueueing {
    struct operation operation;
    const struct contract *contracts;
    size_t count;
    struct pawl_ticket *tickets;  // NULL: nobody asks
};

static bool write_job(struct tx *tx, struct enqueueing *e, size_t i, struct pawl_error *err)
{
    struct job job;
    bool known = false;
    struct pawl_error why = {0};
    if (!job_enqueue(tx, &e->contracts[i], &job, &known, &why))
        return e->count == 1 ? fail(err, why.code, "%s", why.message)
                             : fail(err, why.code, "jobs[%zu]: %s", i, why.message);
    if (e->tickets) {
        e->tickets[i].deduplicated = known;
        id_format(job.id, e->tickets[i].job_id);
    }
    return true;
}

// More than one is all or nothing: what was written before a refusal is taken back.
static bool write_jobs(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct enqueueing *e = (struct enqueueing *)self;
    struct pawl_error why = {0};
    if (e->count == 1)
        return write_job(tx, e, 0, err);
    if (!tx_mark(tx, err))
        return false;
    for (size_t i = 0; i < e->count; i++)
        if (!write_job(tx, e, i, &why))
            return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
    return tx_keep(tx, err);
}

// Ids of requests, for jobs that name none: random numbers are asked for many at a time.
struct ids {
    const struct world *world;
    uint64_t dice[32];
    size_t left;
};

static const char *next_id(struct ids *ids, struct arena *arena)
{
    if (ids->left == 0) {
        ids->world->random(ids->world->self, ids->dice, sizeof ids->dice);
        ids->left = countof(ids->dice);
    }
    return id_text(arena, id_after(0, world_wall(ids->world), ids->dice[--ids->left])).s;
}

// `jobs[7].`, made for every job and read for few: by hand.
static const char *prefix_of(struct arena *arena, size_t index)
{
    enum { BYTES = 32 };
    char *text = arena_alloc(arena, BYTES), *s = text ? text + BYTES - 1 : NULL;
    if (!s)
        return "";
    *--s = '.';
    *--s = ']';
    do
        *--s = (char)('0' + index % 10);
    while (index /= 10);
    s -= S("jobs[").n;
    return memcpy(s, "jobs[", S("jobs[").n);
}

static bool read_jobs(struct pawl *pawl, const struct pawl_job *jobs, size_t count,
                      struct arena *arena, struct contract **contracts, struct pawl_error *err)
{
    struct problems problems = { .arena = arena };
    struct ids ids = { .world = pawl->world };
    *contracts = arena_new(arena, struct contract, count);
    if (!*contracts)
        return fail(err, PAWL_NO_MEMORY, "no memory to enqueue %zu jobs", count);
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        const char *prefix = count == 1 ? "" : prefix_of(arena, i);
        struct pawl_job job = jobs[i];
        if (!job.request_id && count > 1)
            job.request_id = next_id(&ids, arena);
        fine &= request_contract(pawl, &job, prefix, &(*contracts)[i], &problems);
    }
    if (arena->failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to enqueue %zu jobs", count);
    return fine || problems_none(&problems, err);
}

// One transaction keeps everybody else waiting, and must fit into the log.
static bool not_too_many(const struct pawl_job *jobs, size_t count, struct pawl_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count && count <= ENQUEUE_MAX; i++)
        bytes += jobs[i].payload ? strlen(jobs[i].payload) : 0;
    return (count <= ENQUEUE_MAX && bytes <= ENQUEUE_BYTES_MAX)
        || fail(err, PAWL_TOO_LARGE, "too much for one transaction: at most %d jobs with %d MiB "
                                     "of payloads",
                ENQUEUE_MAX, ENQUEUE_BYTES_MAX >> 20);
}

bool pawl_enqueue_all(struct pawl *pawl, const struct pawl_job *jobs, size_t count,
                      struct pawl_ticket *tickets, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct contract *contracts = NULL;
    if (!handle_usable(pawl, err))
        return false;
    if (count == 0)
        return true;
    if (!jobs)
        return fail(err, PAWL_USAGE, "there is no job: it is NULL");
    if (!not_too_many(jobs, count, err) || !read_jobs(pawl, jobs, count, &arena, &contracts, err))
        return false;
    struct enqueueing e = {
        .operation = { .run = write_jobs, .arena = &arena, .caller = &pawl->caller },
        .contracts = contracts,
        .count = count,
        .tickets = tickets,
    };
    return loan_none_here(pawl, err) && pipeline_do(pawl->pipeline, &e.operation, err);
}

bool pawl_enqueue(struct pawl *pawl, const struct pawl_job *job, struct pawl_ticket *ticket,
                  struct pawl_error *err)
{
    return pawl_enqueue_all(pawl, job, 1, ticket, err);
}

// ----- looking

bool handle_read(struct pawl *pawl, struct arena *arena, struct tx *tx, struct pawl_error *err)
{
    struct db_options options = { .url = str_of(pawl->options.store),
                                  .world = pawl->world,
                                  .read_only = true };
    if (!db_begin_read(&pawl->reader, &options, arena, tx, err))
        return false;
    tx->caller = &pawl->caller;
    return true;
}

static bool look(struct pawl *pawl, struct id id, struct arena *arena, struct job *job,
                 struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return handle_read(pawl, arena, &tx, err) && job_load(&tx, id, job, err);
}

static bool read_job(struct pawl *pawl, const char *job_id, struct arena *arena, struct job *job,
                     struct pawl_error *err)
{
    struct id id;
    if (!handle_usable(pawl, err) || !request_id(job_id, &id, err))
        return false;
    pthread_mutex_lock(&pawl->reading);
    bool found = look(pawl, id, arena, job, err);
    pthread_mutex_unlock(&pawl->reading);
    return found && (!arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to read a job"));
}

static bool has_place(const void *answer, struct pawl_error *err)
{
    return answer || fail(err, PAWL_USAGE, "there is no place for the answer: it is NULL");
}

static void show(char text[256], struct str whole)
{
    snprintf(text, 256, "%.*s", STR(text_clip(whole, 255)));
}

static void fill_status(const struct job *job, struct pawl_status *status)
{
    *status = (struct pawl_status){
        .state = job_state_name(job->state),
        .phase = job_phase_name(job->phase),
        .failure_type = failure_type_name(job->failure_type),
        .ended = job_state_final(job->state),
        .attempt = (int)job->attempt,
        .percent = (int)job->progress_percent,
        .created_at = job->created_at,
        .started_at = job->started_at,
        .completed_at = job->completed_at,
    };
    id_format(job->id, status->job_id);
    show(status->progress, job->progress_message);
    show(status->error, job->last_error);
}

bool pawl_get(struct pawl *pawl, const char *job_id, struct pawl_status *status,
              struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct job job;
    if (!has_place(status, err) || !read_job(pawl, job_id, &arena, &job, err))
        return false;
    fill_status(&job, status);
    return true;
}

// A text of a job, made by `make` and freed by the caller.
static bool get_text(struct pawl *pawl, const char *job_id, char **text,
                     char *(*make)(struct arena *arena, const struct job *job),
                     struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct job job;
    if (!has_place(text, err))
        return false;
    *text = NULL;
    if (!read_job(pawl, job_id, &arena, &job, err))
        return false;
    *text = make(&arena, &job);
    return *text || fail(err, PAWL_NO_MEMORY, "no memory for what job %s has", job_id);
}

static char *result_of(struct arena *arena, const struct job *job)
{
    (void)arena;
    bool there = job->state == JOB_SUCCEEDED && job->result.n > 0;
    return there ? strndup(job->result.s, job->result.n) : strdup("null");
}

static char *object_of(struct arena *arena, const struct job *job)
{
    struct str text = job_text(arena, job);
    return text.n > 0 ? strndup(text.s, text.n) : NULL;
}

bool pawl_get_result(struct pawl *pawl, const char *job_id, char **json, struct pawl_error *err)
{
    return get_text(pawl, job_id, json, result_of, err);
}

bool pawl_get_json(struct pawl *pawl, const char *job_id, char **json, struct pawl_error *err)
{
    return get_text(pawl, job_id, json, object_of, err);
}

void pawl_free(void *text)
{
    free(text);
}

static int64_t longer(int64_t pause)
{
    return 2 * pause < WAIT_US_MAX ? 2 * pause : WAIT_US_MAX;
}

bool pawl_wait(struct pawl *pawl, const char *job_id, int64_t timeout_us,
               struct pawl_status *status, struct pawl_error *err)
{
    if (!handle_usable(pawl, err)
        || (pawl->options.virtual_time && !pawl_run_until_idle(pawl, err)))
        return false;
    int64_t end = world_end_of(pawl->world, timeout_us);
    for (int64_t pause = MILLISECONDS(1);; pause = longer(pause)) {
        if (!pawl_get(pawl, job_id, status, err))
            return false;
        int64_t left = end - world_monotonic(pawl->world);
        if (status->ended || left <= 0)
            return true;
        if (!pawl->options.virtual_time)
            world_sleep(pawl->world, left < pause ? left : pause);
        else if (!pawl_advance(pawl, runner_next_event(pawl->runner, left), err))
            return false;
    }
}

// ----- changing

struct changing {
    struct operation operation;
    struct id id;
    bool (*change)(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);
    struct job job;
};

static bool write_change(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct changing *c = (struct changing *)self;
    return c->change(tx, c->id, &c->job, err);
}

static bool change(struct pawl *pawl, const char *job_id, struct changing *c, struct arena *arena,
                   struct pawl_error *err)
{
    if (!handle_usable(pawl, err))
        return false;
    c->operation = (struct operation){ .run = write_change,
                                       .arena = arena,
                                       .caller = &pawl->caller };
    return request_id(job_id, &c->id, err) && loan_none_here(pawl, err)
        && pipeline_do(pawl->pipeline, &c->operation, err);
}

bool pawl_submit(struct pawl *pawl, const char *job_id, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct changing c = { .change = job_submit };
    return change(pawl, job_id, &c, &arena, err);
}

void handle_cancelled(struct pawl *pawl, const char *job_id)
{
    pthread_mutex_lock(&pawl->looking);
    if (pawl->runner)
        runner_cancel(pawl->runner, job_id);
    pthread_mutex_unlock(&pawl->looking);
}

bool pawl_cancel(struct pawl *pawl, const char *job_id, bool *ended, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct changing c = { .change = job_cancel };
    if (!change(pawl, job_id, &c, &arena, err))
        return false;
    bool is_over = job_state_final(c.job.state);
    if (ended)
        *ended = is_over;
    if (!is_over)
        handle_cancelled(pawl, job_id);
    return true;
}

bool pawl_retry(struct pawl *pawl, const char *job_id, struct pawl_ticket *ticket,
                struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct changing c = { .change = job_retry };
    if (!change(pawl, job_id, &c, &arena, err))
        return false;
    if (ticket) {
        *ticket = (struct pawl_ticket){0};
        id_format(c.job.id, ticket->job_id);
    }
    return true;
}
