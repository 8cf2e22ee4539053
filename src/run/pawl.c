// Opening and closing the handle, and the runner's switches.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/text_rule.h"
#include "run/loan.h"
#include "run/runner.h"

#define VIRTUAL_START 1767225600000000  // 2026-01-01T00:00:00Z
#define ADVANCE_US_MAX DAYS(3653)       // ten years: as far ahead as a job can be scheduled

enum { WORKERS_MIN = 4, WORKERS_MAX = 1000, PREFETCH_MAX = 1000 };

const char *pawl_version(void)
{
    return PAWL_VERSION;
}

const char *pawl_code_word(enum pawl_code code)
{
    return (unsigned)code < PAWL_CODES ? pawl_code(code)->word : "";
}

// ----- options

static const char *keep(struct pawl *pawl, const char *text, const char *otherwise)
{
    return str_cstr(&pawl->arena, str_dup(&pawl->arena, str_of(text ? text : otherwise)));
}

static int default_workers(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < WORKERS_MIN)
        return WORKERS_MIN;
    return processors < WORKERS_MAX ? (int)processors : WORKERS_MAX;
}

static void fill_options(struct pawl *pawl, const struct pawl_options *given)
{
    struct pawl_options *o = &pawl->options;
    *o = *given;
    o->store = keep(pawl, given->store, "sqlite:pawl.db");
    o->org_id = keep(pawl, given->org_id, DEFAULT_ORG.s);
    o->actor_id = keep(pawl, given->actor_id, program_invocation_short_name);
    o->instance = given->instance ? keep(pawl, given->instance, NULL) : NULL;
    o->workers = given->workers ? given->workers : default_workers();
    // Of `workers` out of bounds only that is said, and not what follows from it.
    bool counted = o->workers > 0 && o->workers <= WORKERS_MAX;
    if (!given->written_off_max)
        o->written_off_max = counted ? o->workers : 0;
    o->grace_us = given->grace_us ? given->grace_us : SECONDS(5);
    o->loan_us = given->loan_us ? given->loan_us : SECONDS(1);
    o->commit_us = given->commit_us ? given->commit_us : SECONDS(1);
}

static void check_range(struct problems *problems, const char *field, int64_t value, int64_t min,
                        int64_t max)
{
    if (value < min || value > max)
        problem_add(problems, field, "must be %lld to %lld", (long long)min, (long long)max);
}

static bool check_options(struct pawl *pawl, struct pawl_error *err)
{
    const struct pawl_options *o = &pawl->options;
    struct problems problems = { .arena = &pawl->arena };
    check_range(&problems, "workers", o->workers, 1, WORKERS_MAX);
    check_range(&problems, "prefetch", o->prefetch, -1, PREFETCH_MAX);
    check_range(&problems, "written_off_max", o->written_off_max, 0, WORKERS_MAX);
    check_range(&problems, "grace_us", o->grace_us, 0, HOURS(1));
    check_range(&problems, "loan_us", o->loan_us, MILLISECONDS(1), MINUTES(1));
    check_range(&problems, "commit_us", o->commit_us, MILLISECONDS(1), MINUTES(1));
    check_range(&problems, "busy_us", o->busy_us, 0, HOURS(1));
    check_range(&problems, "virtual_start", o->virtual_start, 0, DAYS(365 * 1000));
    if (!uuid_valid(str_of(o->org_id)))
        problem_add(&problems, "org_id", "must be a UUID in lower case");
    if (!text_is_key(str_of(o->actor_id)) || strlen(o->actor_id) > KEY_BYTES_MAX)
        problem_add(&problems, "actor_id", "must be 1 to 256 bytes of printable UTF-8");
    if (o->instance && (!text_is_key(str_of(o->instance)) || strlen(o->instance) > KEY_BYTES_MAX))
        problem_add(&problems, "instance", "must be 1 to 256 bytes of printable UTF-8");
    return problems_none(&problems, err);
}

// ----- the handle

static const struct policy *own_policy(void *self, struct str name, struct str job_type)
{
    return registry_policy(self, name, job_type);
}

static void set_up(struct pawl *pawl)
{
    const struct pawl_options *o = &pawl->options;
    virtual_world_init(&pawl->virtual_world, o->virtual_start ? o->virtual_start : VIRTUAL_START,
                       1);
    pawl->world = o->virtual_time ? &pawl->virtual_world.world : world_real();
    pawl->caller = (struct caller){
        .org_id = str_of(o->org_id),
        .actor_type = ACTOR_SYSTEM,
        .actor_id = str_of(o->actor_id),
        .request_id = str_of(o->actor_id),
        .correlation_id = str_of(o->actor_id),
    };
    pawl->registry.arena = &pawl->arena;
    pawl->rules = (struct contract_rules){ .policy = own_policy, .self = &pawl->registry };
    bell_name_make(pawl->ringer);
    journal_open(&pawl->journal, o, pawl->world);
    pthread_mutex_init(&pawl->reading, NULL);
    pthread_mutex_init(&pawl->starting, NULL);
    pthread_mutex_init(&pawl->looking, NULL);
}

static bool open_store(struct pawl *pawl, struct pawl_error *err)
{
    struct pipeline_options options = {
        .db = { .url = str_of(pawl->options.store),
                .world = pawl->world,
                .busy_us = pawl->options.busy_us,
                .fleeting = pawl->options.virtual_time,
                .listen = !pawl->options.virtual_time,
                .ringer = pawl->ringer,
                .observers = &pawl->observers,
                .faults = handle_faults(pawl) },
        .waiting_max = pawl->options.waiting_max,
        .by_hand = pawl->options.virtual_time,
    };
    if (!pipeline_open(&pawl->pipeline, &options, err))
        return false;
    pipeline_set_rules(pawl->pipeline, &pawl->rules);
    return loans_open(&pawl->loans, pawl, err);
}

bool pawl_open(struct pawl **handle, const struct pawl_options *options, struct pawl_error *err)
{
    static const struct pawl_options none;
    if (!handle)
        return fail(err, PAWL_USAGE, "there is no place for the handle: it is NULL");
    *handle = NULL;
    struct pawl *pawl = calloc(1, sizeof *pawl);
    if (!pawl)
        return fail(err, PAWL_NO_MEMORY, "no memory to open a store");
    atomic_store(&pawl->users, 1);
    pawl->process = getpid();
    pawl->traces_per_million = TRACE_OFF;
    fill_options(pawl, options ? options : &none);
    set_up(pawl);
    if (!check_options(pawl, err) || !open_store(pawl, err)) {
        pawl_close(pawl);
        return false;
    }
    *handle = pawl;
    return true;
}

void pawl_observe(struct pawl *pawl, observer tell, void *self)
{
    observers_add(&pawl->observers, tell, self);
}

bool handle_usable(const struct pawl *pawl, struct pawl_error *err)
{
    if (!pawl)
        return fail(err, PAWL_USAGE, "there is no store: the handle is NULL");
    return pawl->process == getpid()
        || fail(err, PAWL_USAGE, "the store was opened before a fork: open it in the child");
}

void handle_keep(struct pawl *pawl)
{
    atomic_fetch_add(&pawl->users, 1);
}

void handle_release(struct pawl *pawl)
{
    if (atomic_fetch_sub(&pawl->users, 1) > 1)
        return;
    pthread_mutex_destroy(&pawl->looking);
    pthread_mutex_destroy(&pawl->starting);
    pthread_mutex_destroy(&pawl->reading);
    journal_close(&pawl->journal);
    arena_end(&pawl->arena);
    free(pawl);
}

void pawl_close(struct pawl *pawl)
{
    if (!handle_usable(pawl, NULL))
        return;  // what a child has inherited is its parent's to close
    pawl_stop(pawl, 0);
    pipeline_close(pawl->pipeline);
    loans_close(pawl->loans);  // after the last commit that may lend
    db_close(pawl->reader);
    journal_end(&pawl->journal);  // a handler that never returned keeps the handle, and no log
    handle_release(pawl);
}

// ----- handlers and policies

static bool not_started(struct pawl *pawl, struct pawl_error *err)
{
    return !pawl->runner || fail(err, PAWL_CONFLICT, "the runner works already: say this before "
                                                     "pawl_start");
}

bool pawl_handle(struct pawl *pawl, const struct pawl_handler *handler, struct pawl_error *err)
{
    if (!handle_usable(pawl, err))
        return false;
    if (!handler)
        return fail(err, PAWL_USAGE, "there is no handler: it is NULL");
    pthread_mutex_lock(&pawl->starting);
    bool done = not_started(pawl, err) && registry_handle(&pawl->registry, handler, err);
    pthread_mutex_unlock(&pawl->starting);
    return done;
}

bool handle_replace(struct pawl *pawl, const struct pawl_handler *handlers, size_t count,
                    struct pawl_error *err)
{
    pthread_mutex_lock(&pawl->starting);
    struct runner *runner = pawl->runner;
    bool done = (!runner || count == 0 || runner_expect_handlers(runner, err))
        && registry_replace(&pawl->registry, handlers, count, err);
    if (done && runner)
        runner_has_handlers(runner);
    pthread_mutex_unlock(&pawl->starting);
    return done;
}

bool pawl_define_policy(struct pawl *pawl, const struct pawl_policy *policy,
                        struct pawl_error *err)
{
    if (!handle_usable(pawl, err))
        return false;
    if (!policy)
        return fail(err, PAWL_USAGE, "there is no policy: it is NULL");
    pthread_mutex_lock(&pawl->starting);
    bool done = not_started(pawl, err) && registry_define(&pawl->registry, policy, err);
    pthread_mutex_unlock(&pawl->starting);
    return done;
}

// ----- the runner

// Whoever waits for handlers must not be one: neither this thread's nor a commit on it.
static bool may_wait(struct pawl *pawl, struct pawl_error *err)
{
    if (run_here(pawl))
        return fail(err, PAWL_USAGE, "a handler cannot wait for all handlers");
    return loan_none_here(pawl, err);
}

// With `starting` held.
static void close_runner(struct pawl *pawl)
{
    struct runner *runner = pawl->runner;
    pthread_mutex_lock(&pawl->looking);
    pawl->figures = runner_figures(runner);
    pawl->runner = NULL;
    pthread_mutex_unlock(&pawl->looking);
    runner_close(runner);
}

static bool start(struct pawl *pawl, struct pawl_error *err)
{
    if (pawl->runner) {
        runner_resume(pawl->runner);
        return true;
    }
    bool something = registry_handlers(&pawl->registry)->count > 0 || pawl->keeps_time
                  || atomic_load(&pawl->schedules);
    if (!something)
        return fail(err, PAWL_USAGE, "there is no handler: say pawl_handle before pawl_start");
    if (!runner_open(pawl, err))
        return false;
    if (pawl->options.virtual_time || runner_start_threads(pawl->runner, err))
        return true;
    close_runner(pawl);
    return false;
}

bool pawl_start(struct pawl *pawl, struct pawl_error *err)
{
    if (!handle_usable(pawl, err))
        return false;
    pthread_mutex_lock(&pawl->starting);
    bool started = start(pawl, err);
    pthread_mutex_unlock(&pawl->starting);
    return started;
}

bool pawl_drain(struct pawl *pawl, int64_t wait_us, struct pawl_error *err)
{
    if (!handle_usable(pawl, err) || !may_wait(pawl, err))
        return false;
    pthread_mutex_lock(&pawl->starting);
    bool drained = !pawl->runner || runner_drain(pawl->runner, wait_us, err);
    pthread_mutex_unlock(&pawl->starting);
    return drained;
}

void pawl_stop(struct pawl *pawl, int64_t wait_us)
{
    if (!handle_usable(pawl, NULL))
        return;
    pthread_mutex_lock(&pawl->starting);
    if (pawl->runner) {
        runner_stop(pawl->runner, wait_us);
        close_runner(pawl);
    }
    pthread_mutex_unlock(&pawl->starting);
}

struct pawl_figures pawl_figures(struct pawl *pawl)
{
    if (!handle_usable(pawl, NULL))
        return (struct pawl_figures){0};
    struct pipeline_figures written = pipeline_figures(pawl->pipeline);
    pthread_mutex_lock(&pawl->looking);
    struct pawl_figures figures = pawl->runner ? runner_figures(pawl->runner) : pawl->figures;
    pthread_mutex_unlock(&pawl->looking);
    figures.commits = written.groups;
    figures.operations = written.operations;
    return figures;
}

// ----- time

static struct runner *visit_runner(struct pawl *pawl)
{
    pthread_mutex_lock(&pawl->looking);
    struct runner *runner = pawl->runner;
    if (runner)
        runner_visit(runner);
    pthread_mutex_unlock(&pawl->looking);
    return runner;
}

bool pawl_run_until_idle(struct pawl *pawl, struct pawl_error *err)
{
    if (!handle_usable(pawl, err) || !may_wait(pawl, err))
        return false;
    if (!pawl->options.virtual_time) {
        struct runner *runner = visit_runner(pawl);
        return runner ? runner_wait_idle(runner, err)
                      : fail(err, PAWL_USAGE, "nothing runs: say pawl_start first");
    }
    return pawl_start(pawl, err) && runner_run_until_idle(pawl->runner, err);
}

bool pawl_advance(struct pawl *pawl, int64_t microseconds, struct pawl_error *err)
{
    if (!handle_usable(pawl, err))
        return false;
    if (!pawl->options.virtual_time)
        return fail(err, PAWL_USAGE, "time goes by itself: this is for virtual_time");
    if (microseconds < 0)
        return fail(err, PAWL_USAGE, "time does not go back");
    if (microseconds > ADVANCE_US_MAX)
        return fail(err, PAWL_USAGE, "at most ten years go by in one call");
    return (pawl->runner || pawl_start(pawl, err))
        && runner_advance(pawl->runner, microseconds, err);
}

pawl_time pawl_now(struct pawl *pawl)
{
    return pawl ? world_wall(pawl->world) : 0;
}

// ----- a start after a crash, in tests

bool handle_reopen(struct pawl *pawl, struct pawl_error *err)
{
    if (!may_wait(pawl, err))
        return false;
    struct pipeline *pipeline = pawl->pipeline;
    struct loans *loans = pawl->loans;
    pawl_stop(pawl, 0);
    pawl->pipeline = NULL;
    pawl->loans = NULL;
    if (!open_store(pawl, err)) {
        pipeline_close(pawl->pipeline);
        loans_close(pawl->loans);
        pawl->pipeline = pipeline;
        pawl->loans = loans;
        return false;
    }
    pipeline_close(pipeline);
    loans_close(loans);
    return true;
}
