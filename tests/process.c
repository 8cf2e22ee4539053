// Pipes for talking, signals for stopping, waitpid for knowing: no sleep where an event will come.
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "outside.h"

int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void wait_us(int64_t microseconds)
{
    struct timespec pause = { microseconds / 1000000, microseconds % 1000000 * 1000 };
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {}
}

void wait_ms(int64_t milliseconds)
{
    wait_us(milliseconds * 1000);
}

// ----- scratch

struct scratch scratch_open(void)
{
    struct scratch scratch;
    const char *base = getenv("TMPDIR");
    snprintf(scratch.path, sizeof scratch.path, "%s/pawl-XXXXXX", base ? base : "/tmp");
    EXPECT(mkdtemp(scratch.path) != NULL);
    snprintf(scratch.url, sizeof scratch.url, "%.*s", STR(outside_make(scratch.path)));
    return scratch;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void scratch_close(struct scratch *scratch)
{
    outside_remove(str_of(scratch->url));
    nftw(scratch->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_file(const struct scratch *scratch, const char *name)
{
    return str_format(test_arena(), "%s/%s", scratch->path, name).s;
}

const char *scratch_store(const struct scratch *scratch)
{
    return str_format(test_arena(), "%s", scratch->url).s;
}

static void keep_number(void *self, const struct str *texts, size_t count)
{
    int64_t *number = self;
    if (*number < 0 && count > 0 && !str_int(texts[0], number))
        *number = -1;
}

int64_t scratch_number(const struct scratch *scratch, const char *sql)
{
    int64_t number = -1;
    return outside_run(str_of(scratch->url), sql, keep_number, &number) ? number : -1;
}

// ----- processes

_Noreturn static void become(const char *const *arguments, int in, int out)
{
    char path[512];
    char *copies[PROCESS_ARGUMENTS_MAX + 1] = {0};
    const char *build = getenv("BUILD");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    snprintf(path, sizeof path, "%s/tests/programs/%s", build ? build : "build", arguments[0]);
    for (int i = 0; i < PROCESS_ARGUMENTS_MAX && arguments[i]; i++)
        copies[i] = strdup(arguments[i]);
    execv(path, copies);
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    _exit(127);
}

struct process process_start_with(const char *const *arguments)
{
    int to[2], from[2];
    EXPECT(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    signal(SIGPIPE, SIG_IGN);  // a process that died is noticed by what it does not say
    struct process process = { .in = to[1], .out = from[0] };
    process.pid = fork();
    EXPECT(process.pid >= 0);
    if (process.pid == 0)
        become(arguments, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    return process;
}

void process_tell(struct process *process, const char *line)
{
    EXPECT(dprintf(process->in, "%s\n", line) > 0);
}

static bool readable(struct process *process, int milliseconds)
{
    struct pollfd poll_for = { .fd = process->out, .events = POLLIN };
    return poll(&poll_for, 1, milliseconds) > 0;
}

const char *process_hear_within(struct process *process, int milliseconds)
{
    size_t length = 0;
    for (; length + 1 < sizeof process->line; length++) {
        EXPECT(readable(process, milliseconds));
        EXPECT(read(process->out, &process->line[length], 1) == 1);
        if (process->line[length] == '\n')
            break;
    }
    process->line[length] = 0;
    return process->line;
}

const char *process_hear(struct process *process)
{
    return process_hear_within(process, PROCESS_WAIT_MS);
}

const char *process_ask(struct process *process, const char *line)
{
    process_tell(process, line);
    return process_hear(process);
}

bool process_silent(struct process *process, int milliseconds)
{
    return !readable(process, milliseconds);
}

void process_stop(struct process *process)
{
    int status = 0;
    EXPECT(kill(process->pid, SIGSTOP) == 0);
    EXPECT(waitpid(process->pid, &status, WUNTRACED) == process->pid && WIFSTOPPED(status));
}

void process_wake(struct process *process)
{
    EXPECT(kill(process->pid, SIGCONT) == 0);
}

static void gone(struct process *process)
{
    close(process->in);
    close(process->out);
    *process = (struct process){0};
}

void process_kill(struct process *process)
{
    int status = 0;
    if (process->pid == 0)
        return;
    EXPECT(kill(process->pid, SIGKILL) == 0);
    EXPECT(waitpid(process->pid, &status, 0) == process->pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    gone(process);
}

int process_ended(struct process *process)
{
    int status = 0;
    if (waitpid(process->pid, &status, WNOHANG) != process->pid)
        return -1;
    gone(process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int process_end(struct process *process)
{
    if (process->in >= 0)
        close(process->in);
    process->in = -1;
    for (int waited = 0; waited < PROCESS_WAIT_MS * 2; waited += 2) {
        int status = process_ended(process);
        if (status >= 0)
            return status;
        wait_ms(2);
    }
    expect_failed(PLACE("the process ends by itself"));
}
