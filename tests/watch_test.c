// pawl watch in a terminal of its own: what it draws, that it follows the size, and that it gives
// the terminal back however it ends.
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "process.h"

#define ENTER "\033[?1049h"
#define LEAVE "\033[?1049l"
enum { SAID_BYTES = 1 << 20, WORDS_MAX = 8 };

struct terminal {
    int fd;
    pid_t pid;
    char *said;  // all of it, so far
    size_t length;
    size_t heard;  // up to here it was waited for
};

static const struct winsize small = { .ws_row = 20, .ws_col = 50 };
static const struct winsize large = { .ws_row = 40, .ws_col = 160 };

static struct terminal start(const char *const *words, const char *kind)
{
    struct terminal t = { .said = arena_new(test_arena(), char, SAID_BYTES) };
    struct winsize size = small;
    const char *program = getenv("PAWL");
    EXPECT(t.said != NULL && program != NULL);
    t.pid = forkpty(&t.fd, NULL, NULL, &size);
    EXPECT(t.pid >= 0);
    if (t.pid == 0) {
        char *arguments[WORDS_MAX + 2] = { strdup("pawl") };
        for (size_t i = 0; words[i]; i++)
            arguments[i + 1] = strdup(words[i]);
        setenv("TERM", kind, 1);
        execv(program, arguments);
        _exit(127);
    }
    return t;
}

// Reads a little more; false when the program has ended and all is read.
static bool hear(struct terminal *t)
{
    struct pollfd ready = { .fd = t->fd, .events = POLLIN };
    EXPECT(poll(&ready, 1, PROCESS_WAIT_MS) == 1);
    ssize_t got = read(t->fd, t->said + t->length, SAID_BYTES - 1 - t->length);
    if (got <= 0)
        return false;  // EIO: nobody has the other end open
    t->length += (size_t)got;
    t->said[t->length] = 0;
    return true;
}

// Waits until it says this, after what was waited for before.
static void await(struct terminal *t, const char *text)
{
    const char *at = NULL;
    while (!(at = strstr(t->said + t->heard, text)))
        if (!hear(t)) {
            print_error("it never said %s, but:\n%s\n", text, t->said);
            expect_failed(PLACE(text));
        }
    t->heard = (size_t)(at - t->said) + strlen(text);
}

static int end(struct terminal *t)
{
    int status = 0;
    while (hear(t)) {}
    EXPECT(waitpid(t->pid, &status, 0) == t->pid);
    close(t->fd);
    return status;
}

#define WATCH_ON(kind, ...) start((const char *const[]){ "watch", __VA_ARGS__, NULL }, (kind))
#define WATCH(...) WATCH_ON("xterm", __VA_ARGS__)

TEST_EACH_DB(WATCH_draws_a_screen_follows_its_size_and_gives_the_terminal_back)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    must_enqueue(box, "report.export");
    for (size_t i = 0; i < countof(signals); i++) {
        struct terminal t = WATCH("--store", box->url.s);
        await(&t, ENTER);
        await(&t, "1 wait, 0 run");
        await(&t, "q:default");
        EXPECT(strstr(t.said, "WEIGHT") == NULL);  // there is no room for it
        struct winsize size = large;
        EXPECT(ioctl(t.fd, TIOCSWINSZ, &size) == 0);
        await(&t, "WEIGHT");
        kill(t.pid, signals[i]);
        int status = end(&t);
        EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        EXPECT(strstr(t.said, LEAVE) != NULL && strstr(t.said, "\033[?25h") != NULL);
    }
}

TEST_EACH_DB(WATCH_ends_after_so_many_looks_and_gives_the_terminal_back)
{
    struct terminal t = WATCH("--count", "2", "--store", box->url.s);
    int status = end(&t);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const char *last = strstr(t.said, LEAVE);
    EXPECT(last != NULL && strcmp(last, LEAVE) == 0);
}

TEST(WATCH_a_store_that_is_not_there_is_said_on_the_screen_that_was_there_before)
{
    struct terminal t = WATCH("--store", "sqlite:/nowhere/pawl.db");
    int status = end(&t);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    const char *leave = strstr(t.said, LEAVE), *message = strstr(t.said, "pawl: there is no store");
    EXPECT(leave != NULL && message != NULL && leave < message);
}

TEST_EACH_DB(WATCH_a_dumb_terminal_gets_lines)
{
    struct terminal t = WATCH_ON("dumb", "--count", "1", "--store", box->url.s);
    EXPECT(WEXITSTATUS(end(&t)) == 0);
    EXPECT(strchr(t.said, '\033') == NULL);
    EXPECT(strstr(t.said, "waiting 0, ready 0") != NULL);
}

TEST_EACH_DB(WATCH_follows_a_job_by_its_progress_to_its_end)
{
    struct job job = must_enqueue(box, "report.export");
    struct execution e;
    struct str id = id_text(test_arena(), job.id);
    struct lease lease = must_start(box, "A");
    struct progress half = { 50, S("page 3 of 6") };
    OK(execution_heartbeat(tx, &lease, &half, &e, err));
    struct terminal t = WATCH(id.s, "--store", box->url.s);
    await(&t, "RUNNING (running) [############------------]  50%");  // as wide as there is room
    must_commit(box, &lease);
    await(&t, "SUCCEEDED");
    EXPECT(WEXITSTATUS(end(&t)) == 0);
}

TEST_EACH_DB(WATCH_of_a_job_that_failed_ends_with_1)
{
    struct job job = must_enqueue(box, "report.export");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    struct terminal t = WATCH(id_text(test_arena(), job.id).s, "--store", box->url.s);
    await(&t, "FAILED");
    EXPECT(WEXITSTATUS(end(&t)) == 1);
}
