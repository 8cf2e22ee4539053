// A worker for tests of the command line: does the steps that a job of any type names, one job at a
// time, and says each thing it does.
//
//   stepper STORE NAME LOG [STEP]
//
// Works until nothing is left to do. Every step it computes is noted in LOG, outside the store.
// With STEP it hangs in that step until somebody kills it.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/time_text.h"
#include "engine/step.h"
#include "engine/sweep.h"

enum { SWEEP_ROWS = 100 };
#define STEP_US MILLISECONDS(120)
#define IDLE_US MILLISECONDS(100)

struct process {
    const struct world *world;
    struct db *db;
    struct instance instance;
    struct worker worker;
    struct caller caller;
    const char *log;
    struct str hang_in;  // empty: never
    bool waiting;        // for a retry, and has said so
};

static bool begin(struct process *p, enum tx_mode mode, struct arena *arena, struct tx *tx,
                  struct pawl_error *err)
{
    if (!tx_begin(p->db, mode, arena, tx, err))
        return false;
    tx->caller = &p->caller;
    return true;
}

// ----- start

// The file is locked for as long as this process lives: whoever gets the lock knows that every
// earlier process of this name is dead.
static bool be_the_only_one(const struct process *p, struct pawl_error *err)
{
    char path[512];
    snprintf(path, sizeof(path), "%s.%.*s.alive", p->log, STR(p->instance.name));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;  // the kernel closes it when we are gone
    return fail(err, PAWL_CONFLICT, "%s: %s", path, strerror(errno));
}

static bool enter(struct process *p, struct pawl_error *err)
{
    struct recovered recovered;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!be_the_only_one(p, err) || !begin(p, TX_WRITE, &arena, &tx, err)
        || !instance_enter(&tx, &p->instance, true, err)
        || !boot_recover(&tx, &p->instance, SWEEP_ROWS, &recovered, err) || !tx_commit(&tx, err))
        return false;
    printf("worker: started as %.*s\n", STR(p->instance.name));
    if (recovered.ended + recovered.finished > 0)
        printf("worker: recovered %zu: left by the process that died before me\n",
               recovered.ended + recovered.finished);
    return true;
}

static bool leave(struct process *p, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!begin(p, TX_WRITE, &arena, &tx, err) || !instance_leave(&tx, &p->instance, err)
        || !tx_commit(&tx, err))
        return false;
    puts("worker: nothing left to do, going home");
    return true;
}

// ----- work

struct work {
    struct claimed claimed;
    struct lease lease;
    size_t steps_done, steps_total;
};

static void compute(const struct process *p, struct str name)
{
    printf("worker:   step %.*s: computing\n", STR(name));
    fflush(stdout);
    while (str_eq(name, p->hang_in))
        world_sleep(p->world, SECONDS(1));
    world_sleep(p->world, STEP_US);
}

static bool note(const struct process *p, struct str name, struct pawl_error *err)
{
    FILE *log = fopen(p->log, "ae");
    bool noted = log && fprintf(log, "%.*s\n", STR(name)) > 0;
    noted = log && fclose(log) == 0 && noted;
    return noted || fail(err, PAWL_STORE, "cannot write %s: %s", p->log, strerror(errno));
}

static bool look_up(struct process *p, const struct work *work, struct str name, bool *done,
                    struct pawl_error *err)
{
    struct step step;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!begin(p, TX_READ, &arena, &tx, err)
        || !step_get(&tx, &work->lease, name, &step, err))
        return false;
    *done = step.done;
    if (step.done)
        printf("worker:   step %.*s: known since attempt %lld, not computed again\n", STR(name),
               (long long)step.attempt);
    return true;
}

// The result, the progress and the longer lease are one transaction.
static bool keep(struct process *p, struct work *work, struct str name, struct pawl_error *err)
{
    struct step step;
    struct execution execution;
    struct progress progress = { .percent = (int64_t)(100 * work->steps_done / work->steps_total),
                                 .message = name };
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return begin(p, TX_WRITE, &arena, &tx, err)
        && step_put(&tx, &work->lease, name, S("\"done\""), &step, err)
        && execution_heartbeat(&tx, &work->lease, &progress, &execution, err)
        && tx_commit(&tx, err);
}

static bool do_step(struct process *p, struct work *work, struct str name, struct pawl_error *err)
{
    bool done = false;
    if (!look_up(p, work, name, &done, err))
        return false;
    work->steps_done++;
    if (done)
        return true;
    compute(p, name);
    return note(p, name, err) && keep(p, work, name, err);
}

static bool do_steps(struct process *p, struct work *work, struct pawl_error *err)
{
    SCOPED(json) json_t *payload = NULL;
    size_t i;
    const json_t *name;
    if (!json_parse(work->claimed.job.contract.payload, PAYLOAD_BYTES_MAX, &payload, err))
        return false;
    const json_t *steps = json_object_get(payload, "steps");
    work->steps_total = json_array_size(steps);
    json_array_foreach (steps, i, name) {
        if (!do_step(p, work, str_of(json_string_value(name)), err))
            return false;
    }
    return true;
}

static bool commit(struct process *p, const struct work *work, struct pawl_error *err)
{
    struct execution execution;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct commit effect = {
        .result = str_format(&arena, "{\"steps\":%zu}", work->steps_done), .done = true
    };
    if (!begin(p, TX_WRITE, &arena, &tx, err)
        || !execution_commit(&tx, &work->lease, &effect, &execution, err) || !tx_commit(&tx, err))
        return false;
    printf("worker: committed %.*s\n", STR(work->claimed.job.contract.job_type));
    return true;
}

static bool do_work(struct process *p, struct work *work, struct pawl_error *err)
{
    printf("worker: took %.*s, attempt %lld\n", STR(work->claimed.job.contract.job_type),
           (long long)work->claimed.execution.attempt);
    return do_steps(p, work, err) && commit(p, work, err);
}

// ----- loop

static bool claim(struct process *p, struct tx *tx, struct claimed **claimed, size_t *count,
                  struct pawl_error *err)
{
    static const struct str queues[] = { { "q:default", 9 } };
    struct claim wanted = {
        .worker = p->worker,
        .queues = queues,
        .queue_count = countof(queues),
        .limit = 1,
        .start = true,
    };
    return execution_claim(tx, &wanted, claimed, count, err);
}

static void idle(struct process *p)
{
    if (!p->waiting)
        puts("worker: waits for the time of the next attempt");
    fflush(stdout);
    p->waiting = true;
    world_sleep(p->world, IDLE_US);
}

// Lets time take effect, then takes one job. `more` is false when nothing is left, now or later.
static bool tick(struct process *p, bool *more, struct pawl_error *err)
{
    struct swept swept;
    struct claimed *claimed = NULL;
    size_t count = 0;
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!begin(p, TX_WRITE, &arena, &tx, err) || !instance_alive(&tx, &p->instance, err)
        || !sweep(&tx, SWEEP_ROWS, &swept, err) || !claim(p, &tx, &claimed, &count, err)
        || !tx_commit(&tx, err))
        return false;
    *more = count > 0 || swept.next != 0;
    if (count == 0) {
        if (*more)
            idle(p);
        return true;
    }
    p->waiting = false;
    struct work work = { .claimed = claimed[0],
                         .lease = lease_of(&claimed[0].execution, &p->worker) };
    return do_work(p, &work, err);
}

static bool run_worker(struct process *p, const char *store, struct pawl_error *err)
{
    bool more = true;
    if (!db_open(&p->db, &(struct db_options){ .url = str_of(store), .must_exist = true }, err)
        || !enter(p, err))
        return false;
    while (more)
        if (!tick(p, &more, err))
            return false;
    return leave(p, err);
}

static void name_process(struct process *p, struct arena *arena, const char *name)
{
    struct id boot = id_after(0, world_wall(p->world), world_random(p->world));
    p->instance = (struct instance){ str_of(name), id_text(arena, boot) };
    p->worker = (struct worker){ p->instance.name, p->instance.name, p->instance.boot_id };
    p->caller = (struct caller){
        .actor_type = ACTOR_SYSTEM,
        .actor_id = p->instance.name,
        .request_id = p->instance.boot_id,
    };
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5) {
        fputs("usage: stepper STORE NAME LOG [STEP]\n", stderr);
        return 2;
    }
    SCOPED(arena) struct arena arena = {0};
    struct process p = { .world = world_real(), .log = argv[3], .hang_in = str_of(argv[4]) };
    struct pawl_error err = {0};
    name_process(&p, &arena, argv[2]);
    bool done = run_worker(&p, argv[1], &err);
    if (!done)
        fprintf(stderr, "stepper: %s\n", err.message);
    db_close(p.db);
    return done ? 0 : pawl_code(err.code)->exit;
}
