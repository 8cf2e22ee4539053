// Workers that are stopped with SIGSTOP until their leases are over, and woken: whatever they say
// then is refused, and nothing happens twice.
//
// A zombie is a puppet (tests/programs/puppet.c) that was stopped at one point of the protocol. It
// wakes at four moments of what others do with its job meanwhile, makes a few calls each time, and
// is stopped again. Every call at every point and moment has its answer in a table.
//
//     STOPS=5000 STOP_SEED=7 stop_test
#include <stdio.h>
#include <string.h>

#include "engine/verify.h"
#include "process.h"
#include "torture.h"

enum { STOPS = 150,
       ZOMBIES = 30,
       CALLS_EACH = 2 };

enum point { LEASED, STARTED, CLAIMED_STARTED, AT_WORK, COMMITTED, FINISHING, POINTS };

static const struct {
    const char *lines[6];
} until[POINTS] = {
    [LEASED] = { { "claim 2" } },
    [STARTED] = { { "claim 2", "start" } },
    [CLAIMED_STARTED] = { { "claim_start 2" } },
    [AT_WORK] = { { "claim 2", "start", "heartbeat", "progress", "step" } },
    [COMMITTED] = { { "claim_start 2", "commit" } },
    [FINISHING] = { { "claim_start 2", "commit_finish" } },
};

// What others have done with its job when it wakes up.
enum moment { UNSWEPT, SWEPT, TAKEN, ENDED, MOMENTS };

// A worker hears that it has lost its lease. After its own commit it may repeat what it had said,
// until its commit phase is another's.
static const struct {
    const char *call;
    const char *committed[2];  // UNSWEPT; then
    const char *finishing[3];  // UNSWEPT; SWEPT; then
} calls[] = {
    { "start", { "already_committed", "already_committed" },
      { "already_committed", "already_committed", "lease_lost" } },
    { "heartbeat", { "lease_lost", "lease_lost" }, { "lease_lost", "lease_lost", "lease_lost" } },
    { "progress", { "lease_lost", "lease_lost" }, { "lease_lost", "lease_lost", "lease_lost" } },
    { "step", { "lease_lost", "lease_lost" }, { "lease_lost", "lease_lost", "lease_lost" } },
    { "commit_finish", { "ok", "ok" }, { "ok", "ok", "lease_lost" } },
    { "done", { "lease_lost", "ok" }, { "lease_lost", "lease_lost", "lease_lost" } },
    { "fail", { "already_committed", "already_committed" }, { "lease_lost", "ok", "lease_lost" } },
    { "release", { "already_committed", "already_committed" },
      { "lease_lost", "ok", "lease_lost" } },
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static const char *answer_to(size_t call, enum point point, enum moment moment)
{
    if (point == COMMITTED)
        return calls[call].committed[moment > UNSWEPT];
    if (point == FINISHING)
        return calls[call].finishing[moment < TAKEN ? (int)moment : 2];
    return "lease_lost";
}

struct zombie {
    struct process process;
    enum point point;
    bool ready;  // it came as far as its point within its lease
    char job[64];
};

struct loop {
    struct scratch scratch;
    struct process other;  // sweeps, takes the jobs over, ends them
    struct zombie zombies[ZOMBIES];
    uint64_t dice;
    struct torture torture;  // counts every stop
    int64_t late, jobs;
    bool reached[POINTS][MOMENTS][CALLS];
};

static uint64_t roll(struct loop *loop)
{
    loop->dice ^= loop->dice << 13;
    loop->dice ^= loop->dice >> 7;
    loop->dice ^= loop->dice << 17;
    return loop->dice;
}

static void stop(struct loop *loop, struct zombie *zombie)
{
    process_stop(&zombie->process);
    torture_count(&loop->torture, true);  // a wrong answer ends the test
}

// A busy disk may take longer than the lease: then it has not come to its point.
static void bring_to_point(struct loop *loop, struct zombie *zombie)
{
    char line[64];
    snprintf(line, sizeof line, "enqueue j-%lld", (long long)loop->jobs++);
    EXPECT(sscanf(process_ask(&zombie->process, line), "ok %63s", zombie->job) == 1);
    zombie->point = (enum point)(roll(loop) % POINTS);
    zombie->ready = true;
    for (const char *const *next = until[zombie->point].lines; *next; next++)
        if (zombie->ready)
            zombie->ready = strncmp(process_ask(&zombie->process, *next), "ok", 2) == 0;
    loop->late += !zombie->ready;
    stop(loop, zombie);
}

static void wake_and_call(struct loop *loop, struct zombie *zombie, enum moment moment)
{
    if (!zombie->ready)
        return;
    process_wake(&zombie->process);
    for (int i = 0; i < CALLS_EACH; i++) {
        size_t call = roll(loop) % CALLS;
        const char *expected = answer_to(call, zombie->point, moment);
        loop->reached[zombie->point][moment][call] = true;
        expect_str(str_of(process_ask(&zombie->process, calls[call].call)), str_of(expected),
                   PLACE(calls[call].call));
    }
    stop(loop, zombie);
}

static void all_call(struct loop *loop, enum moment moment)
{
    for (size_t i = 0; i < ZOMBIES; i++)
        wake_and_call(loop, &loop->zombies[i], moment);
}

static void wait_for_leases(const struct loop *loop)
{
    int64_t last = scratch_number(&loop->scratch,
                                  "SELECT max(lease_expires_at) FROM pawl_executions"
                                  " WHERE finished_at IS NULL");
    for (int64_t left; (left = last - now_us()) >= 0;)
        wait_ms(left / 1000 + 1);
}

static struct zombie *zombie_of(struct loop *loop, const char *claimed)
{
    char job[64] = "";
    EXPECT(sscanf(claimed, "ok %63s", job) == 1);
    for (size_t i = 0; i < ZOMBIES; i++)
        if (strcmp(loop->zombies[i].job, job) == 0)
            return &loop->zombies[i];
    EXPECT(false);
    return NULL;
}

// The other worker takes every job that is left and ends it; whose it was wakes up in between.
static void take_over(struct loop *loop)
{
    static const char unended[] = "SELECT count(*) FROM pawl_jobs WHERE phase <> 'ended'";
    for (int i = 0; i < 10000 && scratch_number(&loop->scratch, unended) > 0; i++) {
        process_ask(&loop->other, "sweep");
        const char *claimed = process_ask(&loop->other, "claim_start 60");
        if (strcmp(claimed, "none") == 0) {
            wait_ms(5);
            continue;
        }
        wake_and_call(loop, zombie_of(loop, claimed), TAKEN);
        EXPECT_STR(str_of(process_ask(&loop->other, "commit_done")), "ok");
    }
    EXPECT_INT(scratch_number(&loop->scratch, unended), 0);
}

static void must_verify(const struct loop *loop)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct db_options options = { .url = str_of(scratch_store(&loop->scratch)), .read_only = true };
    MUST(db_open(&db, &options, &err));
    MUST(verify(db, &(struct verify_options){0}, &verified, &err));
    db_close(db);
    EXPECT_INT(verified.violations, 0);
}

static void round_of_stops(struct loop *loop)
{
    for (size_t i = 0; i < ZOMBIES; i++) {
        process_wake(&loop->zombies[i].process);
        bring_to_point(loop, &loop->zombies[i]);
    }
    wait_for_leases(loop);
    all_call(loop, UNSWEPT);
    process_ask(&loop->other, "sweep");
    all_call(loop, SWEPT);
    take_over(loop);
    all_call(loop, ENDED);
    must_verify(loop);
    EXPECT_INT(scratch_number(&loop->scratch, "SELECT count(*) FROM effects"), loop->jobs);
    EXPECT_INT(scratch_number(&loop->scratch, "SELECT count(DISTINCT job) FROM effects"),
               loop->jobs);
}

// Of the calls at all points and moments. Nobody takes over what was committed and has no commit
// phase.
static int64_t not_reached(const struct loop *loop)
{
    int64_t missing = 0;
    for (size_t point = 0; point < POINTS; point++)
        for (size_t moment = 0; moment < MOMENTS; moment++)
            for (size_t call = 0; call < CALLS; call++)
                missing += !loop->reached[point][moment][call]
                        && !(point == COMMITTED && moment == TAKEN);
    return missing;
}

static void open_all(struct loop *loop)
{
    loop->scratch = scratch_open();
    const char *store = scratch_store(&loop->scratch);
    loop->other = process_start("puppet", store, "B");
    for (size_t i = 0; i < ZOMBIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "A%zu", i);
        loop->zombies[i] = (struct zombie){ .process = process_start("puppet", store, name) };
        process_ask(&loop->zombies[i].process, "sweep");  // nobody else writes while it opens
        stop(loop, &loop->zombies[i]);
    }
}

static void close_all(struct loop *loop)
{
    for (size_t i = 0; i < ZOMBIES; i++)
        process_kill(&loop->zombies[i].process);
    process_kill(&loop->other);
    scratch_close(&loop->scratch);
}

TEST(EXEC_3_workers_stopped_past_their_lease_are_refused_at_every_point)
{
    int64_t seed = torture_asked("STOP_SEED", now_us() % 1000000 + 1);
    struct loop loop = { .dice = (uint64_t)seed * 2654435761u + 1,
                         .torture = { .name = "stop", .planned = torture_asked("STOPS", STOPS) } };
    printf("stop loop: seed %lld\n", (long long)seed);
    open_all(&loop);
    do {
        round_of_stops(&loop);
    } while (loop.torture.tried < loop.torture.planned);
    close_all(&loop);
    printf("stop loop: %lld jobs; %lld workers were too late for their own point\n",
           (long long)loop.jobs, (long long)loop.late);
    loop.torture.not_reached = not_reached(&loop);
    EXPECT_INT(torture_end(&loop.torture), 0);
}
