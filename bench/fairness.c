// How long ten jobs of one org wait behind the hundred thousand of another in the same queue: in
// batches of a claim and in jobs of the other that begin before them. Fsync on.
//
//     build/bench/fairness [JOBS [FEW]]
#include <stdio.h>
#include <stdlib.h>

#include "bench/place.h"
#include "engine/execution.h"
#include "engine/job.h"

enum { JOBS = 100000, FEW = 10, GROUP = 1000, BATCHES_MAX = 100000 };

#define MANY_ORG S("0198c7a2-0000-7000-8000-00000000000a")
#define FEW_ORG S("0198c7a2-0000-7000-8000-00000000000b")

struct contest {
    struct db *db;
    struct arena arena;
    struct turns turns;
};

static const struct caller everybody = {
    .actor_type = ACTOR_SYSTEM, .actor_id = { "bench", 5 }, .request_id = { "bench", 5 },
};

static bool add_group(struct contest *c, struct str org, int64_t count, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    const struct policy *policy = policy_builtin(S("default"));
    struct contract contract = {
        .job_type = S("bench.share"), .org_id = org, .actor_type = ACTOR_SYSTEM,
        .actor_id = S("bench"), .request_id = S("bench"), .correlation_id = S("bench"),
        .payload = S("{}"), .queue = policy->queue, .policy = *policy,
    };
    arena_reset(&c->arena);
    if (!tx_begin(c->db, TX_WRITE, &c->arena, &tx, err))
        return false;
    tx.caller = &everybody;
    for (int64_t i = 0; i < count; i++) {
        struct job job;
        bool deduplicated = false;
        if (!job_enqueue(&tx, &contract, &job, &deduplicated, err))
            return false;
    }
    return tx_commit(&tx, err);
}

static bool add(struct contest *c, struct str org, int64_t count, struct pawl_error *err)
{
    for (int64_t left = count; left > 0; left -= GROUP)
        if (!add_group(c, org, left < GROUP ? left : GROUP, err))
            return false;
    return true;
}

// One claim: how many of it were of which org, the last of the few included.
static bool claim(struct contest *c, size_t batch, int64_t *few, int64_t *many,
                  struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    struct claimed *claimed = NULL;
    size_t count = 0;
    struct claim wanted = {
        .worker = { .worker_id = S("bench") },
        .every_queue = true,
        .turns = &c->turns,
        .limit = batch,
        .start = true,
    };
    arena_reset(&c->arena);
    if (!tx_begin(c->db, TX_WRITE, &c->arena, &tx, err))
        return false;
    tx.caller = &everybody;
    if (!execution_claim(&tx, &wanted, &claimed, &count, err) || !tx_commit(&tx, err))
        return false;
    for (size_t i = 0; i < count; i++)
        *(str_eq(claimed[i].job.contract.org_id, FEW_ORG) ? few : many) += 1;
    return true;
}

// The few come again and again while the many are there all the time.
static bool contest(struct contest *c, size_t batch, int64_t jobs, int64_t few,
                    struct pawl_error *err)
{
    int64_t begun = 0, before = 0, batches = 0;
    if (!add(c, FEW_ORG, few, err))
        return false;
    int64_t from = world_monotonic(world_real());
    for (; begun < few && batches < BATCHES_MAX; batches++)
        if (!claim(c, batch, &begun, &before, err))
            return false;
    int64_t took = world_monotonic(world_real()) - from;
    printf("claims of %4zu: the %lld have begun after %lld batches, with %lld of the other's %lld "
           "(%.3f %%), in %.1f ms\n",
           batch, (long long)few, (long long)batches, (long long)before, (long long)jobs,
           100.0 * (double)before / (double)jobs, (double)took / 1000);
    return true;
}

static bool measure(struct contest *c, int64_t jobs, int64_t few, struct pawl_error *err)
{
    static const size_t batches[] = { 1, 10, 100, 1000 };
    if (!add(c, MANY_ORG, jobs, err))
        return false;
    for (size_t i = 0; i < countof(batches); i++)
        if (!contest(c, batches[i], jobs, few, err))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct contest c = {0};
    struct pawl_error err = {0};
    SCOPED(arena) struct arena arena = {0};
    int64_t jobs = JOBS, few = FEW;
    const char *directory = getenv("TMPDIR");
    if ((argc > 1 && !str_int(str_of(argv[1]), &jobs))
        || (argc > 2 && !str_int(str_of(argv[2]), &few)) || jobs < 1 || few < 1)
        return 2;
    if (!place_make(directory ? directory : "/var/tmp", &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct db_options options = {
        .url = str_format(&arena, "sqlite:%s", place_path(&arena, PLACE_STORE)),
    };
    bool done = db_open(&c.db, &options, &err) && measure(&c, jobs, few, &err);
    if (!done)
        fprintf(stderr, "%s\n", err.message);
    db_close(c.db);
    arena_end(&c.arena);
    place_remove();
    return done ? 0 : 1;
}
