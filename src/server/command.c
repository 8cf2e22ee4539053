// A run of a command: start it, listen until its supervisor says that nothing of it is left, judge.
//
// The thread sleeps in one poll on everything that can happen: output, log, report, and the bell
// that the runner rings when the run should stop. Nothing is looked at in between, so a command
// that is silent for an hour costs nothing for an hour.
#include "server/command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "model/contract.h"
#include "model/redact.h"
#include "run/handle.h"
#include "run/run.h"
#include "server/command_child.h"
#include "server/command_environment.h"
#include "server/command_error.h"
#include "server/command_files.h"
#include "server/command_log.h"
#include "server/command_result.h"

#define GRACE_US SECONDS(5)
enum { LOG_BYTES_DEFAULT = 256 << 10,
       READ_BYTES = 16 << 10,
       LAST_READS_MAX = 128 };  // as much as two large pipes can hold

// What the handler is registered with: the type, with its defaults filled in.
struct command {
    const struct command_type *type;
    int64_t grace_us;    // for the command, between SIGTERM and SIGKILL
    int64_t give_up_us;  // for the supervisor, after it was told: before the runner gives us up
    size_t result_bytes_max, log_bytes_max;
};

// One run of it.
struct work {
    const struct command *command;
    struct pawl_run *run;
    struct arena arena;
    struct child child;
    struct command_files files;
    int bell;                // eventfd: the run should stop
    struct buf output;
    bool keeps_output;       // else it is read and forgotten
    struct command_log log;
    int64_t late_at;         // monotonic; when the type's own timeout is over
    int64_t give_up_at;      // monotonic; INT64_MAX until it was told to stop
    bool late;
    struct report trouble;   // why it could not be started; `kind` is 0 when it was
    struct report end;       // `kind` is 0 when its supervisor never said how it ended
};

// ----- listening

static void stop(struct work *w)
{
    if (w->give_up_at != INT64_MAX)
        return;
    child_stop(&w->child);
    w->give_up_at = world_end_of(w->run->pawl->world, w->command->give_up_us);
}

// Whoever fills the output without end finds nobody reading any more.
static void take_output(struct work *w, const char *bytes, size_t n)
{
    if (!w->keeps_output)
        return;
    buf_add(&w->output, (struct str){ bytes, n });
    if (!w->output.full)
        return;
    fd_close(&w->child.out);
    stop(w);
}

// Reads once. True when there was something; at the end the descriptor is closed.
static bool read_output(struct work *w)
{
    char bytes[READ_BYTES];
    ssize_t n = w->child.out < 0 ? -1 : read(w->child.out, bytes, sizeof bytes);
    if (n > 0)
        take_output(w, bytes, (size_t)n);
    else if (n == 0)
        fd_close(&w->child.out);
    return n > 0;
}

static bool read_log(struct work *w)
{
    char bytes[READ_BYTES];
    ssize_t n = w->child.err < 0 ? -1 : read(w->child.err, bytes, sizeof bytes);
    if (n > 0)
        log_take(&w->log, bytes, (size_t)n);
    else if (n == 0)
        fd_close(&w->child.err);
    return n > 0;
}

static void read_reports(struct work *w)
{
    struct report report;
    while (w->child.status >= 0 && child_report(&w->child, &report)) {
        if (report.kind == REPORT_ENDED)
            w->end = report;
        else if (report.kind != REPORT_STARTED)
            w->trouble = report;
    }
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// How long nothing needs to be done unless something happens, in milliseconds; -1: for ever.
static int sleep_ms(struct work *w)
{
    int64_t now = world_monotonic(w->run->pawl->world), log = log_tick(&w->log);
    int64_t next = sooner(w->give_up_at, w->late_at);
    if (log >= 0)
        next = sooner(next, now + log);
    if (next == INT64_MAX)
        return -1;
    int64_t left = next > now ? next - now : 0;
    return (int)sooner(left / MILLISECONDS(1) + 1, INT32_MAX);
}

static void look_at_the_clock(struct work *w)
{
    int64_t now = world_monotonic(w->run->pawl->world);
    if (pawl_stopped(w->run) != PAWL_GO_ON)
        stop(w);
    if (now >= w->late_at) {
        w->late = w->give_up_at == INT64_MAX;  // nothing else has stopped it before
        w->late_at = INT64_MAX;
        stop(w);
    }
}

// Until the supervisor has reported the end, or is gone, or was waited for long enough.
static void listen(struct work *w)
{
    while (w->child.status >= 0 && !w->child.ended
           && world_monotonic(w->run->pawl->world) < w->give_up_at) {
        // A bell that was heard is not listened to again: it goes on ringing.
        bool told = w->give_up_at != INT64_MAX;
        struct pollfd fds[] = { { .fd = w->child.out, .events = POLLIN },
                                { .fd = w->child.err, .events = POLLIN },
                                { .fd = w->child.status, .events = POLLIN },
                                { .fd = told ? -1 : w->bell, .events = POLLIN } };
        (void)!poll(fds, countof(fds), sleep_ms(w));
        look_at_the_clock(w);
        read_output(w);
        read_log(w);
        read_reports(w);
    }
    // What was written before the end may still be in the pipes.
    bool some = true;
    for (int i = 0; i < LAST_READS_MAX && some; i++) {
        some = read_output(w);
        some = read_log(w) || some;
    }
}

// ----- judging

// By sysexits.h; what is not here is tried again.
static const struct {
    int status;
    enum pawl_class class;
} exits[] = {
    { EX_USAGE, PAWL_INVALID_INPUT },
    { EX_DATAERR, PAWL_INVALID_INPUT },
    { EX_NOINPUT, PAWL_INVALID_INPUT },
    { EX_TEMPFAIL, PAWL_TRANSIENT },
    { EX_NOPERM, PAWL_AUTHORIZATION },
    { EX_CONFIG, PAWL_CONFIGURATION },
};

static bool judge_by_itself(struct work *w, const struct command_error *said)
{
    const char *last = w->log.last[0] ? w->log.last : "it did not say why";
    struct str message = redact_values(&w->arena, said->message, w->command->type->secrets);
    pawl_retry_after(w->run, said->retry_after_us);
    run_failed(w->run, said->class, "%s", message.n ? str_cstr(&w->arena, message) : last);
    return false;
}

static bool judge_exit(struct work *w, int status)
{
    struct command_error said;
    enum pawl_class class = PAWL_TRANSIENT;
    if (w->keeps_output && command_error(&w->arena, buf_str(&w->output), &said))
        return judge_by_itself(w, &said);
    for (size_t i = 0; i < countof(exits); i++)
        if (exits[i].status == status)
            class = exits[i].class;
    if (w->log.last[0])
        return pawl_fail(w->run, class, "%s", w->log.last);
    return pawl_fail(w->run, class, "exit status %d", status);
}

static bool judge_signal(struct work *w, int signal)
{
    const char *name = sigabbrev_np(signal);
    return pawl_fail(w->run, PAWL_TRANSIENT, "ended by SIG%s%s%s", name ? name : "?",
                     w->log.last[0] ? ": " : "", w->log.last);
}

// The machine was short of something, or the configuration is wrong: then it stays wrong.
static bool judge_trouble(struct work *w, const char *program)
{
    static const int passing[] = { EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EIO, EINTR };
    const char *why = strerrordesc_np(w->trouble.value);
    enum pawl_class class = PAWL_CONFIGURATION;
    for (size_t i = 0; i < countof(passing); i++)
        if (passing[i] == w->trouble.value)
            class = PAWL_TRANSIENT;
    if (w->trouble.kind == REPORT_NO_DIRECTORY)
        return pawl_fail(w->run, class, "cannot run %s in %s: %s", program,
                         w->command->type->directory, why);
    return pawl_fail(w->run, class, "cannot run %s: %s", program, why);
}

static bool keep_result(struct work *w)
{
    struct str json;
    if (!w->keeps_output)
        return true;
    if (!command_result(&w->arena, buf_str(&w->output), w->command->result_bytes_max, &json))
        return pawl_fail(w->run, PAWL_RESOURCE_LIMIT, "its result is longer than %zu bytes",
                         w->command->result_bytes_max);
    const struct command_type *type = w->command->type;
    struct command_output output = {
        .text = buf_str(&w->output),
        .needed = type->needs_artifact,
        .bytes_max = type->artifact_bytes_max,
    };
    return command_files_take(&w->files, w->run, &w->arena, &output)
        && (json.n == 0 || pawl_result(w->run, json.s));
}

// In the order of what says most. A command that was told to stop has not done its work, even if it
// then exits with 0; one that had ended before has.
static bool judge(struct work *w, const char *program)
{
    int status = w->end.value;
    if (w->output.full)
        return pawl_fail(w->run, PAWL_RESOURCE_LIMIT, "it printed more than %zu bytes",
                         w->command->result_bytes_max);
    if (w->trouble.kind)
        return judge_trouble(w, program);
    if (w->late)
        return pawl_fail(w->run, PAWL_TIMEOUT, "it took longer than its timeout and was ended");
    if (w->end.stopped || (!w->end.kind && w->give_up_at != INT64_MAX))
        return pawl_fail(w->run, PAWL_TRANSIENT, "it was told to stop");
    if (!w->end.kind)
        return pawl_fail(w->run, PAWL_TRANSIENT, "its supervisor was killed");
    if (WIFSIGNALED(status))
        return judge_signal(w, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return judge_exit(w, WEXITSTATUS(status));
    return keep_result(w);
}

// ----- running

static void work_end(struct work *w)
{
    if (w->bell >= 0)
        run_ring_on_stop(w->run, -1);
    fd_close(&w->bell);
    child_end(&w->child);
    command_files_end(&w->files);
    arena_end(&w->arena);
}

static bool begin(struct work *w, char *const *arguments, struct pawl_error *err)
{
    const struct command_type *type = w->command->type;
    struct child_plan plan = {
        .arguments = arguments,
        .directory = type->directory ? type->directory : "",
        .environment = command_environment(&w->arena, w->run, type, &w->files),
        .input = str_of(pawl_payload(w->run)),
        .grace_us = w->command->grace_us,
    };
    if (!plan.environment)
        return fail(err, PAWL_NO_MEMORY, "no memory to start a command");
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->bell < 0)
        return fail(err, PAWL_FULL, "no descriptor for a command: %s", strerrordesc_np(errno));
    run_ring_on_stop(w->run, w->bell);
    return child_start(&w->child, &plan, err);
}

// The deadline of the job is the runner's to watch; one of the type's own comes before it or never.
static int64_t late_at(const struct work *w)
{
    int64_t timeout = w->command->type->timeout_us;
    bool own = timeout > 0 && timeout < w->run->timeout_us;
    return own ? world_end_of(w->run->pawl->world, timeout) : INT64_MAX;
}

static bool run_command(struct pawl_run *run, const struct command *command,
                        char *const *arguments, bool keeps_output)
{
    struct work w = { .command = command, .run = run, .bell = -1, .keeps_output = keeps_output };
    struct pawl_error err;
    w.files = (struct command_files){ .fd = -1 };
    w.child = (struct child){ .out = -1, .err = -1, .status = -1, .control = -1 };
    w.output = buf_new(&w.arena, command->result_bytes_max);
    w.late_at = late_at(&w);
    w.give_up_at = INT64_MAX;
    if (keeps_output && !command_files_begin(&w.files, run, &w.arena)) {
        work_end(&w);
        return false;
    }
    log_begin(&w.log, run, command->type->secrets, command->log_bytes_max);
    bool begun = begin(&w, arguments, &err);
    if (begun)
        listen(&w);
    log_end(&w.log);
    bool done = begun ? judge(&w, arguments[0]) : pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    work_end(&w);
    return done;
}

static bool prepare(struct pawl_run *run, void *context)
{
    const struct command *command = context;
    return run_command(run, command, command->type->run, true);
}

static bool finish(struct pawl_run *run, void *context)
{
    const struct command *command = context;
    return run_command(run, command, command->type->commit, false);
}

// ----- registering

static void check_words(struct problems *problems, const char *field, char *const *words)
{
    size_t count = 0;
    while (count <= COMMAND_WORDS_MAX && words[count])
        count++;
    if (count == 0 || words[0][0] == 0)
        problem_add(problems, field, "must begin with a program");
    if (count > COMMAND_WORDS_MAX)
        problem_add(problems, field, "must be at most %d words", COMMAND_WORDS_MAX);
}

static bool check(const struct command_type *type, struct arena *arena, struct pawl_error *err)
{
    struct problems problems = { .arena = arena };
    static char *const none[] = { NULL };
    check_words(&problems, "run", type->run ? type->run : none);
    if (type->commit)
        check_words(&problems, "commit", type->commit);
    if (type->timeout_us < 0 || type->grace_us < 0)
        problem_add(&problems, type->timeout_us < 0 ? "timeout" : "grace", "must not be negative");
    if (type->result_bytes_max > PAYLOAD_BYTES_MAX)
        problem_add(&problems, "result", "must be at most %d bytes", PAYLOAD_BYTES_MAX);
    return problems_none(&problems, err);
}

bool command_handler(struct pawl *pawl, const struct command_type *type, struct arena *arena,
                     struct pawl_handler *handler, struct pawl_error *err)
{
    struct command *command = arena_new(arena, struct command, 1);
    if (!command)
        return fail(err, PAWL_NO_MEMORY, "no memory for a command");
    if (!check(type, arena, err))
        return false;
    int64_t runner_us = pawl->options.grace_us;
    *command = (struct command){
        .type = type,
        .grace_us = sooner(type->grace_us ? type->grace_us : GRACE_US, runner_us / 2),
        .give_up_us = runner_us * 7 / 8,
        .result_bytes_max = type->result_bytes_max ? type->result_bytes_max : PAYLOAD_BYTES_MAX,
        .log_bytes_max = type->log_bytes_max ? type->log_bytes_max : LOG_BYTES_DEFAULT,
    };
    *handler = (struct pawl_handler){
        .job_type = type->job_type,
        .prepare = prepare,
        .finish = type->commit ? finish : NULL,
        .context = command,
        .policy = type->policy,
    };
    return true;
}

bool command_handle(struct pawl *pawl, const struct command_type *type, struct pawl_error *err)
{
    struct pawl_handler handler;
    return command_handler(pawl, type, &pawl->arena, &handler, err)
        && pawl_handle(pawl, &handler, err);
}
