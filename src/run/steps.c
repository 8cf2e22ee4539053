// Steps: parts of the work whose results are kept, so that an attempt after a crash goes on where
// the last one was (RUN-6).
#include "engine/step.h"
#include "run/runner.h"

struct step_operation {
    struct operation operation;
    struct pawl_run *run;
    struct str name, text;  // the result, or why the try failed
    struct step step;
};

static bool get(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct step_operation *o = (struct step_operation *)self;
    return step_get(tx, &o->run->lease, o->name, &o->step, err);
}

static bool put(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct step_operation *o = (struct step_operation *)self;
    return step_put(tx, &o->run->lease, o->name, o->text, &o->step, err);
}

static bool note_failure(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct step_operation *o = (struct step_operation *)self;
    return step_fail(tx, &o->run->lease, o->name, o->text, &o->step, err);
}

// Does one of the above. When it cannot be done the run is over, and the reason is in it.
static bool ask(struct step_operation *o,
                bool (*run)(struct tx *tx, struct operation *self, struct pawl_error *err))
{
    struct pawl_error err = {0};
    o->operation.run = run;
    if (run_do(o->run, &o->operation, &err))
        return true;
    if (err.code == PAWL_FENCED)
        runner_stop_run(o->run, PAWL_STOP_LEASE_LOST);
    bool refused = pawl_code(err.code)->refusal;
    run_failed(o->run, refused ? ERROR_VALIDATION : ERROR_TRANSIENT, "step %.*s: %s",
               STR(o->name), err.message);
    return false;
}

static bool may_begin(struct pawl_run *run, struct str name)
{
    if (run->in_step || run->in_commit || run->finishing) {
        run_failed(run, ERROR_CONFIGURATION, "step %.*s: steps belong to prepare, one by one",
                   STR(name));
        return false;
    }
    return !run->failed && pawl_stopped(run) == PAWL_GO_ON;
}

static bool try(struct pawl_run *run, pawl_step_work work, void *context)
{
    run->step_result = S("null");
    run->in_step = true;
    bool done = work(run, context) && !run->failed;
    run->in_step = false;
    if (!done)
        run_failed(run, ERROR_TRANSIENT, "it did not say why");
    return done;
}

// A try that failed: another may follow if that could help and the policy allows one. The run has
// failed otherwise, with the name of the step before the reason.
static bool may_try_again(struct step_operation *o)
{
    struct pawl_run *run = o->run;
    struct str why = run->message;
    enum error_class class = run->class;
    run->failed = false;
    o->text = why;
    if (pawl_stopped(run) == PAWL_GO_ON && error_class_retryable(class)) {
        if (!ask(o, note_failure))
            return false;
        if (o->step.may_retry) {
            runner_step_retried(run, o->name, why);
            return true;
        }
        journal_write(&run->pawl->journal, STEP_FAILED, &run->subject, "step %.*s failed: %.*s",
                      STR(o->name), STR(why));
    }
    run_failed(run, class, "step %.*s: %.*s", STR(o->name), STR(why));
    return false;
}

static bool compute(struct step_operation *o, pawl_step_work work, void *context)
{
    while (!try(o->run, work, context))
        if (!may_try_again(o))
            return false;
    o->text = o->run->step_result;
    return ask(o, put);
}

bool pawl_step(struct pawl_run *run, const char *name, pawl_step_work work, void *context,
               const char **result)
{
    SCOPED(arena) struct arena arena = {0};
    struct step_operation o = { .operation.arena = &arena, .run = run, .name = str_of(name) };
    if (!may_begin(run, o.name) || !ask(&o, get))
        return false;
    if (!work)
        return pawl_fail(run, PAWL_CONFIGURATION, "step %s: it has no work", name);
    if (!o.step.done && !compute(&o, work, context))
        return false;
    if (result)
        *result = str_cstr(&run->arena, str_dup(&run->arena, o.step.result));
    return true;
}
