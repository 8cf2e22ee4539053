// Sleeps in one poll on what the command says and on what its supervisor reports. What it prints is
// not kept, but for its last words on stderr.
#include "server/alert_command.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/redact.h"
#include "server/command_child.h"
#include "server/command_environment.h"

#define GRACE_US SECONDS(1)        // between SIGTERM and SIGKILL
#define GIVE_UP_US SECONDS(3)      // for its supervisor, after it was told to stop
enum { LOOK_MS = 200 };            // how often somebody may have said stop

struct errand {
    struct child child;
    int64_t late_at, give_up_at;   // monotonic
    bool told_to_stop, late;
    struct report trouble, end;    // `kind` is 0 when there was none
    char last[TOLD_BYTES_MAX];     // the last it said
};

static void drain(int *fd, char *last)
{
    char bytes[4096];
    ssize_t n = *fd < 0 ? -1 : read(*fd, bytes, sizeof bytes - 1);
    if (n == 0)
        fd_close(fd);
    if (n <= 0 || !last)
        return;
    while (n > 0 && bytes[n - 1] == '\n')
        n--;
    bytes[n] = '\0';
    const char *line = memrchr(bytes, '\n', (size_t)n);
    snprintf(last, TOLD_BYTES_MAX, "%.*s", TOLD_BYTES_MAX - 1, line ? line + 1 : bytes);
}

static void read_reports(struct errand *e)
{
    struct report report;
    while (e->child.status >= 0 && child_report(&e->child, &report)) {
        if (report.kind == REPORT_ENDED)
            e->end = report;
        else if (report.kind != REPORT_STARTED)
            e->trouble = report;
    }
}

static void look_at_the_clock(struct errand *e, const _Atomic bool *stop)
{
    int64_t now = world_monotonic(world_real());
    bool late = now >= e->late_at, asked = stop && atomic_load(stop);
    if (e->told_to_stop || (!late && !asked))
        return;
    e->late = late;
    e->told_to_stop = true;
    e->give_up_at = now + GIVE_UP_US;
    child_stop(&e->child);
}

static void wait_for_the_end(struct errand *e, const _Atomic bool *stop)
{
    while (e->child.status >= 0 && !e->child.ended
           && world_monotonic(world_real()) < e->give_up_at) {
        struct pollfd fds[] = { { .fd = e->child.out, .events = POLLIN },
                                { .fd = e->child.err, .events = POLLIN },
                                { .fd = e->child.status, .events = POLLIN } };
        (void)!poll(fds, countof(fds), LOOK_MS);
        look_at_the_clock(e, stop);
        drain(&e->child.out, NULL);
        drain(&e->child.err, e->last);
        read_reports(e);
    }
    drain(&e->child.err, e->last);
}

static void judge(const struct errand *e, struct told *told)
{
    SCOPED(arena) struct arena arena = {0};
    struct str said = redact_error(&arena, str_of(e->last), TOLD_BYTES_MAX / 2);
    int status = e->end.value;
    char *detail = told->detail;
    size_t room = sizeof told->detail;
    told->delivered = e->end.kind && !e->end.stopped && WIFEXITED(status)
                   && WEXITSTATUS(status) == 0;
    if (told->delivered)
        snprintf(detail, room, "exit status 0");
    else if (e->trouble.kind)
        snprintf(detail, room, "cannot be run: %s", strerrordesc_np(e->trouble.value));
    else if (e->late)
        snprintf(detail, room, "it took longer than its timeout and was ended");
    else if (!e->end.kind || e->end.stopped)
        snprintf(detail, room, "it was told to stop");
    else if (WIFSIGNALED(status))
        snprintf(detail, room, "ended by signal %d", WTERMSIG(status));
    else
        snprintf(detail, room, "exit status %d%s%.*s", WEXITSTATUS(status), said.n ? ": " : "",
                 STR(said));
}

// What is spawned does not change its arguments, but C has no way to say so.
static char *const *arguments(const char *const *texts)
{
    union {
        const char *const *ours;
        char *const *theirs;
    } same = { .ours = texts };
    return same.theirs;
}

void alert_command(const struct config_alert *target, const struct telling *telling,
                   const _Atomic bool *stop, struct told *told)
{
    SCOPED(arena) struct arena arena = {0};
    const struct variable variables[] = {
        { "PAWL_ALERT_KIND", str_cstr(&arena, telling->kind) },
        { "PAWL_ALERT_KEY", str_cstr(&arena, telling->key) },
    };
    struct child_plan plan = {
        .arguments = arguments(target->command),
        .directory = target->directory,
        .environment = environment_of(&arena, variables, countof(variables)),
        .input = str_format(&arena, "%.*s\n", STR(telling->body)),  // a line, as tools want it
        .grace_us = GRACE_US,
    };
    struct errand e = { .late_at = world_end_of(world_real(), target->timeout_us),
                        .give_up_at = INT64_MAX };
    struct pawl_error err = {0};
    if (!plan.environment || !child_start(&e.child, &plan, &err)) {
        snprintf(told->detail, sizeof told->detail, "%.*s", TOLD_BYTES_MAX - 1,
                 plan.environment ? err.message : "no memory for a command");
        return;
    }
    wait_for_the_end(&e, stop);
    judge(&e, told);
    child_end(&e.child);
}
