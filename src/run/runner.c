// The runner's life: from taking its name to giving everything back. And the dispatcher, the one
// thread that watches the clock.
#include "run/runner.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUICK_UNKNOWN_US SECONDS(1)  // until a handler has shown how long it takes

// ----- waiting

static struct timespec until(int64_t monotonic)
{
    return (struct timespec){ .tv_sec = monotonic / 1000000,
                              .tv_nsec = (monotonic % 1000000) * 1000 };
}

// With the mutex held: waits until something has changed or the time has come. False then.
static bool wait_quiet(struct runner *r, int64_t deadline)
{
    struct timespec at = until(deadline);
    return pthread_cond_timedwait(&r->quiet, &r->mutex, &at) != ETIMEDOUT;
}

// ----- the dispatcher

// A tick that is late, because another process has the store, rings when it is answered: until then
// there is nothing to do about it.
static int64_t next_wake(const struct runner *r)
{
    int64_t next = watch_next(r), now = world_monotonic(r->world);
    int64_t tick = r->ticking && r->tick_next <= now ? now + TICK_US : r->tick_next;
    int64_t slots = scheduler_next(r);
    if (slots < next)
        next = slots;
    next = r->more_at && r->more_at < next ? r->more_at : next;
    return tick < next ? tick : next;
}

static void dispatch(struct runner *r)
{
    r->figures.wake_ups++;
    if (r->tick_answered)
        tick_finish(r);
    if (r->scheduler.answered)
        scheduler_finish(r);
    watch_runs(r);
    claims_look_at_limits(r);
    bool ticks = tick_is_due(r);
    scheduler_go_on(r, ticks);
    if (ticks)
        tick_submit(r);  // the writer adds a claim to it
    else
        claims_go_on(r);
}

static void *dispatcher_main(void *self)
{
    struct runner *r = self;
    pthread_mutex_lock(&r->mutex);
    while (!r->closing) {
        dispatch(r);
        int64_t wait = next_wake(r) - world_monotonic(r->world);
        pthread_mutex_unlock(&r->mutex);
        bool rung = bell_wait(r->bell, wait > 0 ? wait : 0);
        pthread_mutex_lock(&r->mutex);
        r->news += rung;
        r->maybe_more = r->maybe_more || rung;
        if (rung && bell_posted(r->bell))
            r->tick_next = world_monotonic(r->world);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

// ----- for runs

bool runner_enter(struct pawl_run *run)
{
    struct runner *r = run->runner;
    pthread_mutex_lock(&r->mutex);
    bool may = !r->closed && !atomic_load(&run->written_off);
    r->calls += may;
    pthread_mutex_unlock(&r->mutex);
    return may;
}

void runner_leave(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    r->calls--;
    pthread_cond_broadcast(&r->quiet);
    pthread_mutex_unlock(&r->mutex);
}

// A commit that came first has won: neither a request nor the deadline before it ends its phase.
static void forget_stop(struct pawl_run *run)
{
    int cancelled = PAWL_STOP_CANCELLED, late = PAWL_STOP_DEADLINE;
    atomic_compare_exchange_strong(&run->stop, &cancelled, PAWL_GO_ON);
    atomic_compare_exchange_strong(&run->stop, &late, PAWL_GO_ON);
}

bool runner_began(struct pawl_run *run, bool finishing)
{
    struct runner *r = run->runner;
    pthread_mutex_lock(&r->mutex);
    run->finishing = finishing;
    run->overdue = false;
    if (finishing)
        forget_stop(run);
    bool may = pawl_stopped(run) == PAWL_GO_ON && !atomic_load(&run->written_off);
    run->began = may ? world_monotonic(r->world) : 0;
    run->deadline = may ? run->counts_from + run->timeout_us : INT64_MAX;
    r->figures.started += may;
    pthread_mutex_unlock(&r->mutex);
    if (may)
        journal_write(&run->pawl->journal, RUN_STARTED, &run->subject, "%s",
                      finishing ? "its finish begins" : "it begins");
    return may;
}

void run_ring_on_stop(struct pawl_run *run, int eventfd)
{
    pthread_mutex_lock(&run->runner->mutex);
    run->has_stop_bell = eventfd >= 0;
    run->stop_bell = eventfd;
    pthread_mutex_unlock(&run->runner->mutex);
}

static void ring(const struct pawl_run *run)
{
    if (run->has_stop_bell)
        (void)!write(run->stop_bell, &(uint64_t){ 1 }, sizeof(uint64_t));  // full: it rings anyway
}

// The end of a lease overrules a request: nothing more can be written. A job that has committed
// cannot be cancelled any more. With the mutex held, or on the handler's own thread.
void runner_stop_run(struct pawl_run *run, enum pawl_stop why)
{
    int going_on = PAWL_GO_ON;
    if (why == PAWL_STOP_CANCELLED && run->finishing)
        return;
    if (why == PAWL_STOP_LEASE_LOST || why == PAWL_STOP_DEADLINE)
        atomic_store(&run->stop, (int)why);
    else
        atomic_compare_exchange_strong(&run->stop, &going_on, (int)why);
    ring(run);
    pthread_cond_broadcast(&run->runner->quiet);
}

void runner_step_retried(struct pawl_run *run, struct str step, struct str why)
{
    struct runner *r = run->runner;
    pthread_mutex_lock(&r->mutex);
    r->figures.steps_retried++;
    pthread_mutex_unlock(&r->mutex);
    journal_write(&run->pawl->journal, STEP_RETRIED, &run->subject,
                  "step %.*s is tried again: %.*s", STR(step), STR(why));
}

void runner_cancel(struct runner *r, const char *job_id)
{
    pthread_mutex_lock(&r->mutex);
    for (struct pawl_run *run = r->runs; run; run = run->next)
        if (strcmp(run->subject.job_id, job_id) == 0)
            runner_stop_run(run, PAWL_STOP_CANCELLED);
    claims_cancel(r, job_id);
    pthread_mutex_unlock(&r->mutex);
}

static void note_duration(struct runner *r, int64_t took)
{
    r->handler_us += (took - r->handler_us) / 8;  // an average of the last dozen or so
}

bool runner_ending(struct pawl_run *run)
{
    struct runner *r = run->runner;
    pthread_mutex_lock(&r->mutex);
    bool written_off = atomic_load(&run->written_off), replaced = run->replaced;
    bool tell = written_off && !r->closed;
    run->ending = true;
    if (run->began)
        note_duration(r, world_monotonic(r->world) - run->began);
    r->running--;
    r->figures.written_off_now -= written_off;
    pthread_mutex_unlock(&r->mutex);
    if (tell)
        journal_write(&run->pawl->journal, RUN_RETURNED, &run->subject,
                      "its handler came back after it was written off");
    return replaced;
}

static void unlink_run(struct runner *r, struct pawl_run *run)
{
    *(run->previous ? &run->previous->next : &r->runs) = run->next;
    if (run->next)
        run->next->previous = run->previous;
}

static void count_end(struct runner *r, const struct pawl_run *run)
{
    struct pawl_figures *f = &r->figures;
    if (run->end == RUN_END_NOTHING || run->ended_with != PAWL_OK)
        return;
    if (run->end == RUN_END_RELEASE)
        f->released++;
    else if (run->failed)
        f->failed++;
    else
        f->succeeded++;
}

void runner_forget(struct pawl_run *run)
{
    struct runner *r = run->runner;
    r->figures.leases_lost += run->ended_with == PAWL_FENCED;
    count_end(r, run);
    unlink_run(r, run);
    run->next = r->ended;
    r->ended = run;
    if (r->idle > 0)
        pthread_cond_signal(&r->work);
    pthread_cond_broadcast(&r->quiet);
}

// When the store failed the lease is still held: the end is written at a later tick, as long as it
// is, unless the store is for newer programs: it never takes it then. A run that passed its
// deadline is ended by the sweep, and is known here until it was: a lease that nobody knows would
// be given back, and the job tried again.
void runner_ended(struct pawl_run *run)
{
    struct runner *r = run->runner;
    pthread_mutex_lock(&r->mutex);
    bool store_failed = run->end != RUN_END_NOTHING && run->ended_with != PAWL_OK
                     && run->ended_with != PAWL_OUTDATED
                     && !pawl_code(run->ended_with)->refusal;
    run->unwritten = store_failed && !r->closing
                  && world_monotonic(r->world) < run->lease_until;
    run->awaits_verdict = run->end == RUN_END_NOTHING && run->overdue && !run->finishing
                       && !r->closing && !r->outdated;
    if (!run->unwritten && !run->awaits_verdict)
        runner_forget(run);
    pthread_mutex_unlock(&r->mutex);
}

bool runner_pause(struct pawl_run *run, int64_t microseconds)
{
    struct runner *r = run->runner;
    if (!r->has_threads)
        return runner_pause_by_hand(run, microseconds);
    pthread_mutex_lock(&r->mutex);
    int64_t deadline = world_end_of(r->world, microseconds);
    while (pawl_stopped(run) == PAWL_GO_ON && wait_quiet(r, deadline)) {}
    pthread_mutex_unlock(&r->mutex);
    return pawl_stopped(run) == PAWL_GO_ON;
}

// ----- draining and stopping

static bool busy(const struct runner *r)
{
    const struct pawl_run *run = r->runs;
    while (run && atomic_load(&run->written_off))
        run = run->next;
    return run || r->ended || r->burying || claims_pending(r);
}

// With the mutex held: until nothing is under way, or the time has come.
static bool wait_until_quiet(struct runner *r, int64_t deadline)
{
    for (;;) {
        claims_give_back(r);
        workers_bury(r);
        if (!busy(r))
            return true;
        if (!r->has_threads || !wait_quiet(r, deadline))
            return !busy(r);  // without threads nothing comes by waiting
    }
}

bool runner_drain(struct runner *r, int64_t wait_us, struct pawl_error *err)
{
    pthread_mutex_lock(&r->mutex);
    r->mode = RUNNER_DRAINING;
    pthread_cond_broadcast(&r->quiet);
    bool quiet = wait_until_quiet(r, world_end_of(r->world, wait_us));
    size_t running = r->running;
    pthread_mutex_unlock(&r->mutex);
    return quiet
        || fail(err, PAWL_BUSY, "not all has ended in time; handlers that still run: %zu", running);
}

void runner_resume(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    r->mode = RUNNER_WORKING;
    r->maybe_more = true;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->mutex);
}

static struct pawl_run *first_at_work(const struct runner *r)
{
    struct pawl_run *run = r->runs;
    while (run && (run->ending || atomic_load(&run->written_off)))
        run = run->next;
    return run;
}

// Handlers that do not even return when told to: their leases are given back, and whatever they do
// later is refused.
static void abandon_all(struct runner *r)
{
    for (struct pawl_run *run; (run = first_at_work(r));) {
        struct lease lease = run->lease;
        atomic_store(&run->written_off, true);
        run->replaced = true;  // its thread has no work to go back to
        r->figures.written_off++;
        r->figures.written_off_now++;
        r->figures.released++;
        pthread_mutex_unlock(&r->mutex);
        tick_give_back(r, &lease);
        pthread_mutex_lock(&r->mutex);
    }
}

void runner_stop(struct runner *r, int64_t wait_us)
{
    struct pawl_error err;
    if (runner_drain(r, wait_us, &err))
        return;
    pthread_mutex_lock(&r->mutex);
    for (struct pawl_run *run = r->runs; run; run = run->next)
        runner_stop_run(run, PAWL_STOP_SHUTDOWN);
    if (!wait_until_quiet(r, world_end_of(r->world, r->pawl->options.grace_us)))
        abandon_all(r);
    pthread_mutex_unlock(&r->mutex);
}

// ----- opening and closing

static void init(struct runner *r, struct pawl *pawl)
{
    pthread_condattr_t monotonic;
    *r = (struct runner){ .pawl = pawl,
                          .world = pawl->world,
                          .figures = pawl->figures,
                          .maybe_more = true,
                          .handler_us = QUICK_UNKNOWN_US };
    r->figures.written_off_now = 0;  // those of the last runner stay with it
    r->batches_end = &r->batches;
    r->tick.runner = r->scheduler.runner = r;
    r->figures.leads = 0;
    r->tick_next = r->alive_next = r->renew_next = r->scheduler.next = world_monotonic(r->world);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->work, NULL);
    pthread_cond_init(&r->quiet, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool runner_open(struct pawl *pawl, struct pawl_error *err)
{
    struct runner *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, PAWL_NO_MEMORY, "no memory to run jobs");
    init(r, pawl);
    if (!runner_boot(r, err)) {
        runner_free(r);
        return false;
    }
    r->worker = (struct worker){ .worker_id = r->instance.name,
                                 .instance = r->instance.name,
                                 .boot_id = r->instance.boot_id };
    r->mode = RUNNER_WORKING;
    pthread_mutex_lock(&pawl->looking);
    pawl->runner = r;
    pthread_mutex_unlock(&pawl->looking);
    return true;
}

// A runner that only keeps time has no workers.
static bool spawn_workers(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    bool spawned = true;
    while (spawned && r->threads < (size_t)r->pawl->options.workers)
        spawned = worker_spawn(r);
    pthread_mutex_unlock(&r->mutex);
    return spawned;
}

bool runner_start_threads(struct runner *r, struct pawl_error *err)
{
    bool works = registry_handlers(&r->pawl->registry)->count > 0;
    const struct pawl *pawl = r->pawl;
    if (!bell_open_named(&r->bell, str_of(pawl->options.store), pawl->ringer, err))
        return false;
    r->has_threads = true;
    if ((works && !spawn_workers(r))
        || pthread_create(&r->dispatcher, NULL, dispatcher_main, r) != 0)
        return fail(err, PAWL_NO_MEMORY, "no threads to run jobs with");
    r->has_dispatcher = true;
    pipeline_set_more(r->pawl->pipeline, claims_more, r);
    bell_ring(r->bell);
    return sealer_open(&r->sealer, r->pawl, err);
}

bool runner_expect_handlers(struct runner *r, struct pawl_error *err)
{
    return !r->has_threads || spawn_workers(r)
        || fail(err, PAWL_NO_MEMORY, "no threads to run jobs with");
}

void runner_has_handlers(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    r->news++;
    r->maybe_more = true;
    pthread_mutex_unlock(&r->mutex);
    if (r->bell)
        bell_ring(r->bell);
}

// Whether the writer will still call back.
static bool awaited(const struct runner *r)
{
    const struct pawl_run *run = r->runs;
    while (run && (!run->ending || run->unwritten || run->awaits_verdict))
        run = run->next;
    return run || r->ticking || r->scheduler.under_way || r->claiming || r->giving > 0
        || r->calls > 0;
}

static void join_threads(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    r->closing = true;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->mutex);
    if (r->bell)
        bell_ring(r->bell);
    if (r->has_dispatcher)
        pthread_join(r->dispatcher, NULL);
    pthread_mutex_lock(&r->mutex);
    for (;;) {
        claims_give_back(r);  // what a claim brought that took longer than the stop
        if (r->threads <= (size_t)r->figures.written_off_now && !awaited(r))
            break;
        pthread_cond_wait(&r->quiet, &r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
}

void runner_close(struct runner *r)
{
    struct pawl_error err;
    sealer_close(r->sealer);
    pipeline_set_more(r->pawl->pipeline, NULL, NULL);
    join_threads(r);
    // When the store does not take it the instance's liveness runs out by itself.
    (void)!boot_leave(r->pawl->pipeline, &r->instance, &err);
    pthread_mutex_lock(&r->mutex);
    workers_bury(r);
    hold_give(&r->hold);
    r->closed = true;
    bool left_behind = r->threads > 0;
    if (left_behind)
        handle_keep(r->pawl);
    pthread_mutex_unlock(&r->mutex);
    if (!left_behind)
        runner_free(r);
}

void runner_free_last(struct runner *r)
{
    struct pawl *pawl = r->pawl;
    runner_free(r);
    handle_release(pawl);
}

static void free_runs(struct pawl_run *run)
{
    while (run) {
        struct pawl_run *next = run->next;
        arena_end(&run->arena);
        free(run);
        run = next;
    }
}

void runner_free(struct runner *r)
{
    free_runs(r->runs);
    free_runs(r->ended);
    free_runs(r->spare_runs);
    if (r->spare_batch)
        arena_end(&r->spare_batch->arena);
    free(r->spare_batch);
    arena_end(&r->tick.arena);
    arena_end(&r->scheduler.arena);
    hold_give(&r->hold);
    bell_close(r->bell);
    pthread_cond_destroy(&r->quiet);
    pthread_cond_destroy(&r->work);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

// ----- looking

struct pawl_figures runner_figures(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    struct pawl_figures figures = r->figures;
    figures.running = (int64_t)r->running;
    figures.prefetched = (int64_t)r->prefetched;
    pthread_mutex_unlock(&r->mutex);
    return figures;
}

void runner_visit(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    r->calls++;
    pthread_mutex_unlock(&r->mutex);
}

// A tick that begins from now on has seen everything that is due now; after it, nothing may be
// under way and the last claim must have come back short.
bool runner_wait_idle(struct runner *r, struct pawl_error *err)
{
    enum { TROUBLES_MAX = 3 };
    pthread_mutex_lock(&r->mutex);
    uint64_t ticks = r->ticks + 1 + r->ticking, troubles = r->troubles;
    r->tick_next = world_monotonic(r->world);
    pthread_mutex_unlock(&r->mutex);
    bell_ring(r->bell);
    pthread_mutex_lock(&r->mutex);
    while (r->mode == RUNNER_WORKING && r->troubles < troubles + TROUBLES_MAX
           && (r->ticks < ticks || r->maybe_more || busy(r)))
        pthread_cond_wait(&r->quiet, &r->mutex);
    bool working = r->mode == RUNNER_WORKING;
    struct pawl_error trouble = r->trouble;
    bool troubled = r->troubles >= troubles + TROUBLES_MAX;
    r->calls--;
    pthread_cond_broadcast(&r->quiet);
    pthread_mutex_unlock(&r->mutex);
    if (troubled)
        return fail(err, trouble.code, "%s", trouble.message);
    return working || fail(err, PAWL_CONFLICT, "the runner was stopped");
}
