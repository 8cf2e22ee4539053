// Commands that do not want to end: whatever they do, nothing of them is left.
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act.h"

#include "base/world.h"
#include "server/supervisor_program.h"

#define GRACE_US SECONDS(1)

// How many processes of each there are, its supervisor included, before it is told to stop.
static const struct unruly {
    const char *first, *second, *third;
    size_t alive;
} unruly[] = {
    { "hang", NULL, NULL, 2 },
    { "ignore", "hang", NULL, 2 },
    { "bomb=50", "ignore", "hang", 52 },
    { "descend=20", "hang", NULL, 22 },
    { "daemon", "ignore", "hang", 3 },
    { "close-stdout", "ignore", "hang", 2 },
    { "obey", "out=1", "hang", 2 },
    { "hop", "ignore", "hang", 3 },
};

static struct act *begin(struct shop *shop, const struct unruly *case_)
{
    struct act *act = ACT(case_->first, case_->second, case_->third);
    act_begin(shop, act);
    WAIT_FOR(act_alive(act) >= case_->alive);
    return act;
}

#define TEST_EACH(name, ...)                                                         \
    static void name##_each(struct shop *shop, const struct unruly *case_);          \
    TEST(name)                                                                       \
    {                                                                                \
        for (size_t i = 0; i < countof(unruly); i++) {                               \
            struct shop *shop = calloc(1, sizeof *shop);                             \
            shop->options = (struct pawl_options){ .grace_us = GRACE_US, __VA_ARGS__ }; \
            shop_open(shop);                                                         \
            name##_each(shop, &unruly[i]);                                           \
            shop_close(shop);                                                        \
            free(shop);                                                              \
        }                                                                            \
    }                                                                                \
    static void name##_each(struct shop *shop, const struct unruly *case_)

TEST_EACH(OPS_16_a_command_that_is_cancelled_is_gone_with_all_it_started, .workers = 1)
{
    struct pawl_error err = {0};
    struct act *act = begin(shop, case_);
    MUST(pawl_cancel(shop->pawl, act->ticket.job_id, NULL, &err));
    EXPECT_STR(act_end(shop, act), "CANCELLED cancelled: it was cancelled");
    EXPECT_INT(pawl_figures(shop->pawl).written_off, 0);
}

TEST_EACH(JOB_3_a_command_past_its_deadline_is_gone_with_all_it_started, .workers = 1)
{
    struct pawl_policy hasty = {
        .name = "hasty", .timeout_us = SECONDS(1), .on_timeout = PAWL_ON_TIMEOUT_TIMED_OUT
    };
    shop_policy(shop, hasty);
    struct act *act = ACT(case_->first, case_->second, case_->third);
    act->type.policy = "hasty";
    act_begin(shop, act);
    struct pawl_status status = shop_wait(shop, &act->ticket);
    EXPECT_STR(str_of(status.state), "TIMED_OUT");
    WAIT_FOR(act_alive(act) == 0);  // the store may say it first
    EXPECT_INT(pawl_figures(shop->pawl).written_off, 0);
}

TEST_EACH(RUN_1_a_command_is_gone_when_pawl_stops_and_its_job_is_given_back, .workers = 1)
{
    struct act *act = begin(shop, case_);
    pawl_stop(shop->pawl, 0);
    EXPECT_INT(act_alive(act), 0);
    struct pawl_status status = shop_status(shop, &act->ticket);
    EXPECT_STR(str_of(status.state), "QUEUED");
    EXPECT_INT(pawl_figures(shop->pawl).written_off, 0);
}

TEST(EXEC_10_what_a_command_leaves_running_ends_with_it)
{
    const char *const left[] = { "daemon", "bomb=50", "hop", "descend=20" };
    for (size_t i = 0; i < countof(left); i++) {
        struct shop *shop = calloc(1, sizeof *shop);
        shop->options = (struct pawl_options){ .grace_us = GRACE_US, .workers = 1 };
        shop_open(shop);
        struct act *act = ACT(left[i], "out=1");
        act_begin(shop, act);
        EXPECT_STR(act_end(shop, act), "SUCCEEDED");
        EXPECT_STR(act_result(shop, act), "1");
        shop_close(shop);
        free(shop);
    }
}

// ----- death

// Here the kernel ends the command, in its own time.
TEST_SHOP(OPS_7_a_supervisor_that_is_killed_takes_its_command_along, .workers = 1)
{
    struct act *act = ACT("bomb=5", "kill-supervisor");
    act_begin(shop, act);
    struct pawl_status status = shop_wait(shop, &act->ticket);
    EXPECT_STR(str_of(status.failure_type), "ATTEMPTS_EXHAUSTED");
    EXPECT_STR(str_of(status.error), "its supervisor was killed");
    WAIT_FOR(act_alive(act) == 0);
}

// A machine may forbid what is no file of its own to run: this one may be read, and not executed.
TEST_SHOP(OPS_7_where_the_small_supervisor_may_not_run_the_whole_program_supervises, .workers = 1)
{
    const char *small = supervisor_programs()[0], *whole = supervisor_programs()[1];
    EXPECT(small != NULL);
    supervisor_programs_are("/etc/passwd", getenv("PAWL"));
    struct act *act = ACT("out=1");
    act_begin(shop, act);
    struct str ended = act_end(shop, act);
    supervisor_programs_are(small, whole);
    EXPECT_STR(ended, "SUCCEEDED");
}

// A program with one command in it, that is killed. Forked before the store is opened here.
static pid_t start_host(struct shop *shop, struct act *act)
{
    pid_t parent = getpid(), pid = fork();
    EXPECT(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct pawl_error err = {0};
    struct pawl *pawl = NULL;
    struct pawl_options options = { .store = shop->url, .workers = 1, .instance = "host" };
    bool fine = getppid() == parent && pawl_open(&pawl, &options, &err);
    if (fine) {
        act_handle(pawl, act);
        fine = pawl_start(pawl, &err);
    }
    for (; fine; fine = getppid() == parent)
        pause();
    fprintf(stderr, "%s\n", err.message);
    _exit(1);
}

static void kill_host(pid_t pid)
{
    EXPECT(kill(pid, SIGKILL) == 0);
    EXPECT(waitpid(pid, NULL, 0) == pid);
}

TEST(RUN_5_when_pawl_is_killed_its_commands_are_gone_with_all_they_started)
{
    for (size_t i = 0; i < countof(unruly); i++) {
        const struct unruly *case_ = &unruly[i];
        struct shop *shop = calloc(1, sizeof *shop);
        shop_open(shop);
        struct act *act = ACT(case_->first, case_->second, case_->third);
        act->type.grace_us = MILLISECONDS(200);
        act->type.policy = NULL;
        act_enqueue(shop, act, "{}");
        pid_t host = start_host(shop, act);
        WAIT_FOR(act_alive(act) >= case_->alive);
        kill_host(host);
        WAIT_FOR(act_alive(act) == 0);
        shop_close(shop);
        free(shop);
    }
}

static size_t lines_of(const char *path, const char *line)
{
    size_t count = 0;
    char text[256];
    FILE *file = fopen(path, "re");
    while (file && fgets(text, sizeof text, file))
        count += strncmp(text, line, strlen(line)) == 0;
    if (file)
        fclose(file);
    return count;
}

TEST_SHOP(EXEC_10_the_commit_command_is_repeated_after_a_crash_with_the_same_key, .workers = 1)
{
    const char *notes = str_format(test_arena(), "%s/notes", shop->box.directory).s;
    const char *open = str_format(test_arena(), "%s/open", shop->box.directory).s;
    const char *runs = str_format(test_arena(), "note=%s/runs", shop->box.directory).s;
    struct act *act = ACT(runs, "out=\"done\"");
    ACT_COMMIT(act, str_format(test_arena(), "note=%s", notes).s,
               str_format(test_arena(), "hang-unless=%s", open).s);
    act->type.policy = NULL;
    act_enqueue(shop, act, "{}");
    pid_t host = start_host(shop, act);
    WAIT_FOR(lines_of(notes, act->ticket.job_id) == 1);
    EXPECT_STR(str_of(shop_status(shop, &act->ticket).phase), "finishing");
    kill_host(host);
    WAIT_FOR(act_alive(act) == 0);
    FILE *made = fopen(open, "we");
    EXPECT(made != NULL);
    fclose(made);
    host = start_host(shop, act);
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
    kill_host(host);
    EXPECT_INT(lines_of(notes, act->ticket.job_id), 2);      // the same key on both tries
    EXPECT_INT(lines_of(strchr(runs, '=') + 1, act->ticket.job_id), 1);  // and no second run
    EXPECT_STR(act_result(shop, act), "\"done\"");
}

// ----- what is left in this process

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *fds = opendir("/proc/self/fd");
    EXPECT(fds != NULL);
    while (readdir(fds))
        count++;
    closedir(fds);
    return count;
}

// A sanitizer keeps what is freed for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GROWTH_BYTES_MAX = 512 << 20 };
#else
enum { GROWTH_BYTES_MAX = 4 << 20 };
#endif

static int64_t resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    // Numbers of the kernel's own: they fit.
    EXPECT(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);  // NOLINT(cert-err34-c)
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void run_many(struct shop *shop, struct act *act, int count)
{
    struct pawl_error err = {0};
    for (int i = 0; i < count; i++)
        act_enqueue(shop, act, "{}");
    MUST(pawl_run_until_idle(shop->pawl, &err));
    EXPECT_STR(act_end(shop, act), "SUCCEEDED");
}

// What a connection to a server keeps for its buffers comes once, what is lost comes each time.
static int64_t growth(struct shop *shop, struct act *act)
{
    int64_t grown = GROWTH_BYTES_MAX;
    for (int round = 0; round < 3 && grown >= GROWTH_BYTES_MAX; round++) {
        int64_t resident = resident_bytes();
        run_many(shop, act, 1000);
        grown = resident_bytes() - resident;
    }
    return grown;
}

TEST_SHOP(RUN_1_a_thousand_commands_leave_no_descriptor_no_zombie_and_no_memory, .workers = 4)
{
    struct act *act = ACT("err=hello", "out=1");
    act_begin(shop, act);
    run_many(shop, act, 1000);
    size_t descriptors = open_descriptors();
    EXPECT(growth(shop, act) < GROWTH_BYTES_MAX);
    EXPECT(open_descriptors() < descriptors + 10);  // the sealer may have the store open by now
    EXPECT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    EXPECT_INT(pawl_figures(shop->pawl).failed, 0);
}
