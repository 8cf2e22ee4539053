// The kill loop through the library: a program that enqueues from 50 threads while its runner works
// (tests/programs/crowd.c), killed with -9 at random moments, again and again. After every kill the
// store must pass `verify` as the dead left it; after a round the next process works to the end,
// and the checker compares what the programs wrote down with what is there.
//
//     RUNNER_KILLS=300 KILL_SEED=7 runner_kill_test
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checker.h"
#include "engine/verify.h"
#include "process.h"
#include "torture.h"

enum { KILLS = 12,
       ROUND_KILLS = 12,
       LIFE_MS = 400 };

struct loop {
    struct scratch scratch;
    uint64_t dice;
    int64_t kills, kills_wanted;
    int64_t *totals;  // one for each check
};

static uint64_t roll(struct loop *loop)
{
    uint64_t z = loop->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t setting(const char *name, int64_t otherwise)
{
    int64_t number = 0;
    const char *text = getenv(name);
    return text && str_int(str_of(text), &number) ? number : otherwise;
}

static struct process crowd(struct loop *loop, const char *word)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)roll(loop) >> 2);
    return process_start("crowd", scratch_store(&loop->scratch),
                         scratch_file(&loop->scratch, "crowd.log"), "crowd", seed, word);
}

static void print_violation(void *self, const struct violation *violation)
{
    (void)self;
    print_error("%s: job %.*s: %.*s\n", violation->invariant, STR(violation->job_id),
                STR(violation->detail));
}

static void must_verify(struct loop *loop)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct db_options options = { .url = str_of(scratch_store(&loop->scratch)) };
    MUST(db_open(&db, &options, &err));
    MUST(verify(db, &(struct verify_options){ .found = print_violation }, &verified, &err));
    db_close(db);
    EXPECT_INT(verified.violations, 0);
}

// One in four is killed while it starts, the others some time after all their threads run.
static void live_and_die(struct loop *loop)
{
    struct process process = crowd(loop, NULL);
    if (roll(loop) % 4 != 0)
        EXPECT(strcmp(process_hear(&process), "ready") == 0);
    wait_ms((int64_t)(roll(loop) % LIFE_MS));
    EXPECT_INT(process_ended(&process), -1);  // it had no reason to end by itself
    process_kill(&process);
    loop->kills++;
}

static void drain(struct loop *loop)
{
    static const char left[] = "SELECT count(*) FROM pawl_jobs WHERE completed_at IS NULL";
    struct process process = crowd(loop, "drain");
    EXPECT(strcmp(process_hear(&process), "ready") == 0);
    for (int i = 0; i < 3000 && scratch_number(&loop->scratch, left) != 0; i++)
        wait_ms(20);
    EXPECT_INT(scratch_number(&loop->scratch, left), 0);
    EXPECT_INT(process_end(&process), 0);
}

// Adds every number of the round to the totals. A fault ends the test and leaves the files.
static void judge(struct loop *loop)
{
    sqlite3 *facts = checker_open(loop->scratch.path);
    int64_t faults = 0;
    for (size_t i = 0; i < checks_count; i++) {
        int64_t number = checker_count(facts, checks[i].name);
        loop->totals[i] += number;
        faults += checks[i].planted ? number : 0;
        if (checks[i].planted && number)
            print_error("%s: %lld, see %s\n", checks[i].name, (long long)number,
                        loop->scratch.path);
    }
    checker_close(facts);
    EXPECT_INT(faults, 0);
}

static void print_totals(const struct loop *loop)
{
    printf("runner kill loop: %lld kills, 0 violations after each", (long long)loop->kills);
    for (size_t i = 0; i < checks_count; i++)
        printf(", %s %lld", checks[i].name, (long long)loop->totals[i]);
    printf("\n");
    EXPECT_INT(torture_end(&(struct torture){ .name = "runner",
                                              .tried = loop->kills,
                                              .survived = loop->kills,
                                              .not_reached = checks_not_met(loop->totals) }),
               0);
}

static int64_t total_of(const struct loop *loop, const char *name)
{
    for (size_t i = 0; i < checks_count; i++)
        if (strcmp(checks[i].name, name) == 0)
            return loop->totals[i];
    return -1;
}

TEST(JOB_6_a_program_killed_while_50_threads_enqueue_loses_nothing_and_does_nothing_twice)
{
    uint64_t seed = (uint64_t)setting("KILL_SEED", now_us() % 1000000);
    struct loop loop = { .dice = seed,
                         .kills_wanted = setting("RUNNER_KILLS", KILLS),
                         .totals = arena_new(test_arena(), int64_t, checks_count) };
    printf("runner kill loop: seed %llu\n", (unsigned long long)seed);
    while (loop.kills < loop.kills_wanted) {
        loop.scratch = scratch_open();
        for (int i = 0; i < ROUND_KILLS && loop.kills < loop.kills_wanted; i++) {
            live_and_die(&loop);
            must_verify(&loop);
        }
        drain(&loop);
        must_verify(&loop);
        judge(&loop);
        scratch_close(&loop.scratch);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\rrunner kill loop: %lld of %lld kills", (long long)loop.kills,
                    (long long)loop.kills_wanted);
    }
    print_totals(&loop);
    // The run was worth its name: processes died in the middle of calls, and work was done again.
    EXPECT(total_of(&loop, "succeeded") > 0);
    EXPECT(total_of(&loop, "calls_cut_off") > 0);
    EXPECT(total_of(&loop, "re-runs") > 0);
}
