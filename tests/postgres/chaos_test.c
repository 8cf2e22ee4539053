// Three programs that enqueue and work on one server, and everything that can go wrong with it:
// it crashes and comes back, its sessions are ended or killed, one of the programs dies and is
// replaced. Nothing is lost, nothing is done twice (tests/crowds.h).
//
//     POSTGRES_BLOWS=200 POSTGRES_SEED=7 postgres_chaos_test
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crowds.h"
#include "torture.h"

enum { BLOWS = 4,
       CALM_MS = 1500 };

static void restart_server(struct crowds *crowds)
{
    (void)crowds;
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
static int64_t of_sessions(struct crowds *crowds, const char *what)
{
    const char *sql = str_format(test_arena(), "SELECT coalesce(%s, 0)%s", what, sessions).s;
    int64_t number = 0;
    for (int i = 0; i < 600 && (number = scratch_number(&crowds->scratch, sql)) <= 0; i++)
        wait_ms(50);
    EXPECT(number > 0);
    return number;
}

static void end_sessions(struct crowds *crowds)
{
    of_sessions(crowds, "count(pg_terminate_backend(pid))");
}

// The server takes all its sessions down then, and recovers as after a crash.
static void kill_session(struct crowds *crowds)
{
    EXPECT(kill((pid_t)of_sessions(crowds, "max(pid)"), SIGKILL) == 0);
}

static void replace_program(struct crowds *crowds)
{
    crowd_replace(crowds, (int)(crowds_roll(crowds) % CROWDS));
}

static void (*const blows[])(struct crowds *crowds) = { restart_server, end_sessions, kill_session,
                                                        replace_program };

TEST(JOB_6_programs_on_a_server_that_crashes_lose_nothing_and_do_nothing_twice)
{
    int64_t seed = torture_asked("POSTGRES_SEED", now_us() % 1000000);
    int64_t wanted = torture_asked("POSTGRES_BLOWS", BLOWS);
    struct crowds crowds;
    char title[64];
    printf("postgres chaos: seed %lld\n", (long long)seed);
    crowds_start(&crowds, (uint64_t)seed);
    for (int64_t i = 0; i < wanted; i++) {
        wait_ms((int64_t)(CALM_MS / 2 + crowds_roll(&crowds) % CALM_MS));
        blows[i % (int64_t)countof(blows)](&crowds);
    }
    snprintf(title, sizeof title, "postgres chaos: %lld blows", (long long)wanted);
    crowds_end(&crowds, title);
    torture_end(&(struct torture){ .name = "postgres chaos", .tried = wanted, .survived = wanted });
}
