// A fault that is switched off leaves the dice of the others as they were, so much of a run stays.
#include "shrink.h"

static bool fails(struct sim *sim, const struct sim_options *options)
{
    return !sim_run(sim, options);
}

// The calm may begin any number of calls before the failure, as long as it still comes.
static void cut(struct sim *sim, struct sim_options *options)
{
    struct sim_options shorter = *options;
    size_t enough = sim->steps < options->steps ? sim->steps : options->steps;
    size_t too_few = 0;
    while (enough - too_few > 1) {
        shorter.steps = too_few + (enough - too_few) / 2;
        if (fails(sim, &shorter))
            enough = shorter.steps;
        else
            too_few = shorter.steps;
    }
    options->steps = enough;
}

void shrink(struct sim *sim, struct sim_options *options)
{
    options->trace = false;
    cut(sim, options);
    for (enum fault_rate rate = 0; rate < RATES; rate++) {
        struct sim_options fewer = *options;
        fewer.without |= (uint64_t)1 << rate;
        if (fails(sim, &fewer))
            *options = fewer;
    }
    cut(sim, options);
    fails(sim, options);
}
