// Schedules of a program: defined, removed and triggered through the pipeline like everything else.
#include <string.h>

#include "engine/slot.h"
#include "run/loan.h"
#include "run/request.h"
#include "run/runner.h"

static struct str given(const char *text)
{
    return str_of(text);
}

// Every problem that the store would not see is named here; the store names the rest.
static bool read_schedule(struct pawl *pawl, const struct pawl_schedule *from, struct schedule *s,
                          struct pawl_error *err)
{
    struct str policy = given(from->policy);
    *s = (struct schedule){
        .name = given(from->name),
        .job_type = given(from->job_type),
        .payload = given(from->payload),
        .cron = given(from->cron),
        .every_us = from->every_us,
        .timezone = given(from->timezone),
        .coalesce_said = from->coalesce == PAWL_YES || from->coalesce == PAWL_NO,
        .coalesce = from->coalesce == PAWL_YES,
        .misfire_grace_us = from->misfire_grace_us,
        .max_instances = from->max_instances,
        .expected_us = from->expected_max_runtime_us,
        .catch_up = from->catch_up,
        .jitter_us = from->jitter_us,
        .project_id = given(from->project_id),
    };
    if (policy.n == 0)
        return true;
    const struct policy *found = registry_policy(&pawl->registry, policy, S(""));
    if (!found)
        return fail(err, PAWL_INVALID, "policy: there is none of the name %.*s", STR(policy));
    s->policy = *found;
    return true;
}

struct scheduling_call {
    struct operation operation;
    const struct schedule *schedule;
    struct str name;
    bool paused;
    pawl_time slot;
    struct pawl_ticket *ticket;
};

static bool put(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct scheduling_call *call = (struct scheduling_call *)self;
    enum schedule_put what;
    return schedule_put(tx, call->schedule, SCHEDULE_FROM_PROGRAM, &what, err)
        && (!call->paused || what != SCHEDULE_MADE
            || schedule_pause(tx, call->schedule->name, err));
}

static bool take_away(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct scheduling_call *call = (struct scheduling_call *)self;
    return schedule_remove(tx, call->name, SCHEDULE_FROM_PROGRAM, err);
}

static bool pause(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct scheduling_call *call = (struct scheduling_call *)self;
    return (call->paused ? schedule_pause : schedule_resume)(tx, call->name, err);
}

static bool trigger(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct scheduling_call *call = (struct scheduling_call *)self;
    struct job job;
    if (!slot_trigger(tx, call->name, call->slot, &job, err))
        return false;
    if (call->ticket) {
        call->ticket->deduplicated = false;
        id_format(job.id, call->ticket->job_id);
    }
    return true;
}

static bool perform(struct pawl *pawl, struct scheduling_call *call,
                    bool (*run)(struct tx *tx, struct operation *self, struct pawl_error *err),
                    struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    call->operation = (struct operation){ .run = run, .arena = &arena, .caller = &pawl->caller };
    return loan_none_here(pawl, err) && pipeline_do(pawl->pipeline, &call->operation, err);
}

// A program that has schedules keeps them: its runner takes part in scheduling.
static void take_part(struct pawl *pawl)
{
    atomic_store(&pawl->schedules, true);
    runner_wake(pawl);
}

bool pawl_schedule(struct pawl *pawl, const struct pawl_schedule *schedule, struct pawl_error *err)
{
    struct schedule s;
    if (!handle_usable(pawl, err))
        return false;
    if (!schedule)
        return fail(err, PAWL_USAGE, "there is no schedule: it is NULL");
    if (!read_schedule(pawl, schedule, &s, err))
        return false;
    struct scheduling_call call = { .schedule = &s, .paused = schedule->paused };
    if (!perform(pawl, &call, put, err))
        return false;
    take_part(pawl);
    return true;
}

bool pawl_schedule_remove(struct pawl *pawl, const char *name, struct pawl_error *err)
{
    struct scheduling_call call = { .name = given(name) };
    return handle_usable(pawl, err) && perform(pawl, &call, take_away, err);
}

bool pawl_schedule_pause(struct pawl *pawl, const char *name, bool paused, struct pawl_error *err)
{
    struct scheduling_call call = { .name = given(name), .paused = paused };
    return handle_usable(pawl, err) && perform(pawl, &call, pause, err);
}

bool pawl_trigger(struct pawl *pawl, const char *name, pawl_time slot, struct pawl_ticket *ticket,
                  struct pawl_error *err)
{
    struct scheduling_call call = { .name = given(name), .slot = slot, .ticket = ticket };
    return handle_usable(pawl, err) && perform(pawl, &call, trigger, err);
}
