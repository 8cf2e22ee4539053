// The kill loop: producers and workers on one store, killed with -9 at random moments, again and
// again. After every cycle the store must pass `verify` as the dead left it; after a round of
// cycles workers run to the end, and a checker that uses nothing of the engine compares what the
// processes wrote down with what is there.
//
//     KILL_CYCLES=1000 KILL_SEED=7 kill_test
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checker.h"
#include "engine/verify.h"
#include "process.h"
#include "torture.h"

enum { CYCLES = 25,
       CYCLES_MORE = 4,  // times as many, if need be
       ROUND_CYCLES = 25,
       CYCLE_MS = 200,
       SEATS = 5,
       CANARY_CYCLES = 400 };

// Who takes part. A process of the same seat is the same actor, started again.
struct seat {
    const char *program, *name, *word;
    uint64_t lives;  // survives this many cycles, on average
    struct process process;
    int64_t dies_at;  // milliseconds into the cycle; -1: lives on
};

struct round {
    struct scratch scratch;
    struct seat seats[SEATS];
    uint64_t dice;
    int64_t kills;
};

// The whole run, round after round.
struct loop {
    uint64_t seed;
    int64_t cycles, kills;
    int64_t *totals;  // one for each check
};

static uint64_t roll(uint64_t *dice)
{
    uint64_t z = *dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// One worker stalls past its lease, and so must live for more than a cycle; it comes in two builds.
static void round_open(struct round *round, uint64_t seed, const char *staller)
{
    *round = (struct round){
        .dice = seed,
        .seats = { { .program = "producer", .name = "p1", .lives = 1 },
                   { .program = "producer", .name = "p2", .lives = 1 },
                   { .program = "worker", .name = "w1", .lives = 1 },
                   { .program = "worker", .name = "w2", .word = "remote", .lives = 1 },
                   { .program = staller, .name = "w3", .word = "stalls", .lives = 12 } },
    };
    round->scratch = scratch_open();
}

static struct process seat_start(struct round *round, const struct seat *seat, const char *word)
{
    char seed[24], log[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)roll(&round->dice) >> 2);
    snprintf(log, sizeof log, "%s.log", seat->name);
    return process_start(seat->program, scratch_store(&round->scratch),
                         scratch_file(&round->scratch, log), seat->name, seed, word);
}

// The seat that dies next in this cycle; NULL when all have died who shall.
static struct seat *next_to_die(struct round *round)
{
    struct seat *next = NULL;
    for (size_t i = 0; i < SEATS; i++) {
        struct seat *seat = &round->seats[i];
        if (seat->process.pid && seat->dies_at >= 0 && (!next || seat->dies_at < next->dies_at))
            next = seat;
    }
    return next;
}

static void seat_kill(struct round *round, struct seat *seat)
{
    if (seat->process.pid == 0)
        return;
    EXPECT_INT(process_ended(&seat->process), -1);  // it had no reason to end by itself
    process_kill(&seat->process);
    round->kills++;
}

static void print_violation(void *self, const struct violation *violation)
{
    (void)self;
    print_error("%s: job %.*s: %.*s\n", violation->invariant, STR(violation->job_id),
                STR(violation->detail));
}

static void must_verify(struct round *round)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct db_options options = { .url = str_of(scratch_store(&round->scratch)) };
    MUST(db_open(&db, &options, &err));
    MUST(verify(db, &(struct verify_options){ .found = print_violation }, &verified, &err));
    db_close(db);
    EXPECT_INT(verified.violations, 0);
}

// Up to two sit a cycle out, but never both producers.
static void cycle(struct round *round)
{
    int64_t start = now_us();
    size_t absent[] = { roll(&round->dice) % 4, 2 + roll(&round->dice) % 4 };
    for (size_t i = 0; i < SEATS; i++) {
        struct seat *seat = &round->seats[i];
        if (seat->process.pid == 0 && i != absent[0] && i != absent[1])
            seat->process = seat_start(round, seat, seat->word);
        bool dies = roll(&round->dice) % seat->lives == 0;
        seat->dies_at = dies ? (int64_t)(roll(&round->dice) % CYCLE_MS) : -1;
    }
    for (struct seat *seat; (seat = next_to_die(round));) {
        int64_t left = seat->dies_at - (now_us() - start) / 1000;
        if (left > 0)
            wait_ms(left);
        seat_kill(round, seat);
    }
}

// Nothing is killed any more: what was asked in vain is asked again, and all work comes to its end.
static void drain(struct round *round)
{
    for (size_t i = 0; i < SEATS; i++)
        seat_kill(round, &round->seats[i]);
    for (size_t i = 0; i < 2; i++) {
        struct process producer = seat_start(round, &round->seats[i], "drain");
        EXPECT_INT(process_end(&producer), 0);
    }
    for (size_t i = 2; i < 4; i++)
        round->seats[i].process = seat_start(round, &round->seats[i], "drain");
    for (size_t i = 2; i < 4; i++)
        EXPECT_INT(process_end(&round->seats[i].process), 0);
}

static int64_t setting(const char *name, int64_t otherwise)
{
    int64_t number = 0;
    const char *text = getenv(name);
    return text && str_int(str_of(text), &number) ? number : otherwise;
}

// Adds every number of the round to the totals. A fault ends the test and leaves the files.
static void judge(struct round *round, int64_t *totals)
{
    sqlite3 *facts = checker_open(&round->scratch);
    int64_t faults = 0;
    for (size_t i = 0; i < checks_count; i++) {
        int64_t number = checker_count(facts, checks[i].name);
        totals[i] += number;
        faults += checks[i].planted ? number : 0;
        if (checks[i].planted && number)
            print_error("%s: %lld, see %s\n", checks[i].name, (long long)number,
                        round->scratch.path);
    }
    checker_close(facts);
    EXPECT_INT(faults, 0);
}

static int64_t total_of(const int64_t *totals, const char *name)
{
    for (size_t i = 0; i < checks_count; i++)
        if (strcmp(checks[i].name, name) == 0)
            return totals[i];
    return -1;
}

static void print_totals(const struct loop *loop)
{
    printf("kill loop: seed %llu, %lld cycles, %lld kills, 0 violations after each",
           (unsigned long long)loop->seed, (long long)loop->cycles, (long long)loop->kills);
    for (size_t i = 0; i < checks_count; i++)
        printf(", %s %lld", checks[i].name, (long long)loop->totals[i]);
    printf("\n");
    EXPECT_INT(torture_end(&(struct torture){ .name = "kill",
                                              .tried = loop->kills,
                                              .survived = loop->kills,
                                              .not_reached = checks_not_met(loop->totals) }),
               0);
}

// The run was worth its name: processes died in the middle of calls, and work was done again.
static bool worth_it(const struct loop *loop)
{
    return loop->kills >= loop->cycles && total_of(loop->totals, "calls_cut_off") > 0
        && total_of(loop->totals, "re-runs") > 0;
}

// On a busy machine processes die before they have begun, and it takes more cycles.
TEST(JOB_6_processes_killed_at_random_lose_nothing_and_do_nothing_twice)
{
    struct loop loop = { .cycles = setting("KILL_CYCLES", CYCLES),
                         .seed = (uint64_t)setting("KILL_SEED", now_us() % 1000000),
                         .totals = arena_new(test_arena(), int64_t, checks_count) };
    uint64_t dice = loop.seed;
    printf("kill loop: seed %llu\n", (unsigned long long)loop.seed);
    for (int64_t done = 0, most = CYCLES_MORE * loop.cycles;
         done < loop.cycles || (done < most && !worth_it(&loop));) {
        struct round round;
        int64_t until = done < loop.cycles ? loop.cycles : most;
        round_open(&round, roll(&dice), "worker");
        for (int64_t i = 0; i < ROUND_CYCLES && done < until; i++, done++) {
            cycle(&round);
            must_verify(&round);
        }
        drain(&round);
        must_verify(&round);
        judge(&round, loop.totals);
        scratch_close(&round.scratch);
        loop.kills += round.kills;
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\rkill loop: %lld of %lld cycles", (long long)done,
                    (long long)loop.cycles);
    }
    print_totals(&loop);
    EXPECT(worth_it(&loop));
}

static void create_store(struct round *round)
{
    struct process first = process_start("puppet", scratch_store(&round->scratch), "first");
    EXPECT_INT(process_end(&first), 0);
}

// With the commit boundary switched off in the worker that stalls, the same loop finds its effect
// done twice.
TEST(EXEC_5_the_kill_loop_sees_a_worker_without_the_commit_boundary)
{
    struct round round;
    int64_t found = 0, stale = 0;
    round_open(&round, (uint64_t)now_us(), "worker_without_boundary");
    create_store(&round);
    for (int i = 0; i < CANARY_CYCLES && (found == 0 || stale == 0); i++) {
        cycle(&round);
        sqlite3 *facts = checker_open(&round.scratch);
        found = checker_count(facts, "double_effects");
        stale = checker_count(facts, "stale_commits");
        checker_close(facts);
    }
    EXPECT(found > 0);
    EXPECT(stale > 0);
    for (size_t i = 0; i < SEATS; i++)
        seat_kill(&round, &round.seats[i]);
    scratch_close(&round.scratch);
}

// A run without any fault, for the faults that are planted in what it left.
static void quiet_round(struct round *round)
{
    round_open(round, 1, "worker");
    create_store(round);
    round->seats[0].process = seat_start(round, &round->seats[0], NULL);
    round->seats[2].process = seat_start(round, &round->seats[2], NULL);
    for (int i = 0; i < 1000; i++) {
        wait_ms(20);
        if (scratch_number(&round->scratch, "SELECT count(*) FROM effects") > 40)
            break;
    }
    drain(round);
}

TEST(JOB_6_the_checker_sees_every_fault_it_looks_for)
{
    struct round round;
    quiet_round(&round);
    for (size_t i = 0; i < checks_count; i++) {
        if (!checks[i].planted)
            continue;
        sqlite3 *facts = checker_open(&round.scratch);
        EXPECT_INT(checker_count(facts, checks[i].name), 0);
        checker_run(facts, checks[i].planted);
        if (checker_count(facts, checks[i].name) == 0)
            print_error("%s is not seen\n", checks[i].name);
        EXPECT(checker_count(facts, checks[i].name) > 0);
        checker_close(facts);
    }
    scratch_close(&round.scratch);
}

TEST(JOB_6_the_checker_ignores_a_line_that_was_cut_short)
{
    struct round round;
    quiet_round(&round);
    sqlite3 *before = checker_open(&round.scratch);
    FILE *log = fopen(scratch_file(&round.scratch, "w1.log"), "a");
    EXPECT(log != NULL);
    fputs("> 1 commit\n\n! w1 .\n> 1 commit x .\n< 1 ok x y 1\n", log);
    fclose(log);
    sqlite3 *after = checker_open(&round.scratch);
    EXPECT_INT(checker_count(after, "calls"), checker_count(before, "calls") + 1);
    EXPECT_INT(checker_count(after, "calls_cut_off"), checker_count(before, "calls_cut_off") + 1);
    EXPECT_INT(checker_count(after, "stale_commits"), 0);
    checker_close(before);
    checker_close(after);
    scratch_close(&round.scratch);
}
