// The runner without threads, for tests in virtual time: the same ticks, claims and runs, one after
// another on the calling thread.
#include "run/runner.h"

static void rounds(struct runner *r)
{
    while (pipeline_round(r->pawl->pipeline) > 0) {}
}

static void tick(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    tick_submit(r);
    pthread_mutex_unlock(&r->mutex);
    rounds(r);
    pthread_mutex_lock(&r->mutex);
    if (r->tick_answered)
        tick_finish(r);
    watch_runs(r);
    r->scheduler.next = world_monotonic(r->world);
    scheduler_go_on(r, false);
    pthread_mutex_unlock(&r->mutex);
    rounds(r);
    pthread_mutex_lock(&r->mutex);
    if (r->scheduler.answered)
        scheduler_finish(r);
    pthread_mutex_unlock(&r->mutex);
}

// Whether a round of the scheduler has left something for the next.
static bool more_slots(const struct runner *r)
{
    return atomic_load(&r->pawl->schedules) && r->scheduler.round.more;
}

static struct pawl_run *claim_one(struct runner *r)
{
    pthread_mutex_lock(&r->mutex);
    r->maybe_more = true;
    r->more_at = 0;
    r->idle = 1;
    claims_go_on(r);
    pthread_mutex_unlock(&r->mutex);
    rounds(r);
    pthread_mutex_lock(&r->mutex);
    r->idle = 0;
    struct pawl_run *run = claims_take(r);
    r->running += run != NULL;
    pthread_mutex_unlock(&r->mutex);
    return run;
}

static bool run_one(struct runner *r)
{
    struct pawl_run *run = claim_one(r);
    if (run)
        (void)!run_perform(run);  // there is no thread that could be replaced
    rounds(r);
    pthread_mutex_lock(&r->mutex);
    workers_bury(r);
    pthread_mutex_unlock(&r->mutex);
    return run != NULL;
}

bool runner_run_until_idle(struct runner *r, struct pawl_error *err)
{
    uint64_t troubles = r->troubles;
    do {
        tick(r);
        if (r->troubles != troubles)
            return fail(err, r->trouble.code, "%s", r->trouble.message);
    } while (run_one(r) || tick_wait(&r->tick) == 0 || more_slots(r));
    return true;
}

int64_t runner_next_event(const struct runner *r, int64_t limit)
{
    const struct tick *t = &r->tick;
    int64_t next = limit, now = world_monotonic(r->world);
    if (t->swept.next > t->now && t->swept.next - t->now < next)
        next = t->swept.next - t->now;
    pawl_time slot = atomic_load(&r->pawl->schedules) ? r->scheduler.round.next : 0;
    if (slot > r->scheduler.now && slot - r->scheduler.now < next)
        next = slot - r->scheduler.now;
    if (r->more_at > now && r->more_at - now < next)
        next = r->more_at - now;
    if (tick_wait(t) == 0)
        next = 0;
    if (r->runs && r->renew_next - now < next)
        next = r->renew_next - now;
    return next > 0 ? next : 1;
}

static void pass(struct runner *r, int64_t limit)
{
    world_pass(&r->pawl->virtual_world, runner_next_event(r, limit));
}

// Time goes by inside a handler: its lease is renewed, and its deadline passes.
bool runner_pause_by_hand(struct pawl_run *run, int64_t microseconds)
{
    struct runner *r = run->runner;
    int64_t end = world_end_of(r->world, microseconds);
    while (pawl_stopped(run) == PAWL_GO_ON && world_monotonic(r->world) < end) {
        pass(r, end - world_monotonic(r->world));
        tick(r);
    }
    return pawl_stopped(run) == PAWL_GO_ON;
}

bool runner_advance(struct runner *r, int64_t microseconds, struct pawl_error *err)
{
    bool inside = r->running > 0;
    int64_t end = world_end_of(r->world, microseconds);
    if (!inside && !runner_run_until_idle(r, err))
        return false;
    for (int64_t left; (left = end - world_monotonic(r->world)) > 0;) {
        pass(r, left);
        if (inside)
            tick(r);
        else if (!runner_run_until_idle(r, err))
            return false;
    }
    return true;
}
