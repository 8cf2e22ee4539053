#include "adding.h"

struct pipeline *pipeline_to(struct str url, const struct world *world)
{
    struct pipeline *pipeline = NULL;
    struct pawl_error err = {0};
    struct pipeline_options options = { .db = { .url = url, .world = world }, .by_hand = true };
    MUST(pipeline_open(&pipeline, &options, &err));
    return pipeline;
}

struct adding {
    struct operation operation;
    struct contract contract;
    struct job job;
    bool known;
};

static bool add(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct adding *adding = (struct adding *)self;
    return job_enqueue(tx, &adding->contract, &adding->job, &adding->known, err);
}

bool enqueue_through(struct pipeline *pipeline, const struct box *box, struct contract contract,
                     bool *known, struct pawl_error *err)
{
    struct adding adding = {
        .operation = { .run = add, .arena = test_arena(), .caller = &box->caller },
        .contract = contract,
    };
    bool done = pipeline_do(pipeline, &adding.operation, err);
    if (known)
        *known = adding.known;
    return done;
}
