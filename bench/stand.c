// A group is one operation of the pipeline, so it is one transaction.
#include "bench/stand.h"

#include "bench/measure.h"
#include "run/handle.h"

#define BLOCKED_TYPE "bench.blocked"

struct group {
    struct operation operation;
    struct stand *stand;
    size_t limit;  // of a claim
    bool start;    // ... that starts what it takes
    bool (*one)(struct tx *tx, const struct lease *lease, struct pawl_error *err);
};

static const struct worker worker = { .worker_id = { "bench", 5 } };

// ----- enqueueing

static void fill_batch(struct stand *s, const struct pawl_job *like, long jobs)
{
    for (long i = 0; i < jobs; i++, s->made++) {
        s->jobs[i] = *like;
        if (!like->org_id)
            s->jobs[i].org_id = s->org_names[s->made % s->options.orgs];
        if (!like->job_type)
            s->jobs[i].job_type = s->type_names[s->made / s->options.orgs % s->options.types];
    }
}

static bool enqueue(struct stand *s, const struct pawl_job *like, long jobs,
                    struct pawl_error *err)
{
    for (long left = jobs; left > 0; left -= s->options.batch) {
        long count = left < s->options.batch ? left : s->options.batch;
        fill_batch(s, like, count);
        if (!pawl_enqueue_all(s->pawl, s->jobs, (size_t)count, NULL, err))
            return false;
    }
    return true;
}

bool stand_enqueue(struct stand *s, const char *type, long jobs, struct pawl_error *err)
{
    struct pawl_job like = { .job_type = type,
                             .payload = s->options.payload.s,
                             .queue = STAND_QUEUE };
    return enqueue(s, &like, jobs, err);
}

// ----- transitions

static bool start_one(struct tx *tx, const struct lease *lease, struct pawl_error *err)
{
    struct execution e;
    return execution_start(tx, lease, &e, err);
}

static bool heartbeat_one(struct tx *tx, const struct lease *lease, struct pawl_error *err)
{
    struct execution e;
    return execution_heartbeat(tx, lease, NULL, &e, err);
}

static const struct str result = { "{\"pages\":12}", 12 };

static bool commit_one(struct tx *tx, const struct lease *lease, struct pawl_error *err)
{
    struct execution e;
    return execution_commit(tx, lease, &(struct commit){ .result = result }, &e, err);
}

static bool done_one(struct tx *tx, const struct lease *lease, struct pawl_error *err)
{
    struct execution e;
    return execution_done(tx, lease, &e, err);
}

static const struct {
    const char *name;
    bool (*one)(struct tx *tx, const struct lease *lease, struct pawl_error *err);  // NULL: claim
} transitions[] = {
    [TRANSITION_CLAIM] = { "claim", NULL },
    [TRANSITION_START] = { "start", start_one },
    [TRANSITION_HEARTBEAT] = { "heartbeat", heartbeat_one },
    [TRANSITION_COMMIT] = { "commit", commit_one },
    [TRANSITION_DONE] = { "done", done_one },
};
_Static_assert(countof(transitions) == TRANSITIONS, "one row per transition");

const char *transition_name(enum transition transition)
{
    return transitions[transition].name;
}

static bool claim(struct tx *tx, struct group *g, const struct str *types, size_t type_count,
                  struct pawl_error *err)
{
    struct stand *s = g->stand;
    static const struct str queue = { STAND_QUEUE, sizeof STAND_QUEUE - 1 };
    struct claimed *claimed = NULL;
    struct claim claim = {
        .worker = worker,
        .queues = &queue,
        .queue_count = 1,
        .job_types = types,
        .job_type_count = type_count,
        .turns = &s->turns,
        .limit = g->limit,
        .lease_us = LEASE_US_MAX,
        .start = g->start,
    };
    if (!execution_claim(tx, &claim, &claimed, &s->lease_count, err))
        return false;
    for (size_t i = 0; i < s->lease_count; i++) {
        s->leases[i] = lease_of(&claimed[i].execution, &worker);
        s->executions[i] = claimed[i].execution;
        s->executions[i].lease_owner = worker.worker_id;  // its only text, here
    }
    return true;
}

static bool claim_group(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct group *g = (struct group *)self;
    return claim(tx, g, g->stand->type_texts, (size_t)g->stand->options.types, err);
}

static bool claim_blocking(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    static const struct str type = { BLOCKED_TYPE, sizeof BLOCKED_TYPE - 1 };
    return claim(tx, (struct group *)self, &type, 1, err);
}

static bool move_group(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct group *g = (const struct group *)self;
    for (size_t i = 0; i < g->stand->lease_count; i++)
        if (!g->one(tx, &g->stand->leases[i], err))
            return false;
    return true;
}

static bool hand_over(struct group g, struct pawl_error *err)
{
    struct stand *s = g.stand;
    g.operation.arena = &s->group_arena;
    arena_reset(&s->group_arena);
    return pipeline_do(s->pawl->pipeline, &g.operation, err);
}

static bool take(struct stand *s, size_t limit, bool start, struct pawl_error *err)
{
    return hand_over((struct group){ .operation.run = claim_group,
                                     .stand = s,
                                     .limit = limit,
                                     .start = start },
                     err);
}

bool stand_move(struct stand *s, enum transition transition, size_t limit, struct pawl_error *err)
{
    if (!transitions[transition].one)
        return take(s, limit, false, err);
    return hand_over((struct group){ .operation.run = move_group,
                                     .stand = s,
                                     .one = transitions[transition].one },
                     err);
}

static bool end_group(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct stand *s = ((const struct group *)self)->stand;
    struct execution e;
    for (size_t i = 0; i < s->lease_count; i++) {
        struct commit commit = { .result = result, .done = true, .known = &s->executions[i] };
        if (!execution_commit(tx, &s->leases[i], &commit, &e, err))
            return false;
    }
    return true;
}

static bool commit_and_end(struct stand *s, struct pawl_error *err)
{
    return hand_over((struct group){ .operation.run = end_group, .stand = s }, err);
}

bool stand_drain(struct stand *s, long jobs, struct pawl_error *err)
{
    for (long left = jobs; left > 0; left -= (long)s->lease_count) {
        double start = seconds_now();
        if (!take(s, (size_t)(left < s->options.batch ? left : s->options.batch), true, err))
            return false;
        s->claim_s += seconds_now() - start;
        if (!commit_and_end(s, err))
            return false;
        if (s->lease_count == 0)
            return fail(err, PAWL_CONFLICT, "somebody else takes the jobs of this measurement: "
                                            "stop the workers of the store");
    }
    return true;
}

bool stand_block(struct stand *s, long jobs, struct pawl_error *err)
{
    struct pawl_job like = { .job_type = BLOCKED_TYPE,
                             .payload = s->options.payload.s,
                             .queue = STAND_QUEUE,
                             .serial_key = "bench",
                             .org_id = s->org_names[0] };
    struct group g = { .operation.run = claim_blocking, .stand = s, .limit = 1, .start = true };
    return enqueue(s, &like, 1, err) && hand_over(g, err) && enqueue(s, &like, jobs, err);
}

// ----- opening

// `prefix000000000000` and so on.
static const char **names_of(struct arena *arena, const char *prefix, long count)
{
    const char **names = arena_new(arena, const char *, (size_t)count);
    for (long i = 0; names && i < count; i++)
        names[i] = str_cstr(arena, str_format(arena, "%s%012ld", prefix, i));
    return names;
}

static void make_room(struct stand *s)
{
    const struct stand_options *o = &s->options;
    s->org_names = names_of(&s->arena, "00000000-0000-7000-8000-", o->orgs);
    s->type_names = names_of(&s->arena, "bench.", o->types);
    s->type_texts = arena_new(&s->arena, struct str, (size_t)o->types);
    s->jobs = arena_new(&s->arena, struct pawl_job, (size_t)o->batch);
    s->leases = arena_new(&s->arena, struct lease, (size_t)o->batch);
    s->executions = arena_new(&s->arena, struct execution, (size_t)o->batch);
    for (long i = 0; !s->arena.failed && i < o->types; i++)
        s->type_texts[i] = str_of(s->type_names[i]);
}

bool stand_open(struct stand *s, const struct stand_options *options, struct pawl_error *err)
{
    *s = (struct stand){ .options = *options };
    struct pawl_options library = { .store = options->store,
                                    .actor_id = "bench",
                                    .workers = (int)options->workers };
    make_room(s);
    if (s->arena.failed)
        return fail(err, PAWL_NO_MEMORY, "no memory for a batch of %ld jobs", options->batch);
    return pawl_open(&s->pawl, &library, err);
}

void stand_end(struct stand *s)
{
    pawl_close(s->pawl);
    arena_end(&s->group_arena);
    arena_end(&s->arena);
    *s = (struct stand){0};
}
