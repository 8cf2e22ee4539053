// Each model that is possible is held beside the whole store.
#include "doubt.h"

#include <stdio.h>
#include <string.h>

#include "sim.h"

static void compare_whole(struct sim *sim, struct process *p)
{
    struct match *m = &sim->match;
    struct tx tx = {0};
    machine_serve(p->index);
    m->tx = &tx;
    m->unlike = false;
    m->broken = !tx_begin(p->db, TX_READ, &p->scratch, &tx, &m->err);
    tx.caller = &sim_everybody;
    if (!m->broken)
        compare(m, true);
    if (!m->broken && !m->unlike)
        compare_rest(m, sim_queues, QUEUES, sim_orgs, ORGS);
    tx_end(&tx);
    arena_reset(&p->scratch);
    if (m->broken && !process_excused(sim))
        differ(m, "the store cannot be read: %s", m->err.message);
}

static void settle(struct sim *sim, struct process *p, const char *what)
{
    sim->doubt = false;
    journal_add(&sim->journal, sim_now(sim), "process %d: %s", p->index, what);
    if (sim->match.version < sim->acknowledged)
        differ(&sim->match, "what was answered is not in the store");
}

// Each makes the one before it impossible, or was impossible before.
static void mark(const struct sim *sim, const struct match *chosen)
{
    if (chosen == sim->ghost)
        SIM_SEEN("a commit of a dead process came to light later");
    else if (!sim->doubt)
        SIM_SEEN("everything was there after a death");
    else if (chosen == sim->after)
        SIM_SEEN("a commit in doubt had happened");
    else
        SIM_SEEN("a commit in doubt had not happened");
}

bool doubt_resolve(struct sim *sim, struct process *p)
{
    const struct match *candidates[3];
    size_t count = 0;
    char problem[sizeof sim->match.problem] = "";
    match_copy(sim->after, &sim->match);
    candidates[count++] = sim->after;
    if (sim->doubt)
        candidates[count++] = sim->before;
    if (sim->ghost_possible)
        candidates[count++] = sim->ghost;
    for (size_t i = 0; i < count; i++) {
        match_copy(&sim->match, candidates[i]);
        compare_whole(sim, p);
        if (sim->match.broken) {
            match_copy(&sim->match, sim->after);
            return false;
        }
        if (!sim->match.unlike) {
            mark(sim, candidates[i]);
            if (candidates[i] == sim->ghost)  // nothing was written since, or it could not be
                sim->match.version = sim->acknowledged;
            // As long as nothing was written over it and synced, it may still be in the log.
            if (candidates[i] == sim->ghost || (sim->doubt && candidates[i] == sim->after))
                sim->ghost_possible = false;
            bool expected = candidates[i] == sim->after;
            settle(sim, p, expected ? "the store is as expected" : "the store is as before");
            return !sim->match.unlike;
        }
        size_t n = strlen(problem);
        snprintf(problem + n, sizeof problem - n, "%s%.300s", n ? "; or: " : "after a death: ",
                 sim->match.problem);
    }
    sim->match.unlike = false;
    differ(&sim->match, "%s", problem);
    return false;
}

void doubt_resolve_elsewhere(struct sim *sim, struct process *p)
{
    bool doubt = sim->doubt;
    uint64_t version = sim->match.version;
    if (doubt)
        match_copy(sim->ghost, &sim->match);
    bool looked = doubt_resolve(sim, p);
    if (doubt && looked)
        sim->ghost_possible = sim->match.version < version;
}
