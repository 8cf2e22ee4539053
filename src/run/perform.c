// What a worker does with a run: start it, call its handler, write its end.
//
// The end is handed over and not waited for, so that a quick handler costs no round trip to the
// disk of its own: the ends of many runs, and the claim of the next ones, are one commit.
#include "run/runner.h"

#include "run/loan.h"

// ----- calls that wait

bool run_do(struct pawl_run *run, struct operation *operation, struct pawl_error *err)
{
    if (!handle_usable(run->pawl, err) || !loan_none_here(run->pawl, err))
        return false;
    if (!runner_enter(run))
        return fail(err, PAWL_FENCED, "this run may not write any more");
    operation->always = true;
    bool done = pipeline_do(run->pawl->pipeline, operation, err);
    runner_leave(run->runner);
    return done;
}

bool run_submit(struct pawl_run *run, struct operation *operation, struct pawl_error *err)
{
    if (!runner_enter(run))
        return fail(err, PAWL_FENCED, "this run may not write any more");
    bool submitted = pipeline_submit(run->pawl->pipeline, operation, err);
    runner_leave(run->runner);
    return submitted;
}

struct own_operation {
    struct operation operation;
    struct pawl_run *run;
};

static bool write_start(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct pawl_run *run = ((struct own_operation *)self)->run;
    struct execution e;
    return execution_start(tx, &run->lease, &e, err);
}

static bool start(struct pawl_run *run)
{
    SCOPED(arena) struct arena arena = {0};
    struct own_operation own = { .operation = { .run = write_start, .arena = &arena },
                                 .run = run };
    struct pawl_error err = {0};
    if (run->started)
        return true;
    run->counts_from = world_monotonic(run->pawl->world);
    run->started = run_do(run, &own.operation, &err);
    if (!run->started && err.code != PAWL_FENCED)
        run_failed(run, ERROR_TRANSIENT, "it could not be started: %s", err.message);
    return run->started;
}

// ----- the end

static bool apply(struct tx *tx, void *self, struct pawl_error *err)
{
    struct pawl_run *run = self;
    return loan_within(run->pawl, tx, run, err);
}

static bool write_failure(struct tx *tx, struct pawl_run *run, struct pawl_error *err)
{
    struct execution e;
    struct work_error error = {
        .class = run->class,
        .message = run->message,
        .retry_after_us = run->retry_after_us,
    };
    return execution_fail(tx, &run->lease, &error, &e, err);
}

// An effect that is refused, by the application or by the contract of a follow-up, ends the attempt
// in the same transaction.
static bool write_commit(struct tx *tx, struct pawl_run *run, struct pawl_error *err)
{
    const struct pawl_handler *handler = run->handler;
    struct pawl_error why = {0};
    struct execution e;
    struct commit commit = {
        .result = run->result,
        .follow_ups = run->follow_ups.items,
        .follow_up_count = run->follow_ups.count,
        .annotations = run->annotations.items,
        .annotation_count = run->annotations.count,
        .outputs = { .ids = run->artifacts.items, .count = run->artifacts.count },
        .apply = handler->commit ? apply : NULL,
        .self = run,
        .finish = handler->finish != NULL,
        .done = handler->finish == NULL,
        .known = &run->execution,
    };
    run->failed = run->committed = false;  // an earlier try of this operation may have said so
    if (!progress_write_last(tx, run, err))
        return false;
    run->committed = execution_commit(tx, &run->lease, &commit, &e, &why);
    if (run->committed)
        return true;
    if (why.code == PAWL_FENCED || !pawl_code(why.code)->refusal)
        return fail(err, why.code, "%s", why.message);
    bool later = why.code == PAWL_QUEUE_FULL;  // of a follow-up: there may be room next time
    run_failed(run, later ? ERROR_OVERLOAD : ERROR_VALIDATION, "%s", why.message);
    return write_failure(tx, run, err);
}

static bool write_done(struct tx *tx, struct pawl_run *run, struct pawl_error *err)
{
    struct execution e;
    return execution_done(tx, &run->lease, &e, err);
}

static bool write_release(struct tx *tx, struct pawl_run *run, struct pawl_error *err)
{
    struct execution e;
    return execution_release(tx, &run->lease, &e, err);
}

static bool write_end(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    static bool (*const writers[])(struct tx *tx, struct pawl_run *run, struct pawl_error *err) = {
        [RUN_END_COMMIT] = write_commit,
        [RUN_END_DONE] = write_done,
        [RUN_END_FAIL] = write_failure,
        [RUN_END_RELEASE] = write_release,
    };
    struct pawl_run *run = (struct pawl_run *)((char *)self - offsetof(struct pawl_run, operation));
    return writers[run->end](tx, run, err);
}

static void end_answered(struct operation *self)
{
    struct pawl_run *run = (struct pawl_run *)((char *)self - offsetof(struct pawl_run, operation));
    run->ended_with = self->error.code;
    runner_ended(run);
}

void run_submit_end(struct pawl_run *run)
{
    struct runner *runner = run->runner;  // once it is handed over the run is not ours
    struct pawl_error err = {0};
    run->operation = (struct operation){ .run = write_end,
                                         .answered = end_answered,
                                         .arena = &run->arena,
                                         .always = true };
    if (run->end == RUN_END_NOTHING || !runner_enter(run)) {
        run->end = RUN_END_NOTHING;
        runner_ended(run);
        return;
    }
    bool submitted = pipeline_submit(run->pawl->pipeline, &run->operation, &err);
    runner_leave(runner);
    if (submitted)
        return;
    run->ended_with = err.code;
    runner_ended(run);
}

// ----- the phases

// What the handler's answer means, given why it was told to stop, if it was. A commit that comes
// before the store hears of a cancellation wins.
static enum run_end end_after(struct pawl_run *run, bool done)
{
    static const struct {
        enum run_end done, not_done;
    } ends[] = {
        [PAWL_GO_ON] = { RUN_END_COMMIT, RUN_END_FAIL },
        [PAWL_STOP_CANCELLED] = { RUN_END_COMMIT, RUN_END_FAIL },
        [PAWL_STOP_LEASE_LOST] = { RUN_END_NOTHING, RUN_END_NOTHING },
        [PAWL_STOP_DEADLINE] = { RUN_END_NOTHING, RUN_END_NOTHING },
        [PAWL_STOP_SHUTDOWN] = { RUN_END_COMMIT, RUN_END_RELEASE },
    };
    enum pawl_stop stop = pawl_stopped(run);
    if (stop == PAWL_STOP_CANCELLED && !done) {
        run->failed = false;
        run_failed(run, ERROR_CANCELLED, "it was cancelled");
    }
    return done ? ends[stop].done : ends[stop].not_done;
}

static void prepare(struct pawl_run *run)
{
    if (!runner_began(run, false)) {
        run->end = end_after(run, false);
        return;
    }
    bool done = run->handler->prepare(run, run->handler->context) && !run->failed;
    if (run->arena.failed)
        run_failed(run, ERROR_RESOURCE_LIMIT, "no memory for what the handler said");
    run->end = end_after(run, done && !run->failed);
}

static bool write_commit_alone(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    return write_commit(tx, ((struct own_operation *)self)->run, err);
}

// The commit phase may begin only when COMMITTED is on disk. False when the run is over, or when
// its end is to be written another time: whoever then finds it committed finishes it.
static bool committed(struct pawl_run *run)
{
    struct own_operation own = { .operation = { .run = write_commit_alone, .arena = &run->arena },
                                 .run = run };
    struct pawl_error err = {0};
    if (!run_do(run, &own.operation, &err)) {
        run->end = err.code == PAWL_FENCED ? RUN_END_NOTHING : RUN_END_COMMIT;
        return false;
    }
    if (!run->committed)
        run->end = RUN_END_FAIL;  // which it is already: saying it again is no error
    return run->committed;
}

// In the commit phase a failure is followed by another try, whatever the class.
static void finish(struct pawl_run *run)
{
    bool (*work)(struct pawl_run *, void *) = run->handler->finish;
    run->failed = false;
    run->counts_from = world_monotonic(run->pawl->world);
    bool began = runner_began(run, true);
    bool done = began && (!work || work(run, run->handler->context)) && !run->failed;
    enum pawl_stop stop = pawl_stopped(run);
    run->end = done ? RUN_END_DONE : stop == PAWL_STOP_SHUTDOWN ? RUN_END_RELEASE
                                                                : RUN_END_FAIL;
    if (stop == PAWL_STOP_LEASE_LOST)
        run->end = RUN_END_NOTHING;
}

static _Thread_local const struct pawl_run *performed;  // by this thread, now

bool run_here(const struct pawl *pawl)
{
    return performed && performed->pawl == pawl;
}

static void call_handler(struct pawl_run *run)
{
    if (run->finishing) {
        finish(run);
    } else if (start(run)) {
        prepare(run);
        if (run->end == RUN_END_COMMIT && run->handler->finish && committed(run))
            finish(run);
    } else if (run->failed) {
        run->end = RUN_END_RELEASE;
    }
    if (run->end == RUN_END_FAIL)
        run_failed(run, ERROR_TRANSIENT, "the handler did not say why");
}

// In virtual time a handler may work on the jobs of another store.
bool run_perform(struct pawl_run *run)
{
    const struct pawl_run *outer = performed;
    performed = run;
    run->end = RUN_END_NOTHING;
    call_handler(run);
    performed = outer;
    bool replaced = runner_ending(run);
    run_submit_end(run);
    return replaced;
}
