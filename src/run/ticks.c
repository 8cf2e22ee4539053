// The tick: what time does to the store, and what the store says about the runs of this process.
//
// One transaction does it all: the instance is kept alive, leases are renewed, progress is written,
// the store is swept. A tick that fails, because another process has the store, is tried again by
// the next one (RUN-11).
#include <stdlib.h>
#include <string.h>

#include "run/runner.h"

enum { SWEEP_MAX = 200 };

#define ALIVE_EVERY_US (ALIVE_US / 3)
#define RENEW_EVERY_US_MAX SECONDS(10)
#define STALE_US SECONDS(2)  // leased ahead and not begun by then: others may have it

// ----- in the transaction

static bool write_progress(struct tx *tx, const struct tick *t, struct pawl_error *err)
{
    for (size_t i = 0; i < t->progress_count; i++) {
        struct execution e;
        struct pawl_error why = {0};
        if (!execution_progress(tx, &t->progress[i].lease, &t->progress[i].progress, &e, &why)
            && !pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
    }
    return true;
}

static bool tick_write(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct tick *t = (struct tick *)self;
    const struct runner *r = t->runner;
    t->now = tx->now;
    t->alive = t->alive || r->scheduler.round.renewed;  // one flush for the two of them
    return (!t->alive || instance_alive(tx, &r->instance, err)) && write_progress(tx, t, err)
        && (t->renew ? executions_renew : executions_held)(tx, &r->worker, &t->holdings,
                                                           &t->holding_count, err)
        && sweep(tx, SWEEP_MAX, &t->swept, err);
}

// In a second, or when something is due. What should have been swept and was not has damaged
// records: looking again at once would find the same.
int64_t tick_wait(const struct tick *t)
{
    const struct swept *s = &t->swept;
    size_t moved = s->expired + s->timed_out + s->finished + s->due + s->gave_up + s->keys
                 + s->posted;
    if (s->more && moved > 0)
        return 0;
    int64_t due = s->next > t->now ? s->next - t->now : TICK_US;
    return due < TICK_US ? due : TICK_US;
}

// ----- renewal

static void shorten(int64_t *every, int64_t lease_us)
{
    if (lease_us / 3 < *every)
        *every = lease_us / 3;
}

static void shorten_for(int64_t *every, const struct batch *b)
{
    for (size_t i = b->taken; i < b->count; i++)
        shorten(every, b->claimed[i].execution.lease_us);
}

// A third of the shortest lease there is.
static int64_t renew_every(const struct runner *r)
{
    int64_t every = RENEW_EVERY_US_MAX;
    for (const struct pawl_run *run = r->runs; run; run = run->next)
        shorten(&every, run->lease_us);
    for (const struct batch *b = r->batches; b; b = b->next)
        shorten_for(&every, b);
    return every;
}

void tick_renew_in_time(struct runner *r, const struct batch *b)
{
    int64_t every = RENEW_EVERY_US_MAX;
    shorten_for(&every, b);
    if (b->at + every < r->renew_next)
        r->renew_next = b->at + every;
    if (r->tick_next <= r->renew_next)
        return;
    r->tick_next = r->renew_next;
    if (r->bell)
        bell_ring(r->bell);
}

// With the mutex held: when the next tick is due, after one that was done.
static void plan_next(struct runner *r, const struct tick *t)
{
    if (t->renew)
        r->renew_next = t->at + renew_every(r);
    r->tick_next = t->at + tick_wait(t);
    if (r->renew_next < r->tick_next)
        r->tick_next = r->renew_next;
}

static void tick_answered(struct operation *self)
{
    struct tick *t = (struct tick *)self;
    struct runner *r = t->runner;
    pthread_mutex_lock(&r->mutex);
    bool failed = self->error.code != PAWL_OK;
    r->ticking = false;
    r->tick_answered = true;
    r->ticks++;
    r->tick_next = t->at + TICK_US;
    if (failed)
        note_trouble(r, &self->error);
    else
        plan_next(r, t);
    // An idle runner need not look at the answer before its next tick.
    bool look = failed || r->runs || r->batches || r->tick_next < t->at + TICK_US
             || r->tick_next <= world_monotonic(r->world);
    pthread_cond_broadcast(&r->quiet);
    pthread_mutex_unlock(&r->mutex);
    if (look && r->bell)
        bell_ring(r->bell);
}

// ----- before it

static void gather_progress(struct runner *r, struct tick *t)
{
    struct list list = list_of(&t->arena, sizeof(struct tick_progress));
    for (struct pawl_run *run = r->runs; run; run = run->next) {
        struct tick_progress *p = run->progress_waits && !run->ending ? list_add(&list) : NULL;
        if (!p)
            continue;
        struct str message = str_dup(&t->arena, str_of(run->progress));
        *p = (struct tick_progress){ run->lease, { run->percent, message } };
        run->progress_waits = false;
    }
    t->progress = list.items;
    t->progress_count = list.count;
}

// An answer that nobody has looked at yet is in the memory the next tick would use.
bool tick_is_due(const struct runner *r)
{
    return !r->ticking && !r->tick_answered && world_monotonic(r->world) >= r->tick_next;
}

void tick_submit(struct runner *r)
{
    struct tick *t = &r->tick;
    int64_t now = world_monotonic(r->world);
    struct pawl_error err;
    arena_reset(&t->arena);
    t->arena.failed = false;
    t->at = now;
    t->alive = now >= r->alive_next;
    t->renew = now >= r->renew_next;
    t->operation = (struct operation){ .run = tick_write,
                                       .answered = tick_answered,
                                       .arena = &t->arena,
                                       .always = true };
    gather_progress(r, t);
    r->news++;  // a bell may have been lost, a commit phase have come due: a claim rides along
    r->maybe_more = true;
    r->ticking = true;
    r->tick_next = now + TICK_US;
    pthread_mutex_unlock(&r->mutex);
    bool submitted = pipeline_submit(r->pawl->pipeline, &t->operation, &err);
    pthread_mutex_lock(&r->mutex);
    if (submitted)
        return;
    r->ticking = false;
    note_trouble(r, &err);
}

// ----- after it

static const struct holding *find(const struct tick *t, struct id execution)
{
    for (size_t i = 0; i < t->holding_count; i++)
        if (id_eq(t->holdings[i].execution, execution))
            return &t->holdings[i];
    return NULL;
}

// What the store says about a run: it is ours no more, it is to stop, it is renewed.
static void compare(const struct tick *t, struct pawl_run *run)
{
    const struct holding *holding = find(t, run->lease.execution);
    if (run->ending || run->leased_at >= t->now)
        return;  // its end is on its way, or it was claimed later
    if (holding && holding->cancel_requested)
        runner_stop_run(run, PAWL_STOP_CANCELLED);
    if (!holding)
        run->lease_until = INT64_MIN;  // watch_runs does the rest
    else if (t->renew)
        run->lease_until = t->at + run->lease_us;
}

static bool known(const struct runner *r, const struct holding *holding)
{
    for (const struct pawl_run *run = r->runs; run; run = run->next)
        if (id_eq(run->lease.execution, holding->execution))
            return !(run->finishing && atomic_load(&run->written_off));
    for (const struct batch *b = r->batches; b; b = b->next)
        for (size_t i = b->taken; i < b->count; i++)
            if (id_eq(b->claimed[i].execution.id, holding->execution))
                return true;
    return false;
}

// A lease nobody here knows of: the answer to its claim was lost, or its handler was written off in
// the commit phase, for which there is no deadline in the store. It would be renewed for ever, so
// it is given back.
struct stray {
    struct operation operation;
    struct arena arena;
    struct lease lease;
};

static bool give_stray_back(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct execution e;
    return execution_release(tx, &((struct stray *)self)->lease, &e, err);
}

static void free_stray(struct operation *self)
{
    struct stray *stray = (struct stray *)self;
    arena_end(&stray->arena);
    free(stray);
}

void tick_give_back(struct runner *r, const struct lease *lease)
{
    struct stray *stray = calloc(1, sizeof *stray);
    struct pawl_error err;
    if (!stray)
        return;  // the next tick sees it again
    stray->operation = (struct operation){ .run = give_stray_back,
                                           .answered = free_stray,
                                           .arena = &stray->arena,
                                           .always = true };
    stray->lease = *lease;
    if (!pipeline_submit(r->pawl->pipeline, &stray->operation, &err))
        free_stray(&stray->operation);
}

static void give_strays_back(struct runner *r, const struct tick *t)
{
    for (size_t i = 0; t->renew && i < t->holding_count; i++) {
        const struct holding *h = &t->holdings[i];
        if (h->leased_at >= t->now || known(r, h))
            continue;
        struct lease lease = { h->execution, h->attempt, r->worker };
        pthread_mutex_unlock(&r->mutex);
        tick_give_back(r, &lease);
        pthread_mutex_lock(&r->mutex);
    }
}

static struct pawl_run *first_unwritten(const struct runner *r)
{
    struct pawl_run *run = r->runs;
    while (run && !run->unwritten)
        run = run->next;
    return run;
}

// Ends the store could not take when they came. Each is tried once: it may fail again.
static void write_again(struct runner *r)
{
    size_t count = 0;
    for (const struct pawl_run *run = r->runs; run; run = run->next)
        count += run->unwritten;
    for (; count > 0; count--) {
        struct pawl_run *run = first_unwritten(r);
        if (!run)
            return;
        run->unwritten = false;
        pthread_mutex_unlock(&r->mutex);
        run_submit_end(run);
        pthread_mutex_lock(&r->mutex);
    }
}

static struct pawl_run *first_judged(const struct runner *r, const struct tick *t)
{
    struct pawl_run *run = r->runs;
    while (run && (!run->awaits_verdict || find(t, run->lease.execution)))
        run = run->next;
    return run;
}

// Runs that passed their deadline and that the store has ended by now.
static void forget_judged(struct runner *r, const struct tick *t)
{
    for (struct pawl_run *run; (run = first_judged(r, t));)
        runner_forget(run);
}

// Leases that wait behind handlers which take longer than they used to: others may have them.
static void give_stale_back(struct runner *r)
{
    if (!r->batches || world_monotonic(r->world) - r->batches->at < STALE_US)
        return;
    r->handler_us = STALE_US;
    claims_give_back(r);
}

void note_trouble(struct runner *r, const struct pawl_error *err)
{
    r->trouble = *err;
    r->trouble_is_new = true;
    r->troubles++;
}

static enum journal_event event_of(enum pawl_code code)
{
    if (code == PAWL_BUSY)
        return STORE_CONTENDED;
    return code == PAWL_OUTDATED ? STORE_OUTDATED : STORE_FAILED;
}

// Another process has the instance, or a newer one the store: this one works no more.
static bool final(enum pawl_code code)
{
    return code == PAWL_FENCED || code == PAWL_OUTDATED;
}

static void tell_trouble(struct runner *r)
{
    struct pawl_error trouble = r->trouble;
    struct pawl *pawl = r->pawl;
    bool outdated = trouble.code == PAWL_OUTDATED;
    if (!r->trouble_is_new || (outdated && r->outdated))
        return;
    r->trouble_is_new = false;
    r->outdated = r->outdated || outdated;
    if (final(trouble.code))
        r->mode = RUNNER_DRAINING;
    pthread_mutex_unlock(&r->mutex);
    journal_write(&pawl->journal, event_of(trouble.code), NULL, "%s", trouble.message);
    if (outdated && pawl->outdated)
        pawl->outdated(pawl->outdated_self);
    pthread_mutex_lock(&r->mutex);
}

static void keep_name(struct runner *r)
{
    struct pawl_error why = {0};
    pthread_mutex_unlock(&r->mutex);
    bool kept = hold_keep(&r->hold, r->instance.name, &why);
    pthread_mutex_lock(&r->mutex);
    if (why.code == PAWL_CONFLICT)
        why.code = PAWL_FENCED;
    if (!kept)
        note_trouble(r, &why);
}

void tick_finish(struct runner *r)
{
    const struct tick *t = &r->tick;
    if (r->tick_answered && t->operation.error.code == PAWL_OK) {
        for (struct pawl_run *run = r->runs; run; run = run->next)
            compare(t, run);
        if (t->alive)
            r->alive_next = t->at + ALIVE_EVERY_US;
        give_strays_back(r, t);
        forget_judged(r, t);
        if (t->alive)
            keep_name(r);
    }
    r->tick_answered = false;
    write_again(r);
    give_stale_back(r);
    tell_trouble(r);
}
