// Limits of a program: set through the pipeline.
#include "engine/limit.h"
#include "run/loan.h"
#include "run/runner.h"

struct limiting {
    struct operation operation;
    enum limit_scope scope;
    struct str name;
    struct limit limit;
};

static bool write_limit(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct limiting *l = (const struct limiting *)self;
    return limit_set(tx, l->scope, l->name, &l->limit, S(""), err);
}

static bool read_limit(const struct pawl_limit *given, struct limiting *l,
                       struct problems *problems)
{
    int subjects = (given->queue != NULL) + (given->job_type != NULL) + (given->org_id != NULL);
    l->scope = given->queue ? LIMIT_QUEUE : given->job_type ? LIMIT_TYPE
                                                            : LIMIT_ORG;
    if (given->per_key)
        l->scope = LIMIT_KEY;
    l->name = str_of(given->queue ? given->queue : given->job_type ? given->job_type
                                                                   : given->org_id);
    l->limit.max_running = given->max_running;
    l->limit.pause_us = given->pause_us;
    if (given->pause)
        l->limit.on_rate_limited = given->pause_all ? RATE_LIMITED_PAUSE_ALL : RATE_LIMITED_PAUSE;
    if (subjects > 1)
        problem_add(problems, "queue", "give one of queue, job_type and org_id, or none");
    if (given->per_key && !given->job_type)
        problem_add(problems, "per_key", "is for a job_type");
    if (given->rate && !rate_parse(str_of(given->rate), &l->limit.rate))
        problem_add(problems, "rate", "must be %s", RATE_WANT);
    return problems->count == 0;
}

bool pawl_limit(struct pawl *pawl, const struct pawl_limit *limit, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct problems problems = { .arena = &arena };
    if (!handle_usable(pawl, err))
        return false;
    if (!limit)
        return fail(err, PAWL_USAGE, "there is no limit: it is NULL");
    struct limiting l = {
        .operation = { .run = write_limit, .arena = &arena, .caller = &pawl->caller },
    };
    if (!read_limit(limit, &l, &problems))
        return problems_none(&problems, err);
    return loan_none_here(pawl, err) && pipeline_do(pawl->pipeline, &l.operation, err);
}
