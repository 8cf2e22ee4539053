// Spawned, not forked: the process has many threads, and in the child of a fork whatever another
// thread had locked stays locked.
#include "server/command_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/world.h"
#include "server/command.h"
#include "server/supervisor_program.h"

void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

// ----- descriptors

// The ends that become the supervisor's 0 to 4, and exist only until it has them.
struct ends {
    int at[SUPERVISOR_DESCRIPTORS];
};

static void ends_end(struct ends *ends)
{
    for (size_t i = 0; i < countof(ends->at); i++)
        fd_close(&ends->at[i]);
}

// Out of the way of 0 to 4, which in the child are overwritten one after another.
static bool move_up(int *fd)
{
    if (*fd >= SUPERVISOR_DESCRIPTORS)
        return true;
    int low = *fd;
    *fd = fcntl(low, F_DUPFD_CLOEXEC, SUPERVISOR_DESCRIPTORS);
    close(low);
    return *fd >= 0;
}

static bool make_pipe(int *ours, int *theirs, bool we_read)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *ours = ends[!we_read];
    *theirs = ends[we_read];
    return move_up(ours) && move_up(theirs)
        && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

// The whole input in a file in memory: a command that never reads it makes nobody wait, and one
// that closes it early is sent no signal back.
static bool make_input(int *fd, struct str input)
{
    *fd = memfd_create("payload", MFD_CLOEXEC);
    if (*fd < 0 || !move_up(fd))
        return false;
    for (size_t done = 0; done < input.n;) {
        ssize_t n = write(*fd, input.s + done, input.n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return lseek(*fd, 0, SEEK_SET) == 0;
}

static bool make_ends(struct child *child, struct ends *ends, struct str input,
                      struct pawl_error *err)
{
    return (make_input(&ends->at[STDIN_FILENO], input)
            && make_pipe(&child->out, &ends->at[STDOUT_FILENO], true)
            && make_pipe(&child->err, &ends->at[STDERR_FILENO], true)
            && make_pipe(&child->control, &ends->at[SUPERVISOR_CONTROL], false)
            && make_pipe(&child->status, &ends->at[SUPERVISOR_STATUS], true))
        || fail(err, PAWL_FULL, "no pipe for a command: %s", strerrordesc_np(errno));
}

// ----- the supervisor

// What is spawned does not change its arguments, but C has no way to say so.
static char *word(const char *text)
{
    return (char *)(uintptr_t)text;
}

enum { OWN_WORDS = 4 };  // before those of the command

// How starting the program failed says whether another one may succeed.
static bool may_not_run(int error)
{
    return error == EACCES || error == EPERM || error == ENOENT || error == ENOEXEC;
}

// The first of the programs that may run here.
static int spawn_first(pid_t *pid, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *words,
                       char *const *environment)
{
    const char *const *programs = supervisor_programs();
    int result = ENOENT;
    for (int i = 0; i < SUPERVISOR_PROGRAMS && may_not_run(result); i++)
        if (programs[i])
            result = posix_spawn(pid, programs[i], actions, attributes, words, environment);
    return result;
}

static bool spawn(struct child *child, const struct child_plan *plan, const struct ends *ends)
{
    char grace[32];
    char *words[OWN_WORDS + COMMAND_WORDS_MAX + 1] = { word("pawl"), word(SUPERVISOR_WORD), grace,
                                                       word(plan->directory) };
    snprintf(grace, sizeof grace, "%lld", (long long)(plan->grace_us / MILLISECONDS(1)));
    for (size_t i = 0; i < COMMAND_WORDS_MAX && plan->arguments[i]; i++)
        words[OWN_WORDS + i] = plan->arguments[i];
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    // A session of its own: a key pressed on Pawl's terminal is not for the supervisor.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSID);
    int result = 0;
    for (int i = 0; i < SUPERVISOR_DESCRIPTORS && result == 0; i++)
        result = posix_spawn_file_actions_adddup2(&actions, ends->at[i], i);
    if (result == 0)
        result = spawn_first(&child->supervisor, &actions, &attributes, words, plan->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (result != 0)
        child->supervisor = 0;
    errno = result;
    return result == 0;
}

bool child_start(struct child *child, const struct child_plan *plan, struct pawl_error *err)
{
    SCOPED(ends) struct ends ends = { { -1, -1, -1, -1, -1 } };
    *child = (struct child){ .out = -1, .err = -1, .status = -1, .control = -1 };
    if (!make_ends(child, &ends, plan->input, err)) {
        child_end(child);
        return false;
    }
    if (spawn(child, plan, &ends))
        return true;
    const char *why = strerrordesc_np(errno);
    child_end(child);
    return fail(err, PAWL_FULL, "no process for a command: %s", why);
}

void child_stop(struct child *child)
{
    fd_close(&child->control);
}

bool child_report(struct child *child, struct report *report)
{
    // A report is written whole: it is shorter than what a pipe takes in one piece.
    ssize_t n = read(child->status, report, sizeof *report);
    if (n == sizeof *report) {
        if (report->kind == REPORT_STARTED)
            child->group = report->value;
        child->ended = report->kind == REPORT_ENDED;
        return true;
    }
    if (n == 0)
        fd_close(&child->status);
    return false;
}

void child_end(struct child *child)
{
    if (child->supervisor > 0 && !child->ended && child->group > 0)
        kill(-child->group, SIGKILL);
    if (child->supervisor > 0)
        kill(child->supervisor, SIGKILL);  // after its last report it only has to leave
    while (child->supervisor > 0 && waitpid(child->supervisor, NULL, 0) < 0 && errno == EINTR) {}
    fd_close(&child->out);
    fd_close(&child->err);
    fd_close(&child->status);
    fd_close(&child->control);
    child->supervisor = 0;
}
