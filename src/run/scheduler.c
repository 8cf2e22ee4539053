// A round: one operation of the pipeline, and what is told of it.
#include "run/scheduler.h"

#include <stdio.h>
#include <string.h>

#include "run/runner.h"

enum { SCHEDULES_MAX = 50 };  // in one transaction: others want to write too

#define RIDES_AFTER_US (TICK_US / 2)  // since the last round: a tick may come more often
#define ROUND_US (TICK_US + RIDES_AFTER_US)

static bool round_write(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct scheduler *s = (struct scheduler *)self;
    const struct runner *r = s->runner;
    s->now = tx->now;
    s->round = (struct scheduling){ .instance = &r->instance,
                                    .wall = world_wall(r->world),
                                    .limit = SCHEDULES_MAX };
    return slots_tick(tx, &s->round, err);
}

static int64_t wait_of(const struct scheduler *s)
{
    int64_t due = s->round.next > s->now ? s->round.next - s->now : ROUND_US;
    if (s->round.more)
        return 0;
    return s->round.leads && due < ROUND_US ? due : ROUND_US;
}

static bool same_leader(const struct scheduler *s)
{
    return str_eq(str_of(s->leader), s->round.leader);
}

static bool something_to_tell(const struct scheduler *s)
{
    size_t skipped = 0;
    for (size_t i = 0; i < SKIP_REASONS; i++)
        skipped += s->round.skips[i];
    return s->round.leads != s->leads || s->round.clock_off != s->clock_off || !same_leader(s)
        || s->round.claimed || skipped || s->round.stale || s->round.refused;
}

static void round_answered(struct operation *self)
{
    struct scheduler *s = (struct scheduler *)self;
    struct runner *r = s->runner;
    pthread_mutex_lock(&r->mutex);
    bool failed = self->error.code != PAWL_OK;
    s->under_way = false;
    s->next = s->at + (failed ? TICK_US : wait_of(s));
    s->answered = failed || something_to_tell(s);
    if (failed)
        note_trouble(r, &self->error);
    bool look = s->answered || s->next < s->at + ROUND_US;
    pthread_cond_broadcast(&r->quiet);
    pthread_mutex_unlock(&r->mutex);
    if (look && r->bell)
        bell_ring(r->bell);
}

int64_t scheduler_next(const struct runner *r)
{
    bool on = atomic_load(&r->pawl->schedules) && r->mode == RUNNER_WORKING
           && !r->scheduler.under_way;
    return on ? r->scheduler.next : INT64_MAX;
}

// The round of every second rides with the tick: one transaction, one flush, one wake-up.
static bool round_is_due(const struct runner *r, int64_t now, bool tick_follows)
{
    int64_t next = scheduler_next(r);
    bool takes_along = tick_follows && now - r->scheduler.at >= RIDES_AFTER_US;
    return next <= now || (takes_along && next != INT64_MAX);
}

void scheduler_go_on(struct runner *r, bool tick_follows)
{
    struct scheduler *s = &r->scheduler;
    struct pawl_error err;
    int64_t now = world_monotonic(r->world);
    if (s->answered || !round_is_due(r, now, tick_follows))
        return;
    arena_reset(&s->arena);
    s->arena.failed = false;
    s->at = now;
    s->next = now + ROUND_US;
    s->under_way = true;
    s->operation = (struct operation){ .run = round_write,
                                       .answered = round_answered,
                                       .arena = &s->arena,
                                       .always = true,
                                       .rides = tick_follows };
    pthread_mutex_unlock(&r->mutex);
    bool submitted = pipeline_submit(r->pawl->pipeline, &s->operation, &err);
    pthread_mutex_lock(&r->mutex);
    if (submitted)
        return;
    s->under_way = false;
    note_trouble(r, &err);
}

void scheduler_wake(struct pawl *pawl)
{
    pthread_mutex_lock(&pawl->looking);
    if (pawl->runner && pawl->runner->bell) {
        pthread_mutex_lock(&pawl->runner->mutex);
        pawl->runner->scheduler.next = world_monotonic(pawl->world);
        pthread_mutex_unlock(&pawl->runner->mutex);
        bell_ring(pawl->runner->bell);
    }
    pthread_mutex_unlock(&pawl->looking);
}

// ----- what is told

static void tell_lead(struct runner *r, const struct scheduling *round, bool led, bool was_off)
{
    struct journal *journal = &r->pawl->journal;
    if (round->clock_off && !was_off)
        journal_write(journal, SCHEDULER_CLOCK_OFF, NULL,
                      "the clock of this machine is more than 60 s off the store's: it does not "
                      "lead until it is right");
    else if (round->leads && !led)
        journal_write(journal, SCHEDULER_LEADS, NULL, "%.*s leads the scheduler, term %lld",
                      STR(r->instance.name), (long long)round->term);
    else if (!round->leads && round->leader.n)
        journal_write(journal, SCHEDULER_STANDS_BY, NULL, "%.*s leads the scheduler",
                      STR(round->leader));
    else if (!round->leads && led)
        journal_write(journal, SCHEDULER_STANDS_BY, NULL, "there is nothing to schedule");
}

static const char *slots_were(size_t n)
{
    return n == 1 ? "slot was" : "slots were";
}

static void tell_slots(struct runner *r, const struct scheduling *round)
{
    struct journal *journal = &r->pawl->journal;
    if (round->claimed)
        journal_write(journal, SLOTS_CLAIMED, NULL, "%zu %s claimed", round->claimed,
                      slots_were(round->claimed));
    for (size_t i = 0; i < SKIP_REASONS; i++)
        if (round->skips[i])
            journal_write(journal, SLOTS_SKIPPED, NULL, "%zu %s skipped: %s", round->skips[i],
                          slots_were(round->skips[i]), skip_reason_name((enum skip_reason)i));
    if (round->stale)
        journal_write(journal, SLOTS_STALE, NULL, "%zu %s stale", round->stale,
                      slots_were(round->stale));
    if (round->refused)
        journal_write(journal, SLOT_REFUSED, NULL, "%s: tried again in a moment",
                      round->why.message);
}

static void count(struct pawl_figures *f, const struct scheduling *round)
{
    f->slots_claimed += (int64_t)round->claimed;
    f->slots_misfired += (int64_t)round->skips[SKIP_MISFIRE];
    f->slots_coalesced += (int64_t)round->skips[SKIP_COALESCED];
    f->slots_at_max_instances += (int64_t)round->skips[SKIP_MAX_INSTANCES];
    f->slots_paused += (int64_t)round->skips[SKIP_PAUSED];
    f->slots_over_catch_up += (int64_t)round->skips[SKIP_CATCH_UP_LIMIT];
    f->slots_stale += (int64_t)round->stale;
    f->leads = round->leads;
}

void scheduler_finish(struct runner *r)
{
    struct scheduler *s = &r->scheduler;
    const struct scheduling *round = &s->round;
    bool lead_changed = round->leads != s->leads || round->clock_off != s->clock_off
                     || !same_leader(s);
    bool led = s->leads, was_off = s->clock_off;
    bool failed = s->operation.error.code != PAWL_OK;
    if (!failed) {
        count(&r->figures, round);
        s->leads = round->leads;
        s->clock_off = round->clock_off;
        snprintf(s->leader, sizeof s->leader, "%.*s", STR(round->leader));
        pthread_mutex_unlock(&r->mutex);
        if (lead_changed)
            tell_lead(r, round, led, was_off);
        tell_slots(r, round);
        pthread_mutex_lock(&r->mutex);
    }
    s->answered = false;
}
