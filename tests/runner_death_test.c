// Programs with Pawl inside them that die, stall, and share a store (tests/programs/host.c).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/world.h"
#include "outside.h"
#include "process.h"
#include "store/hold.h"
#include "store/lock_file.h"

#define HEARS(process, expected) \
    expect_str(str_of(process_hear(process)), str_of(expected), PLACE(expected))

static struct process host(const struct scratch *scratch, const char *name)
{
    return process_start("host", scratch_store(scratch), name);
}

// A job whose handler begins at once: its first word and the answer may come in any order. The
// answer is the job's id.
static const char *begin(struct process *process, const char *type)
{
    const char *id = NULL;
    process_tell(process, str_format(test_arena(), "enqueue %s", type).s);
    for (int heard = 0; heard < 2; heard++) {
        struct str line = str_dup(test_arena(), str_of(process_hear(process)));
        if (str_starts(line, S("ok ")))
            id = line.s + 3;
        else
            expect_str(line, str_format(test_arena(), "%s 1", type), PLACE("it begins"));
    }
    EXPECT(id != NULL);
    return id;
}

static int64_t count(const struct scratch *scratch, const char *table, const char *where)
{
    return scratch_number(scratch, str_format(test_arena(), "SELECT count(*) FROM %s WHERE %s",
                                              table, where)
                                       .s);
}

static void wait_for(const struct scratch *scratch, const char *table, const char *where)
{
    for (int i = 0; i < 6000 && count(scratch, table, where) == 0; i++)
        wait_ms(10);
    EXPECT(count(scratch, table, where) > 0);
}

static int64_t effects(const struct scratch *scratch)
{
    return count(scratch, "effects", "1 = 1");
}

// ----- death

TEST(RUN_5_what_a_killed_program_ran_is_ended_by_policy_before_it_works_again)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    begin(&a, "document");
    begin(&a, "lifecycle");
    process_kill(&a);
    EXPECT_INT(count(&scratch, "pawl_jobs", "state = 'RUNNING'"), 2);
    a = host(&scratch, "A");
    HEARS(&a, "ready");
    HEARS(&a, "log RUNS_RECOVERED");  // and no handler has begun
    EXPECT_INT(count(&scratch, "pawl_jobs", "state = 'FAILED' AND job_type = 'document'"
                                            " AND failure_type = 'PROCESS_TERMINATED'"),
               1);
    HEARS(&a, "lifecycle 2");
    process_tell(&a, "go");
    wait_for(&scratch, "pawl_jobs", "state = 'SUCCEEDED' AND job_type = 'lifecycle'");
    EXPECT_INT(process_end(&a), 0);
    scratch_close(&scratch);
}

TEST(RUN_5_a_second_program_of_the_same_name_is_refused_while_the_first_lives)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    struct process second = host(&scratch, "A");
    HEARS(&second, "ready");
    EXPECT(strstr(process_hear(&second), "instance A runs already") != NULL);
    EXPECT_INT(process_end(&second), 1);
    EXPECT_INT(process_end(&a), 0);
    scratch_close(&scratch);
}

// A killed process has its name until the kernel has put it away, and so has a child it had forked
// and that had not become another program yet.
TEST(RUN_5_a_name_that_is_about_to_be_let_go_is_waited_for)
{
    struct scratch scratch = scratch_open();
    struct hold hold = {0};
    struct pawl_error err = {0};
    MUST(hold_take(&hold, str_of(scratch_store(&scratch)), S("A"), &err));
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    world_sleep(world_real(), MILLISECONDS(100));  // it has asked for the name by then, mostly
    hold_give(&hold);
    EXPECT_INT(process_end(&a), 0);
    scratch_close(&scratch);
}

TEST(RUN_6_the_result_of_a_step_outlives_its_process)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    process_tell(&a, "enqueue steps");
    for (bool both = false; !both;)  // the answer comes in between
        both = strcmp(process_hear(&a), "computes sum") == 0;
    process_kill(&a);
    a = host(&scratch, "A");
    HEARS(&a, "ready");
    HEARS(&a, "log RUNS_RECOVERED");
    HEARS(&a, "computes sum");  // and not `read`
    process_tell(&a, "go");
    wait_for(&scratch, "pawl_jobs", "state = 'SUCCEEDED'");
    EXPECT_INT(process_end(&a), 0);
    scratch_close(&scratch);
}

TEST(EXEC_7_killed_between_commit_and_done_only_the_commit_phase_is_repeated)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    char finish[64];
    HEARS(&a, "ready");
    begin(&a, "pay");
    snprintf(finish, sizeof finish, "%s", process_hear(&a));
    EXPECT(strncmp(finish, "finish ", 7) == 0);
    EXPECT_INT(effects(&scratch), 1);
    process_kill(&a);
    a = host(&scratch, "A");
    HEARS(&a, "ready");
    HEARS(&a, "log RUNS_RECOVERED");
    HEARS(&a, finish);  // the same key, and no second preparation
    process_tell(&a, "go");
    wait_for(&scratch, "pawl_jobs", "state = 'SUCCEEDED'");
    EXPECT_INT(effects(&scratch), 1);
    EXPECT_INT(process_end(&a), 0);
    EXPECT_INT(count(&scratch, "pawl_executions", "1 = 1"), 1);
    scratch_close(&scratch);
}

// ----- FM_001

// Whether somebody has a transaction open on the server.
static bool writes_on_server(const struct scratch *scratch)
{
    static const char under_way[] = "datname = current_database() AND xact_start IS NOT NULL"
                                    " AND application_name = 'pawl'";
    return count(scratch, "pg_stat_activity", under_way) > 0;
}

static bool writes(const struct scratch *scratch)
{
    if (on_postgres())
        return writes_on_server(scratch);
    char *path = NULL;
    int fd = -1;
    struct pawl_error err = {0};
    MUST(lock_file_path(str_of(scratch_store(scratch)), &path, &err));
    MUST(lock_file_open(path, &fd, &err));
    bool idle = lock_byte(fd, LOCK_TURNSTILE, F_WRLCK) && lock_byte(fd, LOCK_WRITER, F_WRLCK);
    close(fd);
    free(path);
    return !idle;
}

// A program that is stopped in the middle of a transaction keeps everybody from writing until it
// goes on: that is another story than a stalled handler.
static void stall(const struct scratch *scratch, struct process *process)
{
    process_stop(process);
    for (int tries = 0; writes(scratch); tries++) {
        EXPECT(tries < 1000);
        process_wake(process);
        world_sleep(world_real(), MILLISECONDS(1));
        process_stop(process);
    }
}

TEST(EXEC_9_a_program_that_stalls_past_its_lease_is_refused_and_told)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    begin(&a, "brief");
    stall(&scratch, &a);
    struct process b = host(&scratch, "B");
    HEARS(&b, "ready");
    HEARS(&b, "brief 2");  // once A's lease of a second is over
    process_tell(&b, "go");
    wait_for(&scratch, "pawl_jobs", "state = 'SUCCEEDED'");
    EXPECT_INT(effects(&scratch), 1);
    process_wake(&a);
    for (int heard = 0; heard < 2; heard++) {
        const char *line = process_hear(&a);
        EXPECT(strcmp(line, "log LEASE_LOST") == 0 || strcmp(line, "told 2") == 0);
    }
    EXPECT_INT(process_end(&b), 0);  // or B might take the next job
    process_tell(&a, "go");
    begin(&a, "quick");  // A goes on working
    wait_for(&scratch, "pawl_jobs", "state = 'SUCCEEDED' AND job_type = 'quick'");
    EXPECT_INT(process_end(&a), 0);
    EXPECT_INT(effects(&scratch), 1);
    EXPECT_INT(count(&scratch, "effects", "worker = 'B' AND attempt = 2"), 1);
    scratch_close(&scratch);
}

// The same, and A's handler is done the moment it wakes: its commit races with the bad news.
TEST(EXEC_9_a_program_that_commits_as_it_wakes_is_refused)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    begin(&a, "brief");
    stall(&scratch, &a);
    process_tell(&a, "go");
    struct process b = host(&scratch, "B");
    HEARS(&b, "ready");
    HEARS(&b, "brief 2");
    process_wake(&a);  // B still works on it
    EXPECT_INT(process_end(&a), 0);
    EXPECT_INT(effects(&scratch), 0);
    process_tell(&b, "go");
    wait_for(&scratch, "pawl_jobs", "state = 'SUCCEEDED'");
    EXPECT_INT(process_end(&b), 0);
    EXPECT_INT(count(&scratch, "effects", "worker = 'B' AND attempt = 2"), 1);
    EXPECT_INT(effects(&scratch), 1);
    scratch_close(&scratch);
}

// ----- from another process

// The command line, as another process.
static void pawl_command(const struct scratch *scratch, const char *verb, const char *subject)
{
    struct process pawl = process_start("../../pawl", verb, subject, "--store",
                                        scratch_store(scratch));
    EXPECT_INT(process_end(&pawl), 0);
}

TEST(OPS_16_a_cancellation_from_another_process_is_heard)
{
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    HEARS(&a, "ready");
    const char *id = begin(&a, "lifecycle");
    pawl_command(&scratch, "cancel", id);
    HEARS(&a, "told 1");
    wait_for(&scratch, "pawl_jobs", "state = 'FAILED' AND failure_type = 'CANCELLED'");
    EXPECT_INT(count(&scratch, "pawl_audit", "event = 'job.cancel_requested'"), 1);
    EXPECT_INT(count(&scratch, "pawl_audit", "event = 'job.cancelled'"), 1);
    EXPECT_INT(process_end(&a), 0);
    scratch_close(&scratch);
}

static int64_t ticks(struct process *process)
{
    int64_t number = -1;
    const char *answer = process_ask(process, "ticks");
    EXPECT(strncmp(answer, "ticks ", 6) == 0 && str_int(str_of(answer + 6), &number));
    return number;
}

// Without the bell a job of another process would be found by a tick only. One that is found
// between two ticks shows that it rang.
TEST(RUN_10_work_from_another_process_is_picked_up_without_waiting_for_the_tick)
{
    enum { TRIES = 60 };
    struct scratch scratch = scratch_open();
    struct process a = host(&scratch, "A");
    bool rang = false;
    HEARS(&a, "ready");
    for (int i = 0; i < TRIES && !rang; i++) {
        int64_t before = ticks(&a);
        pawl_command(&scratch, "enqueue", "quick");
        HEARS(&a, "quick 1");
        rang = ticks(&a) == before;
    }
    EXPECT(rang);
    EXPECT_INT(process_end(&a), 0);
    scratch_close(&scratch);
}
