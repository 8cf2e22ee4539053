// A runner that has nothing to do, and one whose store another process has (RUN-10, RUN-11).
#include "shop.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/runner.h"
#include "store/lock.h"
#include "store/lock_file.h"

// ----- RUN-10

// How often the kernel has put a thread of this process to sleep by its own will.
static int64_t switches(void)
{
    int64_t total = 0;
    DIR *tasks = opendir("/proc/self/task");
    EXPECT(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], line[128];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status)) {
            static const char name[] = "voluntary_ctxt_switches:";
            if (strncmp(line, name, strlen(name)) == 0)
                total += strtoll(line + strlen(name), NULL, 10);
        }
        if (status)
            fclose(status);
    }
    closedir(tasks);
    return total;
}

// A busy store forgets more keys in a second than one tick removes.
TEST(RUN_11_a_sweep_that_removed_keys_and_has_more_goes_on_at_once)
{
    struct tick tick = { .now = SECONDS(1), .swept = { .keys = 200, .more = true } };
    EXPECT_INT(tick_wait(&tick), 0);
    tick.swept.keys = 0;  // all that is due belongs to jobs that live
    EXPECT_INT(tick_wait(&tick), TICK_US);
}

// It may come while the dispatcher is busy with something else, and after the next was due.
TEST(RUN_9_a_tick_waits_until_the_answer_of_the_last_was_looked_at)
{
    struct runner runner = { .world = world_real(), .tick_next = 0 };
    EXPECT(tick_is_due(&runner));
    runner.ticking = true;
    EXPECT(!tick_is_due(&runner));
    runner.ticking = false;
    runner.tick_answered = true;
    EXPECT(!tick_is_due(&runner));
}

TEST_SHOP(RUN_10_an_idle_runner_wakes_at_most_three_times_a_second, .workers = 4)
{
    enum { SECONDS_IDLE = 3, SLACK = 4 };  // the slack: this thread, and a tick at either end
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    int64_t before = switches();
    sleep(1);
    int64_t others = SECONDS_IDLE * (switches() - before);  // a sanitizer has a thread of its own
    shop_start(shop);
    shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    int64_t woken = pawl_figures(shop->pawl).wake_ups;
    before = switches();
    sleep(SECONDS_IDLE);
    int64_t slept = switches() - before - others;
    printf("idle for %d s: %lld wake-ups\n", SECONDS_IDLE, (long long)slept);
    EXPECT(slept <= 3 * SECONDS_IDLE + SLACK);
    EXPECT(pawl_figures(shop->pawl).wake_ups - woken <= SECONDS_IDLE + 1);
}

// The scheduler's round of every second is in the tick's transaction.
TEST_SHOP(RUN_10_a_scheduler_with_nothing_due_wakes_nobody_by_itself, .workers = 4)
{
    enum { SECONDS_IDLE = 3 };
    struct counts counts = {0};
    struct pawl_error err = {0};
    struct pawl_schedule rarely = {
        .name = "greetings",
        .job_type = "greet",
        .every_us = SECONDS(86400),
        .coalesce = PAWL_YES,
        .misfire_grace_us = SECONDS(300),
        .max_instances = 1,
        .expected_max_runtime_us = SECONDS(60),
    };
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    sleep(1);  // so that they do not begin together
    MUST(pawl_schedule(shop->pawl, &rarely, &err));
    WAIT_FOR(pawl_figures(shop->pawl).leads);
    shop_work(shop);
    int64_t woken = pawl_figures(shop->pawl).wake_ups;
    int64_t groups = pipeline_figures(shop->pawl->pipeline).groups;
    sleep(SECONDS_IDLE);
    EXPECT(pawl_figures(shop->pawl).wake_ups - woken <= SECONDS_IDLE + 1);
    EXPECT(pipeline_figures(shop->pawl->pipeline).groups - groups <= SECONDS_IDLE + 1);
    EXPECT_INT(pawl_figures(shop->pawl).leads, 1);
}

static bool gated(struct pawl_run *run, void *context)
{
    (void)run;
    gate_pass(context);
    return true;
}

TEST_SHOP(RUN_10_calls_are_answered_while_every_handler_blocks, .workers = 2)
{
    struct gate gate = GATE;
    shop_handle(shop, (struct pawl_handler){ "gated", .prepare = gated, .context = &gate });
    shop_start(shop);
    for (int i = 0; i < 2; i++)
        shop_enqueue(shop, (struct pawl_job){ .job_type = "gated" });
    gate_wait(&gate, 2);
    for (int i = 0; i < 50; i++) {
        struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "other" });
        EXPECT_STATE(shop, ticket, "QUEUED");
        struct pawl_error err = {0};
        MUST(pawl_cancel(shop->pawl, ticket.job_id, NULL, &err));
    }
    EXPECT_INT(pawl_figures(shop->pawl).running, 2);
    gate_open(&gate);
    shop_work(shop);
}

// A ring may be lost; the tick behind it is the promise.
TEST_SHOP(RUN_10_a_job_that_nobody_rang_for_is_found_by_the_tick, .workers = 1)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    box_sql(&shop->box, "CREATE TABLE aside AS SELECT * FROM ready; DELETE FROM ready");
    shop_start(shop);
    shop_work(shop);
    EXPECT_INT(counts.prepared, 0);
    box_sql(&shop->box, "INSERT INTO ready SELECT * FROM aside; DROP TABLE aside");
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
}

// A job whose records are damaged cannot be swept: that is no reason to look for it all the time.
TEST_SHOP(RUN_10_a_damaged_job_that_cannot_be_swept_is_not_looked_for_all_the_time, .workers = 2)
{
    struct counts counts = {0};
    shop->box.damaged = true;
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_enqueue(shop, (struct pawl_job){ .job_type = "other" });
    box_sql(&shop->box, "INSERT INTO parked (job, org, reason, due_at)"
                        " SELECT id, org, 'delayed', 1 FROM jobs");
    shop_start(shop);
    int64_t before = pawl_figures(shop->pawl).commits;
    sleep(2);
    EXPECT(pawl_figures(shop->pawl).commits - before <= 8);
}

// ----- RUN-11

// A process that keeps the store's lock until its pipe is closed.
struct holder {
    pid_t pid;
    int tell;
};

static void keep_lock(struct str url, int said, int heard)
{
    struct pawl_error err;
    struct lock lock = { .world = world_real(), .wait_us_max = SECONDS(30) };
    char *path = NULL, byte = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!lock_file_path(url, &path, &err) || !lock_open(&lock, path, &err)
        || !lock_take(&lock, &err) || write(said, "!", 1) != 1)
        _exit(1);
    while (read(heard, &byte, 1) > 0) {}
    _exit(0);
}

static struct holder hold_lock(struct shop *shop)
{
    int to[2], from[2];
    char byte;
    EXPECT(pipe(to) == 0 && pipe(from) == 0);
    struct holder holder = { .pid = fork(), .tell = to[1] };
    EXPECT(holder.pid >= 0);
    if (holder.pid == 0) {
        close(to[1]);
        keep_lock(str_of(shop->url), from[1], to[0]);
    }
    close(to[0]);
    close(from[1]);
    EXPECT(read(from[0], &byte, 1) == 1);
    close(from[0]);
    return holder;
}

static void give_lock(struct holder *holder)
{
    int status = 0;
    close(holder->tell);
    EXPECT(waitpid(holder->pid, &status, 0) == holder->pid && status == 0);
}

// The processor time of this process, in microseconds.
static int64_t processor_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

TEST_SHOP(RUN_11_a_store_that_another_process_keeps_is_logged_and_tried_again, .workers = 2,
          .busy_us = MILLISECONDS(300))
{
    enum { COUNT = 20 };
    struct counts counts = {0};
    struct pawl_ticket tickets[COUNT];
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    for (int i = 0; i < COUNT; i++)
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_start(shop);
    struct holder holder = hold_lock(shop);
    WAIT_FOR(shop_lines(shop, "STORE_CONTENDED") >= 2);
    struct pawl_job job = { .job_type = "greet" };
    EXPECT_REFUSED(PAWL_BUSY, pawl_enqueue(shop->pawl, &job, NULL, &err));
    give_lock(&holder);
    for (int i = 0; i < COUNT; i++)
        EXPECT_STR(str_of(shop_wait(shop, &tickets[i]).state), "SUCCEEDED");
    shop_work(shop);
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, COUNT);
}

// The scheduler's own rounds meet it too: what came meanwhile is run late, or has its reason.
TEST_SHOP(RUN_11_slots_that_come_while_another_process_has_the_store_are_not_lost, .workers = 2,
          .busy_us = MILLISECONDS(300))
{
    struct counts counts = {0};
    struct pawl_error err = {0};
    struct pawl_schedule every_second = {
        .name = "greetings",
        .job_type = "greet",
        .every_us = SECONDS(1),
        .coalesce = PAWL_YES,
        .misfire_grace_us = SECONDS(300),
        .max_instances = 1,
        .expected_max_runtime_us = SECONDS(60),
    };
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    MUST(pawl_schedule(shop->pawl, &every_second, &err));
    shop_start(shop);
    WAIT_FOR(pawl_figures(shop->pawl).slots_claimed >= 1);
    struct holder holder = hold_lock(shop);
    WAIT_FOR(shop_lines(shop, "STORE_CONTENDED") >= 4);
    int64_t before = pawl_figures(shop->pawl).slots_claimed;
    give_lock(&holder);
    WAIT_FOR(pawl_figures(shop->pawl).slots_claimed >= before + 2);
    MUST(pawl_schedule_pause(shop->pawl, "greetings", true, &err));
    EXPECT_INT(shop_number(shop, "SELECT (SELECT count(*) FROM job_runs)"
                                 " + (SELECT coalesce(sum(slots), 0) FROM slot_skips)"),
               shop_number(shop, "SELECT (max(s) - min(s)) / 1000000 + 1 FROM"
                                 " (SELECT scheduled_for s FROM job_runs UNION"
                                 " SELECT scheduled_for FROM slot_skips)"));
}

// A tick that waits for the store for longer than a second is waited for, not asked after.
TEST_SHOP(RUN_11_waiting_for_the_store_takes_no_processor, .workers = 1)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    struct holder holder = hold_lock(shop);
    sleep(2);  // a tick waits by now, for more than a second
    int64_t woken = pawl_figures(shop->pawl).wake_ups, used = processor_us();
    sleep(2);
    EXPECT(pawl_figures(shop->pawl).wake_ups - woken <= 8);
    EXPECT(processor_us() - used < SECONDS(1));
    give_lock(&holder);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
}
