// Three programs that enqueue and work on one server, and everything that can go wrong with it:
// it crashes and comes back, its sessions are ended or killed, one of the programs dies and is
// replaced. Nothing is lost, nothing is done twice, by the word of the checker, which knows only
// what the programs wrote down and what is in the store (tests/checker.h).
//
//     POSTGRES_BLOWS=200 POSTGRES_SEED=7 postgres_chaos_test
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checker.h"
#include "engine/verify.h"
#include "process.h"
#include "torture.h"

enum { PROGRAMS = 3,
       BLOWS = 4,
       CALM_MS = 1500 };

struct chaos {
    struct scratch scratch;
    uint64_t dice;
    struct process programs[PROGRAMS];
};

static uint64_t roll(struct chaos *chaos)
{
    uint64_t z = chaos->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static struct process start(struct chaos *chaos, int number, const char *word)
{
    char seed[24], name[16], log[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)roll(chaos) >> 2);
    snprintf(name, sizeof name, "crowd-%d", number);
    snprintf(log, sizeof log, "crowd-%d.log", number);
    struct process process = process_start("crowd", scratch_store(&chaos->scratch),
                                           scratch_file(&chaos->scratch, log), name, seed,
                                           "patient", word);
    EXPECT(strcmp(process_hear(&process), "ready") == 0);
    return process;
}

// ----- blows

static void restart_server(struct chaos *chaos)
{
    (void)chaos;
    int status = 0;
    const char *source = getenv("SOURCE"), *box = getenv("PAWL_TEST_BOX");
    EXPECT(source && box);
    const char *script = str_format(test_arena(), "%s/tests/postgres/run", source).s;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        execl(script, script, "--restart", box, (char *)NULL);
        _exit(127);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static const char sessions[] = " FROM pg_stat_activity WHERE application_name = 'pawl'"
                               " AND datname = current_database()";

// Of all that there are at a time; after a restart they come back by and by.
static int64_t of_sessions(struct chaos *chaos, const char *what)
{
    const char *sql = str_format(test_arena(), "SELECT coalesce(%s, 0)%s", what, sessions).s;
    int64_t number = 0;
    for (int i = 0; i < 600 && (number = scratch_number(&chaos->scratch, sql)) <= 0; i++)
        wait_ms(50);
    EXPECT(number > 0);
    return number;
}

static void end_sessions(struct chaos *chaos)
{
    of_sessions(chaos, "count(pg_terminate_backend(pid))");
}

// The server takes all its sessions down then, and recovers as after a crash.
static void kill_session(struct chaos *chaos)
{
    EXPECT(kill((pid_t)of_sessions(chaos, "max(pid)"), SIGKILL) == 0);
}

static void replace_program(struct chaos *chaos)
{
    int number = (int)(roll(chaos) % PROGRAMS);
    process_kill(&chaos->programs[number]);
    chaos->programs[number] = start(chaos, number, NULL);
}

static void (*const blows[])(struct chaos *chaos) = { restart_server, end_sessions, kill_session,
                                                      replace_program };

// ----- the judgement

static void drain(struct chaos *chaos)
{
    static const char left[] = "SELECT count(*) FROM pawl_jobs WHERE completed_at IS NULL";
    for (int i = 0; i < PROGRAMS; i++) {
        EXPECT_INT(process_ended(&chaos->programs[i]), -1);  // it had no reason to end by itself
        process_kill(&chaos->programs[i]);
    }
    for (int i = 0; i < PROGRAMS; i++)
        chaos->programs[i] = start(chaos, i, "drain");
    for (int i = 0; i < 3000 && scratch_number(&chaos->scratch, left) != 0; i++)
        wait_ms(20);
    EXPECT_INT(scratch_number(&chaos->scratch, left), 0);
    for (int i = 0; i < PROGRAMS; i++)
        EXPECT_INT(process_end(&chaos->programs[i]), 0);
}

static void print_violation(void *self, const struct violation *violation)
{
    (void)self;
    print_error("%s: job %.*s: %.*s\n", violation->invariant, STR(violation->job_id),
                STR(violation->detail));
}

static void must_verify(struct chaos *chaos)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct db_options options = { .url = str_of(scratch_store(&chaos->scratch)) };
    MUST(db_open(&db, &options, &err));
    MUST(verify(db, &(struct verify_options){ .found = print_violation }, &verified, &err));
    db_close(db);
    EXPECT_INT(verified.violations, 0);
}

// That callers were told `busy` or `in_doubt` is no fault here; they ask again until they know.
static bool is_fault(const struct check *check)
{
    return check->planted && strcmp(check->name, "errors") != 0;
}

static void judge(struct chaos *chaos, int64_t struck)
{
    sqlite3 *facts = checker_open(&chaos->scratch);
    int64_t faults = 0;
    printf("postgres chaos: %lld blows", (long long)struck);
    for (size_t i = 0; i < checks_count; i++) {
        int64_t number = checker_count(facts, checks[i].name);
        faults += is_fault(&checks[i]) ? number : 0;
        printf(", %s %lld", checks[i].name, (long long)number);
    }
    printf("\n");
    EXPECT(checker_count(facts, "succeeded") > 0);
    checker_close(facts);
    EXPECT_INT(faults, 0);
}

TEST(JOB_6_programs_on_a_server_that_crashes_lose_nothing_and_do_nothing_twice)
{
    int64_t seed = torture_asked("POSTGRES_SEED", now_us() % 1000000);
    int64_t wanted = torture_asked("POSTGRES_BLOWS", BLOWS);
    struct chaos chaos = { .scratch = scratch_open(), .dice = (uint64_t)seed };
    printf("postgres chaos: seed %lld\n", (long long)seed);
    for (int i = 0; i < PROGRAMS; i++)
        chaos.programs[i] = start(&chaos, i, NULL);
    for (int64_t i = 0; i < wanted; i++) {
        wait_ms((int64_t)(CALM_MS / 2 + roll(&chaos) % CALM_MS));
        blows[i % (int64_t)countof(blows)](&chaos);
    }
    drain(&chaos);
    must_verify(&chaos);
    judge(&chaos, wanted);
    scratch_close(&chaos.scratch);
}
