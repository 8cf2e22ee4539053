// Which instance the process is, and its boot.
//
// A process that holds its name (hold.h) knows that whoever had it before is dead. Where there is
// no hold to be had the row of the instance must say so: a process that was given a name waits for
// the row of a dead one to run out, and one that was not takes the next number instead.
#include <errno.h>
#include <unistd.h>

#include "run/boot.h"
#include "run/runner.h"

#define LOOK_US MILLISECONDS(500)
#define DYING_US SECONDS(2)  // a killed process, or a child it was about to start, may have it yet
#define DYING_LOOK_US MILLISECONDS(20)

static struct str default_instance(struct arena *arena)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    return str_format(arena, "%s:%s", host, program_invocation_short_name);
}

static bool take_given_name(struct runner *r, struct str url, struct pawl_error *err)
{
    int64_t end = world_monotonic(r->world) + DYING_US;
    r->instance.name = str_of(r->pawl->options.instance);
    while (!hold_take(&r->hold, url, r->instance.name, err)) {
        if (err->code != PAWL_CONFLICT || world_monotonic(r->world) >= end)
            return false;
        world_sleep(r->world, DYING_LOOK_US);
    }
    return true;
}

static bool take_name(struct runner *r, struct pawl_error *err)
{
    struct pawl *pawl = r->pawl;
    struct str url = str_of(pawl->options.store);
    r->instance.boot_id = boot_id_new(r->world, &pawl->arena);
    if (!pawl->options.instance)
        return hold_take_any(&r->hold, url, default_instance(&pawl->arena), &r->instance.name,
                             &pawl->arena, err);
    return take_given_name(r, url, err);
}

// One that lives says so again before its time is over.
static bool boot_when_dead(struct runner *r, struct recovered *recovered, struct pawl_error *err)
{
    int64_t end = world_monotonic(r->world) + ALIVE_US + LOOK_US;
    while (!boot_enter(r->pawl->pipeline, &r->instance, r->hold.taken, recovered, err)) {
        if (err->code != PAWL_CONFLICT || world_monotonic(r->world) >= end)
            return false;
        world_sleep(r->world, LOOK_US);
    }
    return true;
}

static bool boot_as_any(struct runner *r, struct recovered *recovered, struct pawl_error *err)
{
    struct str stem = r->instance.name;
    for (int number = 1; number <= HOLD_NUMBER_MAX; number++) {
        r->instance.name = hold_name(&r->pawl->arena, stem, number);
        if (boot_enter(r->pawl->pipeline, &r->instance, r->hold.taken, recovered, err))
            return true;
        if (err->code != PAWL_CONFLICT)
            return false;
    }
    return false;
}

static bool boot(struct runner *r, struct recovered *recovered, struct pawl_error *err)
{
    if (r->hold.none && !r->pawl->options.instance)
        return boot_as_any(r, recovered, err);
    return boot_when_dead(r, recovered, err);
}

static void tell(struct runner *r, const struct recovered *recovered)
{
    size_t runs = recovered->ended + recovered->finished;
    r->figures.recovered += (int64_t)runs;
    if (runs > 0)
        journal_write(&r->pawl->journal, RUNS_RECOVERED, NULL,
                      "%zu runs of an earlier process of %.*s: %zu had not committed and were "
                      "ended by their policies, %zu had and are finished",
                      runs, STR(r->instance.name), recovered->ended, recovered->finished);
    r->figures.slots_recovered += (int64_t)recovered->slots;
    if (recovered->slots > 0)
        journal_write(&r->pawl->journal, SLOTS_RECOVERED, NULL,
                      "%zu slots that an earlier process of %.*s had claimed are closed as failed",
                      recovered->slots, STR(r->instance.name));
}

bool runner_boot(struct runner *r, struct pawl_error *err)
{
    struct recovered recovered;
    struct pawl_error unseen;
    struct pawl_error *why = err ? err : &unseen;
    if (!take_name(r, why) || !boot(r, &recovered, why))
        return false;
    tell(r, &recovered);
    return true;
}
