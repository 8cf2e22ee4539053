// One transaction at a time, and what its death or its doubt means.
//
// While a transaction is under way there are two models: as it was before, and as it will be. A
// death in the middle of a commit leaves both possible, and the store, opened again, says which one
// it is, for good: what was answered must be there, and what is there must be one of the two.
#include "process.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "doubt.h"
#include "inspect.h"

const struct caller sim_everybody = {
    .actor_type = ACTOR_SYSTEM,
    .actor_id = { "sim", 3 },
    .request_id = { "r", 1 },
    .correlation_id = { "c", 1 },
};

static void start(struct sim *sim, void *self, struct request *request);
static void run_inbox(struct sim *sim, void *self, struct request *request);

bool process_excused(const struct sim *sim)
{
    for (int i = 0; i < PROCESSES; i++)
        if (machine.dead[i])
            return true;
    return machine.refused > sim->refused;
}

static void say(struct sim *sim, const struct process *p, const char *what)
{
    journal_add(&sim->journal, sim_now(sim), "process %d: %s", p->index, what);
}

// ----- its death

static void close_store(struct process *p)
{
    machine_serve(p->index);
    db_close(p->db);
    p->db = NULL;
    p->up = false;
}

static void forget_inbox(struct process *p)
{
    for (size_t i = 0; i < p->inbox_count; i++)
        free(p->inbox[i]);
    p->inbox_count = 0;
}

// It is gone: its memory, what waited at its door, and whoever lived in it.
static void lose(struct sim *sim, struct process *p)
{
    int64_t pause = dice_between(&sim->network, MILLISECONDS(1), SECONDS(sim->calm ? 1 : 8));
    say(sim, p, "died");
    sim->deaths++;
    close_store(p);
    forget_inbox(p);
    for (size_t i = 0; i < sim->actor_count; i++)
        if (sim->actors[i]->died)
            sim->actors[i]->died(sim, sim->actors[i], p->index);
    sim_later(sim, pause, start, p, NULL);
}

// Loses whatever has died and lets the disk say what is left of its last moments.
static void bury(struct sim *sim)
{
    for (int i = 0; i < PROCESSES; i++)
        if (machine.dead[i] && sim->processes[i].db)
            lose(sim, &sim->processes[i]);
    machine_bury();
}

// ----- a transaction

static void run_one(struct sim *sim, struct tx *tx, struct request *request)
{
    struct match *m = &sim->match;
    struct caller caller = sim_everybody;
    caller.org_id = request->org;
    tx->caller = &caller;
    m->model.org = request->org;
    m->model.now = tx->now;
    m->focus = SIZE_MAX;
    m->code = PAWL_OK;
    size_t callbacks = ref_callbacks_due(&m->model);
    sim->steps++;
    request->call->run(sim, request);
    if (ref_callbacks_due(&m->model) < callbacks)
        SIM_SEEN("the last job of a batch made its callback");
    request->code = m->code;
    journal_add(&sim->journal, sim_now(sim), "%s %s%s%.*s%s: %s (job %zd)%s",
                request->from ? request->from->name : "pawl", request->call->name,
                request->text.n ? " " : "", STR(request->text),
                request->org.n == 0 ? "" : str_eq(request->org, sim_orgs[0]) ? " for A"
                                                                             : " for B",
                pawl_code(m->code)->word, (ssize_t)m->focus,
                m->broken ? ", but the store failed" : "");
    tx->caller = &sim_everybody;
    if (!m->broken && !m->unlike)
        adopt_callbacks(m);
    if (!m->broken && !m->unlike)
        compare(m, false);
}

static bool run_all(struct sim *sim, struct tx *tx, struct request **requests, size_t count)
{
    for (size_t i = 0; i < count && !sim->match.broken && !sim->match.unlike; i++)
        run_one(sim, tx, requests[i]);
    return !sim->match.broken && !sim->match.unlike;
}

enum ended { DONE,
             NOTHING,   // it did not happen
             IN_DOUBT };

static enum ended transact(struct sim *sim, struct process *p, struct request **requests,
                           size_t count)
{
    struct match *m = &sim->match;
    struct tx tx = {0};
    int64_t syncs = machine.syncs;
    machine_serve(p->index);
    sim->refused = machine.refused;
    match_copy(sim->before, m);
    m->tx = &tx;
    m->version++;
    m->store_may_fail = true;
    enum ended ended = NOTHING;
    if (tx_begin(p->db, TX_WRITE, &p->scratch, &tx, &m->err)
        && run_all(sim, &tx, requests, count)) {
        if (planted_now == PLANTED_ANSWER_BEFORE_COMMIT)
            sim->acknowledged = m->version;
        bool committed = tx_commit(&tx, &m->err);
        ended = committed ? DONE : NOTHING;
        if (!committed && m->err.code == PAWL_IN_DOUBT)
            ended = IN_DOUBT;
        if (!committed && machine.dead[p->index])
            ended = IN_DOUBT;
    }
    tx_end(&tx);
    arena_reset(&p->scratch);
    if (ended != DONE && !m->unlike && !process_excused(sim))
        differ(m, "the store failed though the disk did not: %s", m->err.message);
    if (ended == NOTHING && !m->unlike)
        match_copy(m, sim->before);
    if (ended == DONE && machine.syncs > syncs)
        sim->ghost_possible = false;
    return ended;
}

static void answer_all(struct sim *sim, struct request **requests, size_t count, bool done)
{
    for (size_t i = 0; i < count; i++) {
        requests[i]->unavailable = !done;
        if (done)
            sim->acknowledged = sim->match.version;
        request_answer(sim, requests[i]);
    }
}

static void drop_all(struct request **requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(requests[i]);
}

static bool open_store(struct sim *sim, struct process *p)
{
    struct pawl_error err = {0};
    struct db_options options = {
        .url = sim->url,
        .world = &sim->world.world,
        .fleeting = planted_now == PLANTED_NO_SYNC,
        .generation_keys = 24,
    };
    machine_serve(p->index);
    sim->refused = machine.refused;
    bool opened = db_open(&p->db, &options, &err)
               && (!sim->harden || db_harden(p->db, &err));
    if (!opened && !process_excused(sim))
        differ(&sim->match, "the store cannot be opened: %s", err.message);
    if (!opened)
        close_store(p);
    else
        sim->harden = false;
    return opened;
}

// Of the processes that are left one looks; if there is none, the next that starts.
static void bury_and_look(struct sim *sim)
{
    bury(sim);
    for (int i = 0; i < PROCESSES; i++)
        if (sim->processes[i].up) {
            SIM_SEEN("a process died while another went on");
            sim->refused = machine.refused;
            doubt_resolve_elsewhere(sim, &sim->processes[i]);
            return;
        }
}

// Trouble comes in company: what was just found out about a commit is put to the test at once.
static void light_another_fuse(struct sim *sim)
{
    if (sim->calm || !dice_rare(&sim->company, sim->swarm.rate[RATE_POWER_LOSS] * 20))
        return;
    machine.fuse[FAULT_POWER_LOSS] = dice_between(&sim->company, 1, 3);
    journal_add(&sim->journal, sim_now(sim), "soon: power loss");
    SIM_SEEN("the power was to go right after a commit in doubt");
}

// Whoever has a commit in doubt opens the store again and looks, before it answers anybody.
static void after_doubt(struct sim *sim, struct process *p, struct request **requests,
                        size_t count)
{
    SIM_SEEN("the outcome of a commit was unknown");
    uint64_t version = sim->match.version;
    sim->doubt = sim->harden = true;
    close_store(p);
    if (open_store(sim, p) && doubt_resolve(sim, p)) {
        p->up = true;
        answer_all(sim, requests, count, sim->match.version == version);
        light_another_fuse(sim);
        return;
    }
    drop_all(requests, count);
    if (sim->match.unlike)
        return;
    lose(sim, p);
    bury_and_look(sim);
}

static void after_death(struct sim *sim, bool doubt, struct request **requests, size_t count)
{
    drop_all(requests, count);
    sim->doubt = doubt;
    bury_and_look(sim);
}

static void serve(struct sim *sim, struct process *p, struct request **requests, size_t count)
{
    enum ended ended = transact(sim, p, requests, count);
    if (sim->match.unlike) {
        drop_all(requests, count);
        return;
    }
    if (machine.dead[p->index])
        after_death(sim, ended == IN_DOUBT, requests, count);
    else if (ended == IN_DOUBT)
        after_doubt(sim, p, requests, count);
    else
        answer_all(sim, requests, count, ended == DONE);
}

// ----- its life

static void boot(struct sim *sim, struct process *p)
{
    struct request *request = calloc(1, sizeof *request);
    assert(request);
    request->call = &call_boot;
    request->process = p->index;
    serve(sim, p, &request, 1);
}

static void start(struct sim *sim, void *self, struct request *request)
{
    struct process *p = self;
    (void)request;
    if (p->up || sim->match.unlike)
        return;
    snprintf(p->boot, sizeof p->boot, "boot-%zu", ++sim->boots);
    p->instance.boot_id = str_dup(&sim->arena, str_of(p->boot));
    if (!open_store(sim, p) || (sim->deaths > 0 && !doubt_resolve(sim, p))) {
        if (sim->deaths > 0 && machine.dead[p->index])
            SIM_SEEN("a process died while it recovered from a death");
        if (!sim->match.unlike) {
            lose(sim, p);
            bury(sim);
        }
        return;
    }
    p->up = true;
    say(sim, p, "started");
    if (sim->deaths > 0 && dice_chance(&sim->network, 30))
        inspect(sim, p);
    boot(sim, p);
}

static void run_inbox(struct sim *sim, void *self, struct request *request)
{
    struct process *p = self;
    struct request *taken[INBOX_MAX];
    size_t count = p->inbox_count < sim->swarm.group ? p->inbox_count : sim->swarm.group;
    (void)request;
    if (!p->up || count == 0)
        return;
    p->inbox_count -= count;
    for (size_t i = 0; i < count; i++)
        taken[i] = p->inbox[i];
    for (size_t i = 0; i < p->inbox_count; i++)
        p->inbox[i] = p->inbox[i + count];
    if (p->inbox_count > 0)
        sim_later(sim, 1, run_inbox, p, NULL);
    serve(sim, p, taken, count);
}

void process_take(struct sim *sim, struct request *request)
{
    struct process *p = &sim->processes[request->process];
    if (!p->up || p->inbox_count == INBOX_MAX) {
        free(request);
        return;
    }
    p->inbox[p->inbox_count++] = request;
    if (p->inbox_count == 1)
        sim_later(sim, sim->swarm.group > 1 ? sim->swarm.latency_us / 4 : 0, run_inbox, p, NULL);
}

void processes_start(struct sim *sim)
{
    static const char *const names[PROCESSES] = { "one", "two" };
    for (int i = 0; i < PROCESSES; i++) {
        struct process *p = &sim->processes[i];
        struct arena scratch = p->scratch;
        *p = (struct process){ .index = i, .scratch = scratch };
        p->instance.name = str_of(names[i]);
        p->wanted = i == 0 || sim->swarm.rate[RATE_SECOND_PROCESS] > 0;
        if (p->wanted)
            start(sim, p, NULL);
    }
}

void processes_stop(struct sim *sim)
{
    for (int i = 0; i < PROCESSES; i++) {
        forget_inbox(&sim->processes[i]);
        close_store(&sim->processes[i]);
    }
}
