// What time and a new boot do, on the store and on the model.
#include "sim.h"

#include "request.h"

static void compare_swept(struct match *m, const struct swept *swept, const struct swept *expected)
{
    const struct {
        const char *what;
        size_t actual, expected;
    } numbers[] = {
        { "expired", swept->expired, expected->expired },
        { "timed out", swept->timed_out, expected->timed_out },
        { "finished", swept->finished, expected->finished },
        { "due", swept->due, expected->due },
        { "gave up", swept->gave_up, expected->gave_up },
        { "more", swept->more, expected->more },
    };
    for (size_t i = 0; i < countof(numbers); i++)
        if (numbers[i].actual != numbers[i].expected)
            differ(m, "sweep: %s: %zu, not %zu", numbers[i].what, numbers[i].actual,
                   numbers[i].expected);
}

static void sweep_(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct swept swept = {0};
    bool done = sweep(m->tx, r->limit, &swept, &m->err);
    struct swept expected = ref_sweep(&m->model, r->limit);
    // There is more to do than the model knows of: keys that are over, ends that are to be told.
    expected.more = expected.more || swept.more;
    answer(m, "sweep", done, PAWL_OK);
    if (!done || m->unlike)
        return;
    compare_swept(m, &swept, &expected);
    if (swept.expired)
        SIM_SEEN("a lease expired");
    if (swept.timed_out)
        SIM_SEEN("a run took too long");
    if (swept.finished)
        SIM_SEEN("the sweep finished what was committed");
    if (swept.gave_up)
        SIM_SEEN("a job waited longer than it may");
    m->tx->caller = &sim_everybody;
    adopt_finish(m);
}
const struct call call_sweep = { "sweep", sweep_ };

static void boot(struct sim *sim, struct request *r)
{
    struct match *m = &sim->match;
    struct instance *instance = &sim->processes[r->process].instance;
    struct recovered recovered = {0}, expected;
    bool done = instance_enter(m->tx, instance, true, &m->err)
             && boot_recover(m->tx, instance, 1000, &recovered, &m->err);
    expected = ref_recover(&m->model, instance, 1000);
    answer(m, "boot", done, PAWL_OK);
    if (!done || m->unlike)
        return;
    if (recovered.ended != expected.ended || recovered.finished != expected.finished)
        differ(m, "boot: %zu ended and %zu finished, not %zu and %zu", recovered.ended,
               recovered.finished, expected.ended, expected.finished);
    if (recovered.ended)
        SIM_SEEN("a boot ended runs of the one before");
    if (recovered.finished)
        SIM_SEEN("a boot finished what the one before had committed");
    m->tx->caller = &sim_everybody;
    adopt_finish(m);
}
const struct call call_boot = { "boot", boot };
