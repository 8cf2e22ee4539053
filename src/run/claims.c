// Claims: how many jobs to take, when, and handing them to workers.
//
// A worker that has nothing to do is given a job that is started in the claim itself. Beyond that,
// jobs are leased ahead, as much as the pool will get to within AHEAD_US by what handlers took of
// late: quick handlers never wait for the disk, and slow ones leave jobs to other processes.
#include <stdlib.h>
#include <string.h>

#include "run/runner.h"
#include "store/names.h"

enum { AHEAD_MAX = 256,
       AHEAD_BYTES = 16 << 20 };  // of payloads that wait for a worker, by what they were of late

#define AHEAD_US MILLISECONDS(50)
#define START_AHEAD_US MILLISECONDS(100)
#define SHORT_US SECONDS(10)  // of less time nothing may go by while a job waits for its handler

// ----- how many

static size_t depth(const struct runner *r)
{
    const struct pawl_options *options = &r->pawl->options;
    if (options->prefetch != 0)
        return options->prefetch > 0 ? (size_t)options->prefetch : 0;
    int64_t depth = options->workers * AHEAD_US / (r->handler_us > 0 ? r->handler_us : 1);
    int64_t fits = AHEAD_BYTES / (r->payload_bytes > 0 ? r->payload_bytes : 1);
    int64_t most = fits < AHEAD_MAX ? fits : AHEAD_MAX;
    return (size_t)(depth < most ? depth : most);
}

// Sets what the batch should bring. What is leased ahead is topped up when half of it is gone.
static size_t plan(const struct runner *r, struct batch *b)
{
    size_t waiting = r->prefetched, deep = r->has_threads ? depth(r) : 0;
    size_t ahead = waiting > r->idle ? waiting - r->idle : 0;
    b->start = r->idle > waiting ? r->idle - waiting : 0;
    b->ahead = ahead <= deep / 2 ? deep - ahead : 0;
    b->start_ahead = r->handler_us <= START_AHEAD_US;
    if (b->start > CLAIM_MAX)
        b->start = CLAIM_MAX;
    if (b->ahead > CLAIM_MAX - b->start)
        b->ahead = CLAIM_MAX - b->start;
    return b->start + b->ahead;
}

// ----- the claim itself

static bool claim_some(struct tx *tx, struct batch *b, size_t limit, bool start,
                       struct pawl_error *err)
{
    const struct runner *r = b->runner;
    struct claimed *claimed = NULL;
    size_t count = 0;
    pawl_time more_at = 0;
    struct claim claim = {
        .worker = r->worker,
        .every_queue = true,
        .turns = &b->runner->turns,
        .job_types = b->handlers->types,
        .job_type_count = b->handlers->count,
        .limit = limit,
        .start = start,
        .start_us_min = b->start_ahead ? SHORT_US : 0,
        .more_at = &more_at,
    };
    if (limit == 0)
        return true;
    if (!execution_claim(tx, &claim, &claimed, &count, err))
        return false;
    struct claimed *all = arena_new(tx->arena, struct claimed, b->count + count);
    if (!all)
        return fail(err, PAWL_NO_MEMORY, "no memory to claim jobs");
    if (b->count > 0)
        memcpy(all, b->claimed, b->count * sizeof *all);
    if (count > 0)
        memcpy(all + b->count, claimed, count * sizeof *all);
    b->claimed = all;
    b->count += count;
    b->more_at = more_at ? tx->monotonic + (more_at - tx->now) : 0;
    return true;
}

static bool claim_write(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct batch *b = (struct batch *)self;
    arena_reset(&b->arena);  // an earlier try may have left something
    b->count = 0;
    b->more_at = 0;
    b->at = tx->monotonic;
    if (b->start_ahead)
        return claim_some(tx, b, b->start + b->ahead, true, err);
    return claim_some(tx, b, b->start, true, err)
        && (b->count < b->start || claim_some(tx, b, b->ahead, false, err));
}

static void keep_batch(struct runner *r, struct batch *b)
{
    if (r->spare_batch) {
        arena_end(&b->arena);
        free(b);
        return;
    }
    arena_reset(&b->arena);
    r->spare_batch = b;
}

// The dispatcher may sleep past it.
static void note_more_at(struct runner *r, int64_t more_at)
{
    if (more_at == 0 || (r->more_at != 0 && r->more_at <= more_at))
        return;
    r->more_at = more_at;
    if (r->bell)
        bell_ring(r->bell);
}

static void claim_answered(struct operation *self)
{
    struct batch *b = (struct batch *)self;
    struct runner *r = b->runner;
    pthread_mutex_lock(&r->mutex);
    bool failed = self->error.code != PAWL_OK;
    r->claiming = false;
    r->maybe_more = failed || b->count == b->start + b->ahead || r->news != b->news;
    note_more_at(r, b->more_at);
    size_t woken = 0;
    if (failed)
        note_trouble(r, &self->error);
    if (failed || b->count == 0) {
        keep_batch(r, b);
    } else {
        b->next = NULL;
        *r->batches_end = b;
        r->batches_end = &b->next;
        r->prefetched += b->count;
        tick_renew_in_time(r, b);
        woken = b->count < r->idle ? b->count : r->idle;
    }
    pthread_cond_broadcast(&r->quiet);
    if (!failed)  // workers may have become idle, or jobs ready, while it was on its way
        claims_go_on(r);
    for (size_t i = 0; i < woken; i++)  // last: they want the mutex
        pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->mutex);
}

// ----- when

static struct batch *new_batch(struct runner *r)
{
    struct batch *b = r->spare_batch ? r->spare_batch : calloc(1, sizeof *b);
    r->spare_batch = NULL;
    return b;
}

// With the mutex held: a batch that is to be claimed now, or NULL.
static struct batch *begin(struct runner *r)
{
    struct batch planned = { .handlers = registry_handlers(&r->pawl->registry) };
    if (planned.handlers->count == 0)
        return NULL;  // a claim that names no types would take them all
    if (r->mode != RUNNER_WORKING || r->claiming || !r->maybe_more || plan(r, &planned) == 0)
        return NULL;
    struct batch *b = new_batch(r);
    if (!b)
        return NULL;
    struct arena arena = b->arena;
    *b = planned;
    b->arena = arena;
    b->runner = r;
    b->news = r->news;
    b->operation = (struct operation){ .run = claim_write,
                                       .answered = claim_answered,
                                       .arena = &b->arena,
                                       .always = true };
    r->claiming = true;
    return b;
}

// Whether what became ready is for a handler of this process. What cannot be told may be.
static bool is_news(const struct runner *r, struct tx *tx)
{
    struct str type;
    if (!tx->news || tx->news_type == NEWS_ANY)
        return tx->news;
    return !name_text(tx, NAME_JOB_TYPE, tx->news_type, &type, NULL)
        || handler_of(registry_handlers(&r->pawl->registry), type);
}

struct operation *claims_more(void *self, struct tx *tx)
{
    struct runner *r = self;
    bool news = is_news(r, tx);
    pthread_mutex_lock(&r->mutex);
    r->news += news;
    r->maybe_more = r->maybe_more || news;
    struct batch *b = begin(r);
    pthread_mutex_unlock(&r->mutex);
    return b ? &b->operation : NULL;
}

void claims_go_on(struct runner *r)
{
    struct batch *b = begin(r);
    if (!b)
        return;
    struct pawl_error err;
    pthread_mutex_unlock(&r->mutex);
    bool submitted = pipeline_submit(r->pawl->pipeline, &b->operation, &err);
    pthread_mutex_lock(&r->mutex);
    if (submitted)
        return;
    r->claiming = false;  // the next tick tries again
    keep_batch(r, b);
    pthread_cond_broadcast(&r->quiet);
}

void claims_look_at_limits(struct runner *r)
{
    if (r->more_at == 0 || world_monotonic(r->world) < r->more_at)
        return;
    r->more_at = 0;
    r->maybe_more = true;
}

void claims_cancel(struct runner *r, const char *job_id)
{
    struct id id;
    if (!id_parse(str_of(job_id), &id))
        return;
    for (struct batch *b = r->batches; b; b = b->next)
        for (size_t i = b->taken; i < b->count; i++)
            if (id_eq(b->claimed[i].job.id, id))
                b->claimed[i].execution.cancel_requested_at = world_wall(r->world);
}

bool claims_pending(const struct runner *r)
{
    return r->claiming || r->batches || r->giving > 0;
}

// ----- handing out

static struct pawl_run *new_run(struct runner *r)
{
    struct pawl_run *run = r->spare_runs;
    if (!run)
        return calloc(1, sizeof *run);
    r->spare_runs = run->next;
    r->spare_run_count--;
    struct arena arena = run->arena;
    *run = (struct pawl_run){ .arena = arena };
    return run;
}

static struct batch *unlink_first(struct runner *r)
{
    struct batch *b = r->batches;
    r->batches = b->next;
    if (!r->batches)
        r->batches_end = &r->batches;
    return b;
}

static void link_run(struct runner *r, struct pawl_run *run)
{
    run->next = r->runs;
    run->previous = NULL;
    if (r->runs)
        r->runs->previous = run;
    r->runs = run;
}

// Fills a run from the batch. A type without a handler cannot have been claimed.
static bool fill(struct runner *r, const struct batch *b, const struct claimed *claimed,
                 struct pawl_run *run)
{
    run->runner = r;
    run->pawl = r->pawl;
    run->handler = handler_of(b->handlers, claimed->job.contract.job_type);
    run->counts_from = b->at;
    run->lease_until = b->at + claimed->execution.lease_us;
    run->deadline = INT64_MAX;  // until its handler begins
    if (claimed->execution.cancel_requested_at)
        atomic_store(&run->stop, PAWL_STOP_CANCELLED);
    return run_fill(run, claimed, &r->worker);
}

struct pawl_run *claims_take(struct runner *r)
{
    struct batch *b = r->batches;
    if (!b)
        return NULL;
    struct pawl_run *run = new_run(r);
    const struct claimed *claimed = &b->claimed[b->taken++];
    bool filled = run && fill(r, b, claimed, run);
    r->payload_bytes += ((int64_t)claimed->job.contract.payload.n - r->payload_bytes) / 8;
    r->prefetched--;
    if (b->taken == b->count)
        keep_batch(r, unlink_first(r));
    if (filled) {
        link_run(r, run);
        return run;
    }
    if (run)
        arena_end(&run->arena);
    free(run);
    return NULL;  // a tick finds its lease and gives it back
}

// ----- giving back

static bool give_back(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct batch *b = (const struct batch *)self;
    for (size_t i = b->taken; i < b->count; i++) {
        struct lease lease = lease_of(&b->claimed[i].execution, &b->runner->worker);
        struct execution e;
        struct pawl_error why = {0};
        if (!execution_release(tx, &lease, &e, &why) && !pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
    }
    return true;
}

// With the mutex held. What could not be given back nobody knows any more: a tick finds it.
static void gave_back(struct runner *r, struct batch *b, const struct pawl_error *err)
{
    if (err->code == PAWL_OK)
        r->figures.released += (int64_t)(b->count - b->taken);
    else
        note_trouble(r, err);
    r->giving--;
    keep_batch(r, b);
    pthread_cond_broadcast(&r->quiet);
}

static void give_back_answered(struct operation *self)
{
    struct batch *b = (struct batch *)self;
    struct runner *r = b->runner;
    pthread_mutex_lock(&r->mutex);
    gave_back(r, b, &self->error);
    pthread_mutex_unlock(&r->mutex);
}

void claims_give_back(struct runner *r)
{
    while (r->batches) {
        struct batch *b = unlink_first(r);
        struct pawl_error err = {0};
        r->prefetched -= b->count - b->taken;
        r->giving++;
        b->operation = (struct operation){ .run = give_back,
                                           .answered = give_back_answered,
                                           .arena = &b->arena,
                                           .always = true };
        pthread_mutex_unlock(&r->mutex);
        bool submitted = pipeline_submit(r->pawl->pipeline, &b->operation, &err);
        if (submitted && !r->has_threads)
            pipeline_round(r->pawl->pipeline);
        pthread_mutex_lock(&r->mutex);
        if (!submitted)
            gave_back(r, b, &err);
    }
}
