// One process, one thread, every signal blocked: it hears of its children by a signalfd and of
// Pawl by the control pipe, and nothing else can disturb it but SIGKILL. If that happens the kernel
// kills the command (PR_SET_PDEATHSIG), and Pawl the rest of its group.
#include "server/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/world.h"
#include "server/supervisor_tree.h"

enum { STATUS_USAGE = 2,
       STATUS_FAILED = 70,
       ARGUMENTS = 5 };  // before those of the command
#define KILL_PAUSE_US MILLISECONDS(5)
#define KILL_PAUSE_US_MAX MILLISECONDS(200)

struct supervisor {
    int signals;      // signalfd of SIGCHLD
    int64_t grace_us;
    pid_t command;
    int status;       // of the command, once it has ended
    bool ended;
    bool stopped;     // told to end before it had
    bool alone;       // no child is left, and so no descendant: orphans become children
};

static void tell(enum report_kind kind, int value, bool stopped)
{
    struct report report = { (int32_t)kind, value, stopped };
    // When Pawl is dead there is nobody to tell.
    (void)!write(SUPERVISOR_STATUS, &report, sizeof report);
}

// ----- the command

// In the child. Comes back only when the command cannot be run.
static int become_command(const char *directory, char *const *arguments, pid_t parent)
{
    extern char **environ;
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return STATUS_FAILED;  // it died before that was set
    setsid();
    if (directory[0] && chdir(directory) != 0) {
        tell(REPORT_NO_DIRECTORY, errno, false);
        return STATUS_FAILED;
    }
    for (char **variable = environ; *variable; variable++)
        *variable += **variable == SUPERVISOR_MARK;
    // All but the command's own three are closed by its start.
    fcntl(SUPERVISOR_CONTROL, F_SETFD, FD_CLOEXEC);
    fcntl(SUPERVISOR_STATUS, F_SETFD, FD_CLOEXEC);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(arguments[0], arguments);
    tell(REPORT_NOT_STARTED, errno, false);
    return STATUS_FAILED;
}

// The ends of the command's pipes that are still open here would keep them from ending.
static void let_go_of_its_descriptors(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
}

// ----- waiting

static void reap(struct supervisor *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->command)
            continue;
        s->ended = true;
        s->status = status;
    }
    s->alone = pid < 0;  // ECHILD
}

// Waits for a child to end or, when asked for, for Pawl to close the control pipe: true then. A
// negative time is no limit.
static bool wait_for(struct supervisor *s, bool control, int64_t timeout_us)
{
    struct signalfd_siginfo info;
    struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN },
                            { .fd = control ? SUPERVISOR_CONTROL : -1, .events = POLLIN } };
    struct timespec wait = { timeout_us / SECONDS(1), (long)(timeout_us % SECONDS(1)) * 1000 };
    bool ready = ppoll(fds, 2, timeout_us < 0 ? NULL : &wait, NULL) > 0;
    while (read(s->signals, &info, sizeof info) > 0) {}
    reap(s);
    return ready && fds[1].revents != 0;
}

// ----- the end

static void end_gently(struct supervisor *s)
{
    const struct world *world = world_real();
    int64_t end = world_end_of(world, s->grace_us);
    tree_signal(SIGTERM);
    tree_signal(SIGCONT);  // one that was stopped could not hear it
    for (int64_t left; !s->alone && (left = end - world_monotonic(world)) > 0;)
        wait_for(s, false, left);
}

// Until nothing is left: whoever was started between two looks is found by the next one. The pauses
// grow, for one that is stuck in the kernel and ends when it comes back.
static void end_by_force(struct supervisor *s)
{
    int64_t pause = KILL_PAUSE_US;
    while (!s->alone) {
        tree_signal(SIGKILL);
        wait_for(s, false, pause);
        pause = pause < KILL_PAUSE_US_MAX ? 2 * pause : KILL_PAUSE_US_MAX;
    }
}

static void supervise(struct supervisor *s)
{
    while (!s->ended && !s->stopped) {
        bool asked = wait_for(s, true, -1);
        s->stopped = asked && !s->ended;
    }
    if (!s->alone)
        end_gently(s);
    end_by_force(s);
    tell(REPORT_ENDED, s->status, s->stopped);
}

// ----- the beginning

static bool prepare(struct supervisor *s, const char *grace_ms)
{
    sigset_t all;
    int64_t grace;
    const struct rlimit no_core = {0};
    if (!str_int(str_of(grace_ms), &grace) || grace < 0)
        return false;
    s->grace_us = MILLISECONDS(grace);
    closefrom(SUPERVISOR_DESCRIPTORS);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    s->signals = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    // Cores of commands hold payloads, and would fill the disk of whoever retries them.
    setrlimit(RLIMIT_CORE, &no_core);
    return s->signals >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

bool supervisor_asked(int argc, char *const *argv)
{
    return argc > 1 && strcmp(argv[1], SUPERVISOR_WORD) == 0;
}

int supervisor_main(int argc, char **argv)
{
    struct supervisor s = {0};
    if (argc < ARGUMENTS || !prepare(&s, argv[2]))
        return STATUS_USAGE;
    pid_t self = getpid();
    prctl(PR_SET_NAME, "pawl-supervise");  // else it has the name of a descriptor
    s.command = fork();
    if (s.command == 0)
        return become_command(argv[3], argv + 4, self);
    if (s.command < 0) {
        tell(REPORT_NOT_STARTED, errno, false);
        return STATUS_FAILED;
    }
    tell(REPORT_STARTED, s.command, false);
    let_go_of_its_descriptors();
    supervise(&s);
    return 0;
}
