// sim: runs seeds, and says what a failing one did.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

int main(int argc, char **argv)
{
    struct sim *sim = calloc(1, sizeof *sim);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
    size_t steps = 0;
    sim_prepare();
    for (uint64_t seed = first; seed <= last; seed++) {
        struct sim_options options = { .seed = seed, .steps = 1000, .trace = argc > 3 };
        if (!sim_run(sim, &options)) {
            journal_print(&sim->journal);
            printf("seed %llu: %s\n", (unsigned long long)seed, sim->match.problem);
            return 1;
        }
        steps += sim->steps;
    }
    printf("%zu steps, %zu marks missing\n", steps, marks_missing(true));
    sim_end(sim);
    free(sim);
    return 0;
}
