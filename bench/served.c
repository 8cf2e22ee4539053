// The port is free because the server asks the kernel for one, and is known because its first line
// names it.
#include "bench/served.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/world.h"
#include "bench/http_client.h"
#include "bench/measure.h"
#include "bench/place.h"

enum { LINE_BYTES = 512, START_MS_MAX = 30000, STOP_MS_MAX = 30000, LOOK_US = 500 };

// ----- starting

// In the new process: only calls that are safe between fork and exec.
static void become_server(const char *store, const char *log, int out, pid_t parent)
{
    const char *const words[] = { "pawl", "serve", "--store", store, "--listen", "127.0.0.1:0",
                                  NULL };
    int messages = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (messages < 0 || getppid() != parent || dup2(out, STDOUT_FILENO) < 0
        || dup2(messages, STDERR_FILENO) < 0)
        _exit(1);
    close(messages);
    // execv does not write to them, and has said otherwise since before const.
    union {
        const char *const *ours;
        char *const *theirs;
    } arguments = { .ours = words };
    execv("/proc/self/exe", arguments.theirs);
    _exit(1);
}

static bool server_said(struct arena *arena, struct pawl_error *err)
{
    char line[LINE_BYTES] = "nothing";
    FILE *log = fopen(place_path(arena, PLACE_LOG), "r");
    while (log && fgets(line, sizeof line, log)) {}
    if (log)
        fclose(log);
    return fail(err, PAWL_STORE, "the server could not be started; it said: %s", line);
}

// `pawl 0.1.0 on http://127.0.0.1:40123, store ...`
static int port_in(const char *line)
{
    static const char before[] = "http://127.0.0.1:";
    const char *at = strstr(line, before);
    return at ? (int)strtol(at + sizeof before - 1, NULL, 10) : 0;
}

static int read_port(int out)
{
    char line[LINE_BYTES] = "";
    size_t n = 0;
    struct pollfd ready = { .fd = out, .events = POLLIN };
    while (n + 1 < sizeof line && !strchr(line, '\n') && poll(&ready, 1, START_MS_MAX) > 0) {
        ssize_t got = read(out, line + n, sizeof line - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        line[n] = '\0';
    }
    return port_in(line);
}

static bool ask_ready(const struct served *served, struct pawl_error *err)
{
    struct http_client client = {0};
    struct http_answer answer;
    bool ready = http_client_open(&client, served->port, err)
        && http_client_ask(&client, "GET /readyz", S(""), 200, &answer, err);
    http_client_end(&client);
    return ready;
}

bool served_start(struct served *served, double *ready_s, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    const char *log = place_path(&arena, PLACE_LOG);
    struct str store = str_format(&arena, "sqlite:%s", place_path(&arena, PLACE_STORE));
    int pipes[2];
    pid_t parent = getpid();
    if (arena.failed || pipe2(pipes, O_CLOEXEC) != 0)
        return fail(err, PAWL_NO_MEMORY, "cannot start a server: %s", strerror(errno));
    double start = seconds_now();
    served->pid = fork();
    if (served->pid == 0)
        become_server(store.s, log, pipes[1], parent);
    place_guest(served->pid);
    close(pipes[1]);
    served->port = served->pid > 0 ? read_port(pipes[0]) : 0;
    close(pipes[0]);
    if (served->port == 0)
        return server_said(&arena, err);
    bool ready = ask_ready(served, err);
    *ready_s = seconds_now() - start;
    return ready;
}

// ----- ending

static void gone(struct served *served)
{
    place_guest(0);
    *served = (struct served){0};
}

void served_end(struct served *served)
{
    if (served->pid <= 0)
        return;
    kill(served->pid, SIGKILL);
    waitpid(served->pid, NULL, 0);
    gone(served);
}

bool served_stop(struct served *served, struct pawl_error *err)
{
    int status = 0;
    double until = seconds_now() + STOP_MS_MAX / 1e3;
    kill(served->pid, SIGTERM);
    while (waitpid(served->pid, &status, WNOHANG) == 0) {
        if (seconds_now() > until)
            return fail(err, PAWL_STORE, "the server does not end");
        world_sleep(world_real(), LOOK_US);
    }
    gone(served);
    return status == 0 || fail(err, PAWL_STORE, "the server did not end well: status %d", status);
}

// ----- what the kernel knows of it

static int64_t status_bytes(const struct served *served, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)served->pid);
    return proc_number(path, name) * 1024;
}

int64_t served_resident_bytes(const struct served *served)
{
    return status_bytes(served, "VmRSS:");
}

int64_t served_resident_bytes_max(const struct served *served)
{
    return status_bytes(served, "VmHWM:");
}

int64_t served_sleeps(const struct served *served)
{
    char path[512];
    int64_t all = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)served->pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)served->pid, task->d_name);
        all += proc_number(path, "voluntary_ctxt_switches:");
    }
    if (tasks)
        closedir(tasks);
    return all;
}
