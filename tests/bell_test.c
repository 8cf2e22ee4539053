// The bell: what became ready wakes whoever waits, in this process and in others, and nothing else
// does. Events are there when the call that makes them comes back, so "was it rung by now" has one
// answer and nobody waits for silence.
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "faulty_vfs.h"
#include "process.h"
#include "run/pipeline.h"
#include "store/bell.h"

#define HEARS(process, line, expected) \
    expect_str(str_of(process_ask((process), (line))), str_of(expected), PLACE(line))

static struct bell *must_open(struct str url)
{
    struct bell *bell = NULL;
    struct pawl_error err = {0};
    MUST(bell_open(&bell, url, &err));
    EXPECT(bell_hears_others(bell));
    return bell;
}

static bool rung(struct bell *bell)
{
    return bell_wait(bell, 0);
}

// ----- the bell itself

TEST_EACH_DB(RUN_10_a_ring_waits_for_whoever_comes_and_many_are_one)
{
    struct bell *bell = must_open(box->url);
    EXPECT(!rung(bell));
    for (int i = 0; i < 1000; i++)
        bell_ring(bell);
    EXPECT(bell_wait(bell, -1));
    EXPECT(!rung(bell));
    bell_close(bell);
    bell_close(NULL);
}

static void *ring_once(void *bell)
{
    bell_ring(bell);
    return NULL;
}

TEST_EACH_DB(RUN_10_another_thread_rings)
{
    struct bell *bell = must_open(box->url);
    pthread_t thread;
    EXPECT_INT(pthread_create(&thread, NULL, ring_once, bell), 0);
    EXPECT(bell_wait(bell, -1));
    pthread_join(thread, NULL);
    bell_close(bell);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

TEST_EACH_DB(RUN_10_a_signal_neither_rings_nor_ends_the_waiting)
{
    struct bell *bell = must_open(box->url);
    struct sigaction action = { .sa_handler = count_signal }, before;
    struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = {0};
    EXPECT(sigaction(SIGALRM, &action, &before) == 0);
    EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
    int64_t start = world_monotonic(world_real());
    bool was_rung = bell_wait(bell, MILLISECONDS(50));
    int64_t waited = world_monotonic(world_real()) - start;
    EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
    EXPECT(sigaction(SIGALRM, &before, NULL) == 0);
    EXPECT(!was_rung && signals > 0 && waited >= MILLISECONDS(50));
    bell_close(bell);
}

// Leaves room for two more descriptors: the bell needs three.
static void leave_two_descriptors(struct rlimit *before)
{
    int first = dup(STDIN_FILENO), second = dup(STDIN_FILENO);
    EXPECT(first >= 0 && second > first && getrlimit(RLIMIT_NOFILE, before) == 0);
    close(first);
    close(second);
    EXPECT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)second + 1, before->rlim_max }) == 0);
}

TEST_EACH_DB(RUN_10_without_inotify_the_bell_hears_its_own_process)
{
    struct bell *bell = NULL;
    struct rlimit before;
    struct pawl_error err = {0};
    leave_two_descriptors(&before);
    bool opened = bell_open(&bell, box->url, &err);
    EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0);
    EXPECT(opened && !bell_hears_others(bell));
    EXPECT(!rung(bell));
    bell_ring(bell);
    EXPECT(rung(bell));
    bell_close(bell);
    EXPECT_REFUSED(PAWL_USAGE, bell_open(&bell, S("mysql://x"), &err));
}

// ----- what rings

// The box's own connection rings from here on.
static struct bell *box_with_bell(struct box *box)
{
    NEEDS_EVERY_ANSWER("a commit by hand that is in doubt rings nobody: that is the pipeline's");
    struct bell *bell = must_open(box->url);
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .world = &box->world.world, .bell = bell };
    db_close(box->db);
    MUST(db_open(&box->db, &options, &err));
    EXPECT(!rung(bell));
    return bell;
}

static void end_bell(struct box *box, struct bell *bell)
{
    box_reopen(box);  // the connection must not outlive its bell
    bell_close(bell);
}

TEST_EACH_DB(RUN_10_a_job_rings_when_it_becomes_ready)
{
    struct bell *bell = box_with_bell(box);
    struct contract contract = contract_with(box, "report", "lifecycle");
    must_add(box, &contract);
    EXPECT(rung(bell));
    struct lease lease = must_start(box, "A");
    EXPECT(!rung(bell));
    must_fail(box, &lease, ERROR_TRANSIENT);  // and waits for its retry
    EXPECT(!rung(bell));
    pass(box, SECONDS(1));
    EXPECT_INT(must_sweep(box).due, 1);
    EXPECT(rung(bell));
    lease = must_start(box, "A");
    struct execution e;
    OK(execution_release(tx, &lease, &e, err));
    EXPECT(rung(bell));
    lease = must_start(box, "A");
    must_commit(box, &lease);
    EXPECT(!rung(bell));
    end_bell(box, bell);
}

TEST_EACH_DB(RUN_10_a_job_that_must_wait_rings_only_when_its_time_has_come)
{
    struct bell *bell = box_with_bell(box);
    struct contract delayed = contract_for(box, "report");
    delayed.scheduled_for = box->world.wall + SECONDS(60);
    must_add(box, &delayed);
    EXPECT(!rung(bell));
    struct contract contract = contract_for(box, "report");
    contract.hold = true;
    struct job held = must_add(box, &contract);
    EXPECT(!rung(bell));
    OK_FROM(held, job_submit(tx, held.id, &held, err));
    EXPECT(rung(bell));
    OK_FROM(held, job_cancel(tx, held.id, &held, err));
    EXPECT(!rung(bell));
    pass(box, SECONDS(60));
    must_sweep(box);
    EXPECT(rung(bell));
    end_bell(box, bell);
}

TEST_EACH_DB(RUN_10_a_serial_key_that_becomes_free_rings)
{
    struct bell *bell = box_with_bell(box);
    struct contract contract = contract_for(box, "report");
    contract.serial_key = S("doc-1");
    must_add(box, &contract);
    EXPECT(rung(bell));
    struct lease lease = must_start(box, "A");
    must_add(box, &contract);  // blocked behind the one that runs
    EXPECT(!rung(bell));
    must_commit(box, &lease);
    EXPECT(rung(bell));
    end_bell(box, bell);
}

TEST_EACH_DB(RUN_10_a_commit_phase_rings_when_another_may_have_it)
{
    struct bell *bell = box_with_bell(box);
    struct execution e;
    struct work_error error = { .class = ERROR_TRANSIENT, .message = S("not yet") };
    must_enqueue(box, "report");
    EXPECT(rung(bell));
    struct lease lease = must_start(box, "A");
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    EXPECT(!rung(bell));  // it is still its worker's
    OK(execution_release(tx, &lease, &e, err));
    EXPECT(rung(bell));
    lease = must_claim(box, "A");
    OK(execution_fail(tx, &lease, &error, &e, err));  // tried again later
    EXPECT(!rung(bell));
    pass(box, MINUTES(10));
    lease = must_claim(box, "A");
    pass(box, MINUTES(10));
    EXPECT_INT(must_sweep(box).finished, 1);  // its worker is gone, and it had failed before
    EXPECT(!rung(bell));
    end_bell(box, bell);
}

TEST_EACH_DB(RUN_10_what_is_taken_back_rings_nobody)
{
    struct bell *bell = box_with_bell(box);
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated = false;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    EXPECT(tx.news && !rung(bell));  // nor before it is on disk
    tx_end(&tx);
    EXPECT(!rung(bell));
    end_bell(box, bell);
}

// ----- a commit in doubt

struct enqueue {
    struct operation operation;
    struct arena arena;
    struct contract contract;
};

static bool run_enqueue(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct job job;
    bool deduplicated = false;
    return job_enqueue(tx, &((struct enqueue *)self)->contract, &job, &deduplicated, err);
}

static void nothing(struct operation *self)
{
    (void)self;
}

static void enqueue_by(struct box *box, struct pipeline *pipeline)
{
    struct pawl_error err = {0};
    struct enqueue e = { .contract = contract_for(box, "report") };
    e.operation = (struct operation){
        .run = run_enqueue,
        .answered = nothing,
        .arena = &e.arena,
        .caller = &box->caller,
    };
    MUST(pipeline_submit(pipeline, &e.operation, &err));
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(e.operation.error.code, PAWL_OK);
    arena_end(&e.arena);
}

// The answer to a commit is lost, once.
static bool lose_answer(void *self, enum fault_point point, struct pawl_error *err)
{
    bool *due = self, now = *due && point == FAULT_AFTER_COMMIT;
    *due = *due && !now;
    return !now || fail(err, PAWL_IN_DOUBT, "the answer was lost");
}

// A commit whose sync failed is not there and is made again; one whose answer was lost is found.
static void ring_in_doubt(struct box *box, bool found)
{
    bool lose = false;
    struct faults faults = { &lose, lose_answer };
    struct bell *bell = must_open(box->url);
    struct pipeline *pipeline = NULL;
    struct pawl_error err = {0};
    struct pipeline_options options = {
        .db = { .url = box->url, .world = &box->world.world, .listen = true, .bell = bell,
                .faults = &faults },
        .by_hand = true,
    };
    faulty_vfs_install();
    MUST(pipeline_open(&pipeline, &options, &err));
    enqueue_by(box, pipeline);  // the log has begun
    EXPECT(rung(bell));
    lose = found;
    faulty_vfs.fail_syncs = !found;
    enqueue_by(box, pipeline);
    EXPECT_INT(pipeline_figures(pipeline).doubts, 1);
    EXPECT_INT(pipeline_figures(pipeline).alone, !found);
    EXPECT(rung(bell));
    EXPECT(!rung(bell));
    must_enqueue(box, "report");  // by another connection than the pipeline's new one
    EXPECT(rung(bell));
    pipeline_close(pipeline);
    faulty_vfs_remove();
    must_enqueue(box, "report");  // and nobody listens any more
    EXPECT(!rung(bell));
    bell_close(bell);
}

TEST_EACH_DB(RUN_10_a_commit_in_doubt_that_is_found_rings_and_the_store_is_listened_to_again)
{
    ring_in_doubt(box, true);
}

TEST_EACH_DB(RUN_10_a_commit_in_doubt_that_is_repeated_rings_and_the_store_is_listened_to_again)
{
    ring_in_doubt(box, false);
}

// ----- across processes

// The byte that rings, as it is now: 0 while it was never written.
static char bell_byte(const struct scratch *scratch, char overwrite)
{
    enum { BELL_BYTE = 3 };
    char byte = 0;
    int fd = open(scratch_file(scratch, "pawl.db-lock"), O_RDWR | O_CLOEXEC);
    EXPECT(fd >= 0 && pread(fd, &byte, 1, BELL_BYTE) >= 0);
    if (overwrite)
        EXPECT(pwrite(fd, &overwrite, 1, BELL_BYTE) == 1);
    close(fd);
    return byte;
}

static struct process must_enter(const struct scratch *scratch, const char *name)
{
    struct process process = process_start("instance", scratch_store(scratch), name);
    expect_str(str_of(process_hear(&process)), S("ok"), PLACE("the instance starts"));
    return process;
}

TEST(RUN_10_work_from_another_process_wakes_who_waits)
{
    struct scratch scratch = scratch_open();
    struct process waiter = must_enter(&scratch, "waiter");
    struct process producer = process_start("puppet", scratch_store(&scratch), "producer");
    process_tell(&waiter, "wait 30000");  // waits already, or will be told at once
    EXPECT(strncmp(process_ask(&producer, "enqueue a-1"), "ok", 2) == 0);
    expect_str(str_of(process_hear(&waiter)), S("rung"), PLACE("wait 30000"));
    HEARS(&waiter, "wait 0", "quiet");
    HEARS(&waiter, "start", "ok");
    process_kill(&waiter);
    process_kill(&producer);
    scratch_close(&scratch);
}

static int run_pawl(const char *const *arguments)
{
    int status = 0;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        char *copies[PROCESS_ARGUMENTS_MAX + 1] = {0};
        for (int i = 0; i < PROCESS_ARGUMENTS_MAX && arguments[i]; i++)
            copies[i] = strdup(arguments[i]);
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        execv(getenv("PAWL"), copies);
        _exit(127);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RUN_10_work_from_the_command_line_wakes_who_waits)
{
    struct scratch scratch = scratch_open();
    struct process waiter = must_enter(&scratch, "waiter");
    const char *store = scratch_store(&scratch);
    EXPECT(getenv("PAWL") != NULL);
    process_tell(&waiter, "wait 30000");
    EXPECT_INT(run_pawl((const char *const[]){ "pawl", "enqueue", "report", "--store", store,
                                               NULL }),
               0);
    expect_str(str_of(process_hear(&waiter)), S("rung"), PLACE("wait 30000"));
    EXPECT_INT(run_pawl((const char *const[]){ "pawl", "enqueue", "report", "--hold", "--store",
                                               store, NULL }),
               0);
    HEARS(&waiter, "wait 0", "quiet");
    process_kill(&waiter);
    scratch_close(&scratch);
}

TEST(RUN_10_nobody_is_woken_for_work_that_is_not_ready)
{
    struct scratch scratch = scratch_open();
    struct process waiter = must_enter(&scratch, "waiter"), other = must_enter(&scratch, "other");
    HEARS(&other, "delayed", "ok");
    HEARS(&waiter, "wait 0", "quiet");
    HEARS(&other, "rolled_back", "ok");
    HEARS(&waiter, "wait 0", "quiet");
    HEARS(&other, "enqueue document", "ok");
    HEARS(&waiter, "wait 0", "rung");
    HEARS(&other, "wait 0", "rung");  // its own runner may take it as well
    process_kill(&waiter);
    process_kill(&other);
    scratch_close(&scratch);
}

TEST(RUN_10_only_a_listener_that_lives_is_rung)
{
    struct scratch scratch = scratch_open();
    struct process producer = process_start("puppet", scratch_store(&scratch), "producer");
    EXPECT(strncmp(process_ask(&producer, "enqueue a-1"), "ok", 2) == 0);
    EXPECT_INT(bell_byte(&scratch, 0), 0);  // nobody listens: nothing was written
    struct process waiter = must_enter(&scratch, "waiter");
    HEARS(&waiter, "enqueue document", "ok");  // it alone listens, and hears itself without
    EXPECT_INT(bell_byte(&scratch, 0), 0);
    HEARS(&waiter, "wait 0", "rung");
    EXPECT(strncmp(process_ask(&producer, "enqueue a-2"), "ok", 2) == 0);
    EXPECT_INT(bell_byte(&scratch, '.'), '!');
    process_kill(&waiter);
    EXPECT(strncmp(process_ask(&producer, "enqueue a-3"), "ok", 2) == 0);
    EXPECT_INT(bell_byte(&scratch, 0), '.');  // the dead one does not count
    process_kill(&producer);
    scratch_close(&scratch);
}

// A process that was stopped finds the ring when it goes on.
TEST(RUN_10_a_ring_is_not_lost_on_a_process_that_stalls)
{
    struct scratch scratch = scratch_open();
    struct process waiter = must_enter(&scratch, "waiter");
    struct process producer = process_start("puppet", scratch_store(&scratch), "producer");
    process_stop(&waiter);
    EXPECT(strncmp(process_ask(&producer, "enqueue a-1"), "ok", 2) == 0);
    process_wake(&waiter);
    HEARS(&waiter, "wait 0", "rung");
    process_kill(&waiter);
    process_kill(&producer);
    scratch_close(&scratch);
}
