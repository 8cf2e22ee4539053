// The boot of an instance, with real processes: a name is held by one, its death is known at once,
// and what it left running gets its verdict before the next one works.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/verify.h"
#include "process.h"
#include "run/boot.h"
#include "store/hold.h"

#define HEARS(process, line, expected) \
    expect_str(str_of(process_ask((process), (line))), str_of(expected), PLACE(line))
#define SAYS(process, expected) \
    expect_str(str_of(process_hear(process)), str_of(expected), PLACE(expected))

// A process that was refused its name says so and ends.
static struct process start(const struct scratch *scratch, const char *name)
{
    return process_start("instance", scratch_store(scratch), name);
}

static struct process must_enter(const struct scratch *scratch, const char *name)
{
    struct process process = start(scratch, name);
    SAYS(&process, "ok");
    return process;
}

static void tell_all(struct process *process, const char *const *lines)
{
    for (; *lines; lines++)
        expect_str(str_of(process_ask(process, *lines)), S("ok"), PLACE(*lines));
}

#define TELLS(process, ...) tell_all((process), (const char *const[]){ __VA_ARGS__, NULL })

// How many jobs are in this state, and of this failure type (of none when NULL).
static int64_t jobs(const struct scratch *scratch, const char *state, const char *failure)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM pawl_jobs WHERE state = '%s'"
             " AND coalesce(failure_type, '') = '%s'",
             state, failure ? failure : "");
    return scratch_number(scratch, sql);
}

static void end(struct scratch *scratch)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    MUST(db_open(&db, &(struct db_options){ .url = str_of(scratch_store(scratch)) }, &err));
    MUST(verify(db, &(struct verify_options){0}, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    db_close(db);
    scratch_close(scratch);
}

// ----- what is recovered

TEST(RUN_5_killed_and_started_again_each_run_gets_the_verdict_of_its_policy)
{
    struct scratch scratch = scratch_open();
    struct process a = must_enter(&scratch, "a");
    HEARS(&a, "boot", "ok 0 0 0");
    TELLS(&a, "enqueue document", "start");
    TELLS(&a, "enqueue lifecycle", "start");
    TELLS(&a, "enqueue lifecycle", "start", "commit");
    TELLS(&a, "enqueue document", "start", "commit_done");
    process_kill(&a);
    EXPECT_INT(jobs(&scratch, "RUNNING", NULL), 3);
    a = must_enter(&scratch, "a");  // at once: nobody waits for liveness or a lease
    HEARS(&a, "boot", "ok 2 1 0");
    EXPECT_INT(jobs(&scratch, "FAILED", "PROCESS_TERMINATED"), 1);
    EXPECT_INT(jobs(&scratch, "RETRYING", NULL), 1);
    EXPECT_INT(jobs(&scratch, "SUCCEEDED", NULL), 2);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM effects"), 2);
    HEARS(&a, "boot", "ok 0 0 0");
    process_kill(&a);
    end(&scratch);
}

TEST(RUN_5_runs_of_other_instances_and_of_remote_workers_are_left_alone)
{
    struct scratch scratch = scratch_open();
    struct process a = must_enter(&scratch, "a"), b = must_enter(&scratch, "b"),
                   remote = must_enter(&scratch, "c");
    HEARS(&b, "boot", "ok 0 0 0");
    TELLS(&a, "enqueue document", "start");
    TELLS(&b, "enqueue document", "start");
    TELLS(&remote, "enqueue document", "start_remote");
    process_kill(&a);
    a = must_enter(&scratch, "a");
    HEARS(&a, "boot", "ok 1 0 0");
    HEARS(&b, "commit_done", "ok");
    HEARS(&remote, "commit_done", "ok");
    EXPECT_INT(jobs(&scratch, "FAILED", "PROCESS_TERMINATED"), 1);
    EXPECT_INT(jobs(&scratch, "SUCCEEDED", NULL), 2);
    process_kill(&a);
    process_kill(&b);
    process_kill(&remote);
    end(&scratch);
}

// A commit phase whose process died is free for another to run, and no second effect happens.
TEST(RUN_5_a_commit_phase_of_the_dead_process_is_handed_out_again)
{
    struct scratch scratch = scratch_open();
    struct process a = must_enter(&scratch, "a");
    TELLS(&a, "enqueue document", "start", "commit_finish");
    process_kill(&a);
    a = must_enter(&scratch, "a");
    HEARS(&a, "boot", "ok 0 1 0");
    HEARS(&a, "wait 0", "rung");
    TELLS(&a, "start", "done");
    EXPECT_INT(jobs(&scratch, "SUCCEEDED", NULL), 1);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM effects"), 1);
    process_kill(&a);
    end(&scratch);
}

// The process is killed after each transaction of its boot; the next one does what is left.
TEST(RUN_5_a_boot_killed_in_the_middle_is_finished_by_the_next)
{
    struct scratch scratch = scratch_open();
    static const struct {
        const char *line;
        int64_t left;
    } deaths[] = { { "boot 1", 250 }, { "boot 2", 150 }, { "boot 2", 50 }, { "boot 1", 50 } };
    struct process a = must_enter(&scratch, "a");
    HEARS(&a, "fill 250", "ok 250");
    process_kill(&a);
    for (size_t i = 0; i < countof(deaths); i++) {
        a = must_enter(&scratch, "a");
        HEARS(&a, deaths[i].line, "halfway");
        process_kill(&a);
        EXPECT_INT(jobs(&scratch, "RUNNING", NULL), deaths[i].left);
    }
    a = must_enter(&scratch, "a");
    HEARS(&a, "boot", "ok 50 0 0");
    EXPECT_INT(jobs(&scratch, "FAILED", "PROCESS_TERMINATED"), 250);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM pawl_audit"
                                        " WHERE event = 'job.failed'"),
               250);
    process_kill(&a);
    end(&scratch);
}

TEST(RUN_5_a_large_recovery_is_done_in_pieces_and_counted_as_a_whole)
{
    struct scratch scratch = scratch_open();
    struct process a = must_enter(&scratch, "a");
    HEARS(&a, "fill 250", "ok 250");
    process_kill(&a);
    a = must_enter(&scratch, "a");
    HEARS(&a, "boot", "ok 250 0 0");
    process_kill(&a);
    end(&scratch);
}

// Two jobs whose records contradict each other stay as they are, are met by every piece, and keep
// nobody else from being recovered.
TEST(RUN_5_damaged_jobs_are_left_to_the_operator_and_counted_once)
{
    struct scratch scratch = scratch_open();
    struct process a = must_enter(&scratch, "a");
    HEARS(&a, "fill 250", "ok 250");
    process_kill(&a);
    scratch_number(&scratch, "INSERT INTO parked (job, org, reason) SELECT id, org, 'held'"
                             " FROM jobs ORDER BY id LIMIT 2");
    a = must_enter(&scratch, "a");
    HEARS(&a, "boot", "ok 248 0 2");
    process_kill(&a);
    scratch_close(&scratch);
}

// ----- the instance and its boots

static bool read_instance(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    (void)self;
    return instance_alive(tx, &(struct instance){ S("a"), S("first") }, err);
}

static bool no_longer_alive(struct pipeline *pipeline)
{
    SCOPED(arena) struct arena arena = {0};
    struct operation look = { .run = read_instance, .arena = &arena };
    struct pawl_error err = {0};
    return !pipeline_do(pipeline, &look, &err) && err.code == PAWL_FENCED;
}

TEST(RUN_5_an_instance_that_left_is_not_alive_and_one_that_was_replaced_learns_it)
{
    struct scratch scratch = scratch_open();
    struct pipeline *pipeline = NULL;
    struct pawl_error err = {0};
    struct recovered total = {0};
    struct pipeline_options options = { .db = { .url = str_of(scratch_store(&scratch)) } };
    struct instance first = { S("a"), S("first") }, second = { S("a"), S("second") };
    MUST(pipeline_open(&pipeline, &options, &err));
    MUST(boot_enter(pipeline, &first, true, &total, &err));
    EXPECT(!no_longer_alive(pipeline));
    EXPECT_INT(scratch_number(&scratch, "SELECT alive_until > started_at FROM instances"), 1);
    MUST(boot_leave(pipeline, &first, &err));
    EXPECT_INT(scratch_number(&scratch, "SELECT alive_until FROM instances"), 0);
    MUST(boot_enter(pipeline, &first, true, &total, &err));
    MUST(boot_enter(pipeline, &second, true, &total, &err));
    EXPECT(no_longer_alive(pipeline));
    EXPECT_REFUSED(PAWL_INVALID, boot_enter(pipeline, &(struct instance){ S(""), S("x") }, true,
                                            &total, &err));
    pipeline_close(pipeline);
    end(&scratch);
}

TEST(RUN_5_every_start_has_a_boot_id_of_its_own)
{
    struct str one = boot_id_new(world_real(), test_arena());
    struct str two = boot_id_new(world_real(), test_arena());
    EXPECT(one.n == ID_TEXT && two.n == ID_TEXT && !str_eq(one, two));
}

// ----- the hold

TEST(RUN_5_a_second_live_process_of_the_same_name_is_refused)
{
    struct scratch scratch = scratch_open();
    struct process a = must_enter(&scratch, "a"), b = must_enter(&scratch, "b");
    TELLS(&a, "enqueue document", "start");
    struct process second = start(&scratch, "a");
    SAYS(&second, "conflict");
    EXPECT_INT(process_end(&second), 0);
    process_stop(&a);  // a process that is stopped is not dead
    second = start(&scratch, "a");
    SAYS(&second, "conflict");
    EXPECT_INT(process_end(&second), 0);
    process_wake(&a);
    HEARS(&a, "commit_done", "ok");
    EXPECT_INT(process_end(&a), 0);
    a = must_enter(&scratch, "a");
    process_kill(&a);
    process_kill(&b);
    end(&scratch);
}

TEST(RUN_5_of_two_processes_that_start_at_once_one_has_the_name)
{
    struct scratch scratch = scratch_open();
    for (int i = 0; i < 10; i++) {
        struct process both[] = { start(&scratch, "a"), start(&scratch, "a") };
        bool first = strcmp(process_hear(&both[0]), "ok") == 0;
        SAYS(&both[1], first ? "conflict" : "ok");
        EXPECT_INT(process_end(&both[first]), 0);
        process_kill(&both[!first]);
    }
    end(&scratch);
}

SQLITE_ONLY(RUN_5_a_name_is_held_by_every_path_that_leads_to_the_store, "paths of a file")
TEST(RUN_5_a_name_is_held_by_every_path_that_leads_to_the_store)
{
    struct scratch scratch = scratch_open();
    struct hold hold = {0}, again = {0};
    struct pawl_error err = {0};
    struct process a = must_enter(&scratch, "a");  // and so there is a store
    EXPECT(symlink("pawl.db", scratch_file(&scratch, "link.db")) == 0);
    EXPECT(symlink(".", scratch_file(&scratch, "here")) == 0);
    static const char *const paths[] = { "pawl.db", "link.db", "here/pawl.db", "here/link.db" };
    for (size_t i = 0; i < countof(paths); i++) {
        struct str url = str_format(test_arena(), "sqlite:%s/%s", scratch.path, paths[i]);
        EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&hold, url, S("a"), &err));
        MUST(hold_take(&hold, url, S("b"), &err));
        EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&again, url, S("b"), &err));  // nor by ourselves
        hold_give(&hold);
        hold_give(&hold);
    }
    EXPECT_REFUSED(PAWL_USAGE, hold_take(&hold, S("sqlite::memory:"), S("a"), &err));
    EXPECT_REFUSED(PAWL_STORE, hold_take(&hold, S("sqlite:/nowhere/pawl.db"), S("a"), &err));
    process_kill(&a);
    end(&scratch);
}

TEST(RUN_5_a_name_of_one_store_is_free_in_another)
{
    struct scratch one = scratch_open(), two = scratch_open();
    struct process a = must_enter(&one, "a"), b = must_enter(&two, "a");
    process_kill(&a);
    process_kill(&b);
    end(&one);
    end(&two);
}

// A program that was started does not keep the name: its descriptor is closed by exec.
TEST(RUN_5_a_program_that_the_holder_started_does_not_keep_its_name)
{
    struct scratch scratch = scratch_open();
    struct str url = str_of(scratch_store(&scratch));
    struct hold hold = {0};
    struct pawl_error err = {0};
    MUST(hold_take(&hold, url, S("a"), &err));
    struct process child = must_enter(&scratch, "b");
    hold_give(&hold);
    MUST(hold_take(&hold, url, S("a"), &err));
    hold_give(&hold);
    process_kill(&child);
    end(&scratch);
}

// A child that was forked and did not become another program has the hold as well.
SQLITE_ONLY(RUN_5_a_forked_child_keeps_the_name_until_it_ends,
            "a lock of a file; a session ends with what its owner says to the server")
TEST(RUN_5_a_forked_child_keeps_the_name_until_it_ends)
{
    struct scratch scratch = scratch_open();
    struct str url = str_of(scratch_store(&scratch));
    struct hold hold = {0}, again = {0};
    struct pawl_error err = {0};
    int wait_for[2], status = 0;
    char end_of_parent;
    EXPECT(pipe(wait_for) == 0);
    MUST(hold_take(&hold, url, S("a"), &err));
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        close(wait_for[1]);
        _exit(read(wait_for[0], &end_of_parent, 1) == 0 ? 0 : 1);
    }
    hold_give(&hold);
    EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&again, url, S("a"), &err));
    close(wait_for[0]);
    close(wait_for[1]);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    MUST(hold_take(&again, url, S("a"), &err));
    hold_give(&again);
    scratch_close(&scratch);
}

// Without its lock file a store has no holds. Two processes may then have one name; the fence
// decides who goes on.
SQLITE_ONLY(RUN_5_when_the_lock_file_is_removed_the_newer_process_goes_on, "the lock file")
TEST(RUN_5_when_the_lock_file_is_removed_the_newer_process_goes_on)
{
    struct scratch scratch = scratch_open();
    struct process old = must_enter(&scratch, "a");
    HEARS(&old, "boot", "ok 0 0 0");
    TELLS(&old, "enqueue lifecycle", "start");
    EXPECT(unlink(scratch_file(&scratch, "pawl.db-lock")) == 0);
    struct process new = must_enter(&scratch, "a");
    HEARS(&new, "boot", "ok 1 0 0");
    HEARS(&old, "heartbeat", "lease_lost");
    HEARS(&old, "commit_done", "lease_lost");
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM effects"), 0);
    process_kill(&old);
    process_kill(&new);
    end(&scratch);
}

TEST(RUN_5_processes_without_a_name_are_numbered)
{
    struct scratch scratch = scratch_open();
    struct str url = str_of(scratch_store(&scratch)), name;
    struct hold holds[HOLD_NUMBER_MAX] = {0}, one_more = {0};
    struct pawl_error err = {0};
    struct arena *arena = test_arena();
    for (int i = 0; i < HOLD_NUMBER_MAX; i++) {
        MUST(hold_take_any(&holds[i], url, S("host:web"), &name, arena, &err));
        struct str expected = i == 0 ? S("host:web") : str_format(arena, "host:web#%d", i + 1);
        expect_str(name, expected, PLACE("the next number"));
    }
    EXPECT_REFUSED(PAWL_CONFLICT,
                   hold_take_any(&one_more, url, S("host:web"), &name, arena, &err));
    MUST(hold_take_any(&one_more, url, S("host:cron"), &name, arena, &err));
    EXPECT_STR(name, "host:cron");
    hold_give(&one_more);
    hold_give(&holds[1]);
    MUST(hold_take_any(&holds[1], url, S("host:web"), &name, arena, &err));
    EXPECT_STR(name, "host:web#2");  // the one that is free, as after a restart
    for (int i = 0; i < HOLD_NUMBER_MAX; i++)
        hold_give(&holds[i]);
    scratch_close(&scratch);
}
