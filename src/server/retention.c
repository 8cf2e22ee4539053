// A run: pieces of engine/retention.h, with rests between them.
#include "server/retention.h"

#include <stdio.h>

#include "engine/artifact.h"
#include "engine/schedule.h"
#include "model/policy.h"
#include "run/handle.h"

#define EVERY_US HOURS(1)
#define RUNTIME_US MINUTES(30)  // then it leaves the rest to the next run

struct keeping {
    struct server *server;
    struct retention keep;
    int64_t rows_per_second;
};

struct piece {
    struct operation operation;
    struct removing before, after;
};

// May be run again after its transaction was taken back: so it begins with what was before.
static bool remove_piece(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct piece *piece = (struct piece *)self;
    piece->after = piece->before;
    return retention_step(tx, &piece->after, err);
}

static bool do_piece(struct keeping *k, struct removing *r, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct piece piece = {
        .operation = { .run = remove_piece, .arena = &arena, .caller = &caller_pawl },
        .before = *r,
    };
    if (!pipeline_do(k->server->pawl->pipeline, &piece.operation, err))
        return false;
    *r = piece.after;
    return true;
}

static bool say(struct pawl_run *run, const struct removing *r)
{
    char result[400];
    int n = snprintf(result, sizeof result, "{");
    int64_t rows = 0;
    for (size_t i = 0; i < REMOVED_KINDS; i++) {
        n += snprintf(result + n, sizeof result - (size_t)n, "\"%s\":%lld,",
                      removed_kind_name((enum removed_kind)i), (long long)r->removed[i]);
        rows += r->removed[i];
    }
    snprintf(result + n, sizeof result - (size_t)n, "\"broken_seal\":%lld,\"more\":%s}",
             (long long)r->broken_seal, r->done ? "false" : "true");
    pawl_rows_processed(run, rows);
    return pawl_result(run, result);
}

// Files of artifacts whose rows were removed.
static bool remove_files(struct server *s, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct reading reading;
    size_t removed = 0;
    if (!server_begin_read(s, &reading, &arena, err))
        return false;
    tx_end(&reading.tx);
    bool done = artifacts_tidy(reading.db, &removed, err);
    server_end_read(s, &reading);
    return done;
}

static bool prepare(struct pawl_run *run, void *context)
{
    struct keeping *k = context;
    struct removing r = { .keep = k->keep };
    struct pawl_error err = {0};
    const struct world *world = k->server->pawl->world;
    int64_t until = world_monotonic(world) + RUNTIME_US;
    if (!str_eq(str_of(pawl_org_id(run)), PAWL_ORG))
        return pawl_fail(run, PAWL_AUTHORIZATION, "jobs of this type are Pawl's own");
    while (!r.done && world_monotonic(world) < until) {
        if (!do_piece(k, &r, &err))
            return pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
        if (!pawl_pause(run, r.rows * SECONDS(1) / k->rows_per_second))
            break;
    }
    if (!remove_files(k->server, &err))
        return pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
    return say(run, &r);
}

bool retention_handler(struct server *s, const struct config *config,
                       struct pawl_handler *handler, struct pawl_error *err)
{
    struct keeping *k = arena_new(&s->arena, struct keeping, 1);
    if (!k)
        return fail(err, PAWL_NO_MEMORY, "no memory for retention");
    *k = (struct keeping){
        .server = s,
        .keep = config->retention.keep,
        .rows_per_second = config->retention.rate,
    };
    *handler = (struct pawl_handler){
        .job_type = RETENTION_TYPE,
        .prepare = prepare,
        .context = k,
    };
    return true;
}

bool retention_schedule(struct tx *tx, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    struct caller own = caller_pawl;
    enum schedule_put what;
    struct schedule schedule = {
        .name = S(RETENTION_TYPE),
        .job_type = S(RETENTION_TYPE),
        .payload = S("{}"),
        .every_us = EVERY_US,
        .coalesce_said = true,
        .coalesce = true,
        .misfire_grace_us = EVERY_US,
        .max_instances = 1,
        .expected_us = RUNTIME_US,
        .policy = *policy_builtin(S("scheduled")),
    };
    own.org_id = PAWL_ORG;
    tx->caller = &own;
    bool put = schedule_put(tx, &schedule, SCHEDULE_FROM_PROGRAM, &what, err);
    tx->caller = caller;
    return put;
}
