// FM_001 with real processes: a worker's lease runs out while it is stopped or dead, another worker
// runs the job, and the first one wakes up and wants to go on.
//
// A and B are puppets: each waits for its next line between two calls, which is where it is stopped
// or killed. Leases last one second.
#include <stdio.h>
#include <string.h>

#include "process.h"

#define HEARS(process, line, expected) \
    expect_str(str_of(process_ask((process), (line))), str_of(expected), PLACE(line))

static struct process puppet(const struct scratch *scratch, const char *program, const char *name)
{
    return process_start(program, scratch_store(scratch), name);
}

static void tell_all(struct process *process, const char *const *lines)
{
    for (; *lines; lines++)
        EXPECT(strncmp(process_ask(process, *lines), "ok", 2) == 0);
}

static int64_t effects(const struct scratch *scratch)
{
    return scratch_number(scratch, "SELECT count(*) FROM effects");
}

static int64_t succeeded(const struct scratch *scratch)
{
    return scratch_number(scratch, "SELECT count(*) FROM pawl_jobs WHERE state = 'SUCCEEDED'");
}

// The last lease runs out by the clock; nobody has noticed yet.
static void wait_for_leases(const struct scratch *scratch)
{
    int64_t last = scratch_number(scratch, "SELECT max(lease_expires_at) FROM pawl_executions"
                                           " WHERE finished_at IS NULL");
    for (int64_t left; (left = last - now_us()) >= 0;)
        wait_ms(left / 1000 + 1);
}

// Sweeps until every job has ended, or waits to be claimed.
static void sweep_all(const struct scratch *scratch, struct process *process)
{
    static const char moving[] = "SELECT count(*) FROM pawl_jobs"
                                 " WHERE phase NOT IN ('ready', 'ended', 'blocked')";
    for (int i = 0; i < 1000 && scratch_number(scratch, moving) > 0; i++) {
        process_ask(process, "sweep");
        wait_ms(5);
    }
    EXPECT_INT(scratch_number(scratch, moving), 0);
}

// Takes what is ready and brings it to its end; answers how many jobs that were.
static int64_t work_off(struct process *process)
{
    for (int64_t count = 0; count < 100; count++) {
        if (strcmp(process_ask(process, "claim_start 30"), "none") == 0)
            return count;
        HEARS(process, "commit_done", "ok");
    }
    return -1;
}

// ----- EXEC-9

// A stalls with its work done and not committed; B does the job; A wakes up and commits.
static int64_t effects_after_fm001(const char *program, const char *answer)
{
    struct scratch scratch = scratch_open();
    struct process a = puppet(&scratch, program, "A");
    tell_all(&a, (const char *const[]){ "enqueue j-1", "claim", "start", NULL });
    process_stop(&a);
    struct process b = puppet(&scratch, program, "B");
    wait_for_leases(&scratch);
    sweep_all(&scratch, &b);
    EXPECT_INT(work_off(&b), 1);
    EXPECT_INT(effects(&scratch), 1);
    process_wake(&a);
    HEARS(&a, "commit_done", answer);
    int64_t happened = effects(&scratch);
    EXPECT_INT(succeeded(&scratch), 1);
    process_kill(&a);
    process_kill(&b);
    scratch_close(&scratch);
    return happened;
}

TEST(EXEC_9_a_stalled_worker_is_refused_and_the_effect_happens_once)
{
    EXPECT_INT(effects_after_fm001("puppet", "lease_lost"), 1);
}

TEST(EXEC_9_without_the_commit_boundary_the_effect_happens_twice)
{
    EXPECT_INT(effects_after_fm001("puppet_without_boundary", "ok"), 2);
}

// Where a worker can die: what it has been told to do by then.
static const struct {
    const char *point;
    const char *lines[6];
} deaths[] = {
    { "after claim", { "claim" } },
    { "after start", { "claim", "start" } },
    { "after claim with start", { "claim_start" } },
    { "before commit", { "claim", "start", "heartbeat", "progress", "step" } },
    { "after commit, before done", { "claim", "start", "commit" } },
    { "after commit and done", { "claim", "start", "commit_done" } },
};
enum { DEATHS = countof(deaths) };

static void die_everywhere(const struct scratch *scratch)
{
    for (size_t i = 0; i < DEATHS; i++) {
        char name[] = { 'A', (char)('0' + i), 0 };
        struct process process = puppet(scratch, "puppet", name);
        char key[] = { 'j', '-', (char)('0' + i), 0 };
        char line[32];
        snprintf(line, sizeof line, "enqueue %s", key);
        tell_all(&process, (const char *const[]){ line, NULL });
        tell_all(&process, deaths[i].lines);
        process_kill(&process);
    }
}

TEST(EXEC_9_killed_at_any_point_the_effect_happens_once)
{
    struct scratch scratch = scratch_open();
    die_everywhere(&scratch);
    struct process b = puppet(&scratch, "puppet", "B");
    wait_for_leases(&scratch);
    sweep_all(&scratch, &b);
    EXPECT_INT(work_off(&b), DEATHS - 2);  // all but the two that had committed
    EXPECT_INT(succeeded(&scratch), DEATHS);
    EXPECT_INT(effects(&scratch), DEATHS);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(DISTINCT job) FROM effects"), DEATHS);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM pawl_executions"
                                        " WHERE end_reason = 'lease_expired'"),
               DEATHS - 2);
    process_kill(&b);
    scratch_close(&scratch);
}

// The same deaths, found by the next start of each instance: nothing waits for a lease.
TEST(RUN_5_killed_at_any_point_and_started_again_the_effect_happens_once)
{
    struct scratch scratch = scratch_open();
    die_everywhere(&scratch);
    for (size_t i = 0; i < DEATHS; i++) {
        char name[] = { 'A', (char)('0' + i), 0 };
        bool committed = strstr(deaths[i].point, "after commit") != NULL;
        bool done = strstr(deaths[i].point, "and done") != NULL;
        struct process process = puppet(&scratch, "puppet", name);
        HEARS(&process, "boot", done ? "ok 0 0" : committed ? "ok 0 1"
                                                            : "ok 1 0");
        process_kill(&process);
    }
    struct process b = puppet(&scratch, "puppet", "B");
    sweep_all(&scratch, &b);
    EXPECT_INT(work_off(&b), DEATHS - 2);
    EXPECT_INT(succeeded(&scratch), DEATHS);
    EXPECT_INT(effects(&scratch), DEATHS);
    process_kill(&b);
    scratch_close(&scratch);
}

// ----- EXEC-7

TEST(EXEC_7_killed_between_commit_and_done_the_job_is_finished_without_a_second_effect)
{
    struct scratch scratch = scratch_open();
    struct process a = puppet(&scratch, "puppet", "A");
    tell_all(&a, (const char *const[]){ "enqueue j-1", "claim", "start", "commit", NULL });
    process_kill(&a);
    EXPECT_INT(succeeded(&scratch), 0);
    EXPECT_INT(effects(&scratch), 1);
    struct process b = puppet(&scratch, "puppet", "B");
    wait_for_leases(&scratch);
    HEARS(&b, "claim", "none");  // nobody gets it again
    HEARS(&b, "sweep", "ok 0 1 0");
    EXPECT_INT(succeeded(&scratch), 1);
    EXPECT_INT(effects(&scratch), 1);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM pawl_executions"), 1);
    process_kill(&b);
    scratch_close(&scratch);
}

// With a commit phase the job is handed out again for that phase alone.
TEST(EXEC_7_killed_in_the_commit_phase_only_that_phase_is_repeated)
{
    struct scratch scratch = scratch_open();
    struct process a = puppet(&scratch, "puppet", "A");
    tell_all(&a, (const char *const[]){ "enqueue j-1", "claim", "start", "commit_finish", NULL });
    process_stop(&a);
    struct process b = puppet(&scratch, "puppet", "B");
    wait_for_leases(&scratch);
    HEARS(&b, "sweep", "ok 0 1 0");
    tell_all(&b, (const char *const[]){ "claim 30", NULL });
    HEARS(&b, "commit", "ok");  // a repetition by who holds it now: it changes nothing
    process_wake(&a);
    HEARS(&a, "done", "lease_lost");
    HEARS(&b, "done", "ok");
    EXPECT_INT(succeeded(&scratch), 1);
    EXPECT_INT(effects(&scratch), 1);
    process_kill(&a);
    process_kill(&b);
    scratch_close(&scratch);
}

// ----- EXEC-3

enum { STOPPED_LEASED,
       STOPPED_STARTED,
       STOPPED_COMMITTED,
       STOPS };

static const char *const until_stop[STOPS][4] = {
    [STOPPED_LEASED] = { "claim" },
    [STOPPED_STARTED] = { "claim", "start" },
    [STOPPED_COMMITTED] = { "claim", "start", "commit" },
};

// What a worker hears that was stopped there. After its commit it may repeat what it had said
// itself, with the same outcome and without effect.
static const struct {
    const char *call;
    const char *answer[STOPS];
} zombie_calls[] = {
    { "start", { "lease_lost", "lease_lost", "already_committed" } },
    { "heartbeat", { "lease_lost", "lease_lost", "lease_lost" } },
    { "progress", { "lease_lost", "lease_lost", "lease_lost" } },
    { "step", { "lease_lost", "lease_lost", "lease_lost" } },
    { "commit", { "lease_lost", "lease_lost", "ok" } },
    { "commit_done", { "lease_lost", "lease_lost", "ok" } },
    { "commit_finish", { "lease_lost", "lease_lost", "ok" } },
    { "fail", { "lease_lost", "lease_lost", "already_committed" } },
    { "release", { "lease_lost", "lease_lost", "already_committed" } },
};

static void zombies_call(const struct scratch *scratch, struct process *zombies)
{
    for (size_t stop = 0; stop < STOPS; stop++) {
        int64_t before = effects(scratch);
        process_wake(&zombies[stop]);
        for (size_t i = 0; i < countof(zombie_calls); i++)
            HEARS(&zombies[stop], zombie_calls[i].call, zombie_calls[i].answer[stop]);
        EXPECT_INT(effects(scratch), before);
        process_stop(&zombies[stop]);
    }
}

static void stop_everywhere(const struct scratch *scratch, struct process *zombies)
{
    for (size_t stop = 0; stop < STOPS; stop++) {
        char name[] = { 'A', (char)('0' + stop), 0 };
        zombies[stop] = puppet(scratch, "puppet", name);
        char line[] = { 'e', 'n', 'q', 'u', 'e', 'u', 'e', ' ', 'j', '-', (char)('0' + stop), 0 };
        tell_all(&zombies[stop], (const char *const[]){ line, NULL });
        tell_all(&zombies[stop], until_stop[stop]);
        process_stop(&zombies[stop]);
    }
}

static void done_is_heard(struct process *zombie, const char *expected)
{
    process_wake(zombie);
    HEARS(zombie, "done", expected);
    process_stop(zombie);
}

// The zombies wake after each thing that can have happened meanwhile.
TEST(EXEC_3_every_call_of_a_stopped_worker_is_refused_whenever_it_wakes)
{
    struct scratch scratch = scratch_open();
    struct process zombies[STOPS];
    stop_everywhere(&scratch, zombies);
    struct process b = puppet(&scratch, "puppet", "B");
    wait_for_leases(&scratch);
    zombies_call(&scratch, zombies);  // nobody has swept
    for (size_t stop = 0; stop < STOPS; stop++)
        done_is_heard(&zombies[stop], "lease_lost");
    sweep_all(&scratch, &b);
    zombies_call(&scratch, zombies);  // swept, not taken
    HEARS(&b, "heartbeat", "not_found");
    tell_all(&b, (const char *const[]){ "claim 30", NULL });
    zombies_call(&scratch, zombies);  // one is taken by another
    tell_all(&b, (const char *const[]){ "start", "commit_done", NULL });
    EXPECT_INT(work_off(&b), 1);
    zombies_call(&scratch, zombies);  // done by another
    done_is_heard(&zombies[STOPPED_LEASED], "lease_lost");
    done_is_heard(&zombies[STOPPED_STARTED], "lease_lost");
    done_is_heard(&zombies[STOPPED_COMMITTED], "ok");  // it had committed, and so it is done
    EXPECT_INT(succeeded(&scratch), STOPS);
    EXPECT_INT(effects(&scratch), STOPS);
    for (size_t stop = 0; stop < STOPS; stop++)
        process_kill(&zombies[stop]);
    process_kill(&b);
    scratch_close(&scratch);
}
