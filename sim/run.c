// A run: the loop over events, the change from trouble to calm, and what must be true at the end.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor.h"
#include "doubt.h"
#include "engine/api_key.h"
#include "engine/schedule.h"
#include "inspect.h"

enum { CHECK_EVERY = 400,       // calls between two checks of every invariant
       EXECUTIONS_ENOUGH = 640,  // then the calm begins
       START_S = 1800000000 };
#define CALM_US_MAX DAYS(40)  // of virtual time, for every job to end ...
#define CALM_STEPS_MAX 50000  // ... in so many calls

const struct str sim_orgs[ORGS] = { { "00000000-0000-7000-8000-000000000000", 36 },
                                    { "00000000-0000-7000-8000-00000000000b", 36 } };
const struct str sim_queues[QUEUES] = { { "q:critical", 10 }, { "q:default", 9 }, { "q:own", 5 } };

static char directory[64], path[96];

const char *sim_store(void)
{
    return path;
}

pawl_time sim_now(const struct sim *sim)
{
    return sim->world.monotonic;
}

void sim_later(struct sim *sim, int64_t us, sim_act *act, void *self, struct request *request)
{
    heap_add(&sim->heap, &(struct event_due){ .at = sim_now(sim) + us,
                                              .act = act,
                                              .self = self,
                                              .request = request });
}

// ----- the store that every run begins with

static void remove_directory(void)
{
    char lock[128];
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
    rmdir(directory);
}

static void make_directory(void)
{
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(directory, sizeof directory, "%s/pawl-sim-XXXXXX", memory);
    bool made = mkdtemp(directory) != NULL;
    assert(made);
    snprintf(path, sizeof path, "%s/pawl.db", directory);
    atexit(remove_directory);
}

static bool put_schedule(struct tx *tx, struct pawl_error *err)
{
    enum schedule_put what;
    struct caller caller = sim_everybody;
    struct schedule schedule = {
        .name = SIM_SCHEDULE,
        .job_type = S("report"),
        .payload = S("{}"),
        .every_us = SIM_SLOT_US,
        .coalesce_said = true,
        .coalesce = true,
        .misfire_grace_us = DAYS(30),
        .max_instances = 1000,
        .expected_us = DAYS(15),
        .policy = schedule_policy(policy_builtin(S("default")), DAYS(15)),
    };
    caller.org_id = sim_orgs[0];
    tx->caller = &caller;
    bool put = schedule_put(tx, &schedule, SCHEDULE_FROM_API, &what, err);
    tx->caller = NULL;
    return put;
}

static bool fill(struct db *db, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(db, TX_WRITE, &arena, &tx, err))
        return false;
    for (size_t i = 0; i < ORGS; i++) {
        int64_t org = 0;
        if (!org_intern(&tx, sim_orgs[i], &org, err))
            return false;
    }
    return put_schedule(&tx, err)
        && tx_execute(&tx, "CREATE TABLE effects (job INTEGER NOT NULL)", err)
        && tx_commit(&tx, err);
}

void sim_prepare(void)
{
    struct virtual_world world;
    struct db *db = NULL;
    struct pawl_error err = {0};
    char url[128];
    make_directory();
    machine_install();
    virtual_world_init(&world, SECONDS(START_S) - DAYS(1), 1);
    snprintf(url, sizeof url, "sqlite:%s", path);
    bool made = db_open(&db, &(struct db_options){ .url = str_of(url), .world = &world.world },
                        &err)
             && fill(db, &err);
    if (!made)
        fprintf(stderr, "sim: no store: %s\n", err.message);
    assert(made);
    db_close(db);
    machine_keep();
}

// ----- one run

static struct match *new_match(void)
{
    struct match *match = calloc(1, sizeof *match);
    assert(match);
    return match;
}

static void begin(struct sim *sim, const struct sim_options *options)
{
    struct arena kept = sim->arena;
    struct process processes[PROCESSES];
    memcpy(processes, sim->processes, sizeof processes);
    struct match *before = sim->before, *after = sim->after, *ghost = sim->ghost;
    arena_reset(&kept);
    memset(sim, 0, sizeof *sim);
    memcpy(sim->processes, processes, sizeof processes);
    sim->arena = kept;
    sim->before = before ? before : new_match();
    sim->after = after ? after : new_match();
    sim->ghost = ghost ? ghost : new_match();
    sim->options = *options;
    swarm_draw(&sim->swarm, options->seed, options->without);
    virtual_world_init(&sim->world, SECONDS(START_S), options->seed);
    journal_begin(&sim->journal, options->trace);
    sim->network = dice_of(options->seed, 1);
    sim->company = dice_of(options->seed, 3);
    sim->match.model.arena = &sim->arena;
    sim->match.focus = SIZE_MAX;
    sim->match.every = 32;
    sim->url = str_format(&sim->arena, "sqlite:%s", path);
    planted_set(options->planted);
    machine_begin(dice_of(options->seed, 2));
}

static struct process *some_up(struct sim *sim)
{
    for (int i = 0; i < PROCESSES; i++)
        if (sim->processes[i].up)
            return &sim->processes[i];
    return NULL;
}

static bool all_ended(const struct sim *sim)
{
    for (size_t i = 0; i < sim->match.model.job_count; i++)
        if (sim->match.model.jobs[i].where != REF_ENDED)
            return false;
    return true;
}

// The faults stop: the disk works, messages arrive, whoever is dead is started.
static void begin_calm(struct sim *sim)
{
    sim->calm = true;
    sim->calm_since = sim_now(sim);
    sim->calm_at = sim->steps;
    memset(machine.fuse, 0, sizeof machine.fuse);
    machine.full = false;
    journal_add(&sim->journal, sim_now(sim), "calm");
}

static bool enough(const struct sim *sim)
{
    const struct reference *model = &sim->match.model;
    return sim->steps >= sim->options.steps || model->execution_count >= EXECUTIONS_ENOUGH
        || (model->job_count >= sim->swarm.jobs_max && all_ended(sim));
}

static void step(struct sim *sim, const struct event_due *event)
{
    if (event->at > sim_now(sim))
        world_pass(&sim->world, event->at - sim_now(sim));
    event->act(sim, event->self, event->request);
    if (!sim->calm && enough(sim))
        begin_calm(sim);
    struct process *p = some_up(sim);
    if (p && !sim->match.unlike && sim->steps >= sim->check_at) {
        sim->check_at = sim->steps + CHECK_EVERY;
        inspect(sim, p);
    }
    if (sim->calm
        && (sim_now(sim) - sim->calm_since > CALM_US_MAX
            || sim->steps - sim->calm_at > CALM_STEPS_MAX))
        differ(&sim->match, "a job does not come to its end");
}

static void expect_effects(struct sim *sim, struct process *p)
{
    int64_t found = inspect_effects(sim, p);
    if (found != sim->match.effects)
        differ(&sim->match, "%lld effects are in the store, not %lld", (long long)found,
               (long long)sim->match.effects);
}

static void expect_end(struct sim *sim)
{
    struct process *p = some_up(sim);
    if (!p) {
        differ(&sim->match, "no process is left");
        return;
    }
    doubt_resolve(sim, p);
    if (!sim->match.unlike)
        inspect(sim, p);
    if (!sim->match.unlike)
        expect_effects(sim, p);
}

bool sim_run(struct sim *sim, const struct sim_options *options)
{
    struct event_due event;
    begin(sim, options);
    processes_start(sim);
    actors_make(sim);
    bool over = false;
    while (!over && !sim->match.unlike && heap_take(&sim->heap, &event)) {
        step(sim, &event);
        over = sim->calm && all_ended(sim) && some_up(sim) && !sim->doubt;
    }
    if (!over)
        differ(&sim->match, "nothing happens any more, and some job has not ended");
    if (!sim->match.unlike)
        expect_end(sim);
    while (heap_take(&sim->heap, &event))
        free(event.request);
    heap_free(&sim->heap);
    processes_stop(sim);
    return !sim->match.unlike;
}

void sim_end(struct sim *sim)
{
    arena_end(&sim->arena);
    for (int i = 0; i < PROCESSES; i++)
        arena_end(&sim->processes[i].scratch);
    free(sim->before);
    free(sim->after);
    free(sim->ghost);
}
