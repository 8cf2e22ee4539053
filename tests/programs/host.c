// A program that has Pawl inside it, as its users' programs do: it runs jobs, and says on its
// output what its handlers do, so that a test can stop or kill it in the middle of one.
//
//     host STORE NAME            < ready
//
//     > enqueue TYPE             < ok ID
//     > go                       lets the handlers go that wait, and all that come
//     > ticks                    < ticks N
//
// Each handler says `TYPE ATTEMPT` when it begins, and waits for `go` or until it is told to stop;
// then it says `told WHY`. `pay` writes its effect in its commit, and has a commit phase that says
// `finish KEY`. `steps` says which steps it computes.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl.h>

#include "run/runner.h"

static _Atomic bool going;

static void wait_for_go(struct pawl_run *run)
{
    while (!going && pawl_pause(run, MILLISECONDS(5))) {}
    if (pawl_stopped(run) != PAWL_GO_ON)
        printf("told %d\n", (int)pawl_stopped(run));
}

static bool work(struct pawl_run *run, void *context)
{
    (void)context;
    printf("%s %d\n", pawl_job_type(run), pawl_attempt(run));
    wait_for_go(run);
    return going;
}

// ----- pay

static bool pay(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct pawl_error err;
    char sql[160];
    snprintf(sql, sizeof sql, "INSERT INTO effects VALUES ('%s', %d, '%s', 0)", pawl_job_id(run),
             pawl_attempt(run), (const char *)context);
    return pawl_tx_execute(tx, sql, &err) || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
}

static bool tell(struct pawl_run *run, void *context)
{
    (void)context;
    printf("finish %s\n", pawl_effect_key(run));
    wait_for_go(run);
    return going;
}

static bool prepare_at_once(struct pawl_run *run, void *context)
{
    (void)context;
    printf("%s %d\n", pawl_job_type(run), pawl_attempt(run));
    return true;
}

// ----- steps

static bool compute(struct pawl_run *run, void *context)
{
    printf("computes %s\n", (const char *)context);
    return pawl_step_result(run, "42");
}

static bool compute_slowly(struct pawl_run *run, void *context)
{
    printf("computes %s\n", (const char *)context);
    wait_for_go(run);
    return going;
}

static bool in_steps(struct pawl_run *run, void *context)
{
    static char read[] = "read", sum[] = "sum";
    (void)context;
    return pawl_step(run, read, compute, read, NULL)
        && pawl_step(run, sum, compute_slowly, sum, NULL);
}

// ----- the program

static void log_line(void *context, const struct pawl_log_line *line)
{
    (void)context;
    if (strcmp(line->event, "RUNS_RECOVERED") == 0 || strcmp(line->event, "LEASE_LOST") == 0)
        printf("log %s\n", line->event);
}

static bool register_all(struct pawl *pawl, char *name, struct pawl_error *err)
{
    struct pawl_policy brief = { .name = "brief", .base = "lifecycle", .lease_us = SECONDS(1) };
    struct pawl_handler handlers[] = {
        { .job_type = "document", .prepare = work, .policy = "document" },
        { .job_type = "lifecycle", .prepare = work, .policy = "lifecycle" },
        { .job_type = "brief", .prepare = work, .commit = pay, .policy = "brief" },
        { .job_type = "pay", .prepare = prepare_at_once, .commit = pay, .finish = tell },
        { .job_type = "steps", .prepare = in_steps, .policy = "lifecycle" },
        { .job_type = "quick", .prepare = prepare_at_once },
    };
    if (!pawl_define_policy(pawl, &brief, err))
        return false;
    for (size_t i = 0; i < countof(handlers); i++) {
        handlers[i].context = name;
        if (!pawl_handle(pawl, &handlers[i], err))
            return false;
    }
    return true;
}

static bool create_table(struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_tx *tx = NULL;
    return pawl_begin(pawl, &tx, err)
        && pawl_tx_execute(tx, "CREATE TABLE IF NOT EXISTS effects"
                               " (job TEXT, attempt INTEGER, worker TEXT, at BIGINT)",
                           err)
        && pawl_commit(tx, err);
}

static void say_ticks(struct runner *runner)
{
    pthread_mutex_lock(&runner->mutex);
    unsigned long long ticks = runner->ticks;
    pthread_mutex_unlock(&runner->mutex);
    printf("ticks %llu\n", ticks);
}

static void obey(struct pawl *pawl, const char *line)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    if (strcmp(line, "go") == 0)
        going = true;
    if (strcmp(line, "ticks") == 0)
        say_ticks(pawl->runner);
    if (strncmp(line, "enqueue ", 8) != 0)
        return;
    if (pawl_enqueue(pawl, &(struct pawl_job){ .job_type = line + 8 }, &ticket, &err))
        printf("ok %s\n", ticket.job_id);
    else
        printf("%s\n", err.message);
}

int main(int argc, char **argv)
{
    struct pawl *pawl = NULL;
    struct pawl_error err = {0};
    char line[128];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 3)
        return 2;
    struct pawl_options options = { .store = argv[1], .instance = argv[2], .log = log_line };
    if (!pawl_open(&pawl, &options, &err) || !create_table(pawl, &err)
        || !register_all(pawl, argv[2], &err)) {
        printf("%s\n", err.message);
        return 1;
    }
    puts("ready");  // before any handler has something to say
    if (!pawl_start(pawl, &err)) {
        printf("%s\n", err.message);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        obey(pawl, line);
    }
    pawl_close(pawl);
    return 0;
}
