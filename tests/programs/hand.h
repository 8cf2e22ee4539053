// What a worker may do with an execution it holds: one row per word.
#pragma once

#include "actor.h"

struct held {
    struct execution execution;
    struct lease lease;
    char id[ID_TEXT + 1];
    bool finish;  // only the commit phase is left
};

static inline struct held hold(const struct claimed *claimed, const struct worker *worker)
{
    struct held held = {
        .execution = claimed->execution,
        .lease = lease_of(&claimed->execution, worker),
        .finish = claimed->finish,
    };
    id_format(claimed->execution.id, held.id);
    return held;
}

static inline bool act_start(struct tx *tx, struct held *held, struct pawl_error *err)
{
    return execution_start(tx, &held->lease, &held->execution, err);
}

static inline bool act_heartbeat(struct tx *tx, struct held *held, struct pawl_error *err)
{
    return execution_heartbeat(tx, &held->lease, NULL, &held->execution, err);
}

static inline bool act_progress(struct tx *tx, struct held *held, struct pawl_error *err)
{
    struct progress progress = { .percent = 50, .message = S("half of it") };
    return execution_progress(tx, &held->lease, &progress, &held->execution, err);
}

static inline bool act_step(struct tx *tx, struct held *held, struct pawl_error *err)
{
    struct step step;
    return step_put(tx, &held->lease, S("prepare"), S("1"), &step, err);
}

static inline bool act_done(struct tx *tx, struct held *held, struct pawl_error *err)
{
    return execution_done(tx, &held->lease, &held->execution, err);
}

static inline bool act_fail(struct tx *tx, struct held *held, struct pawl_error *err)
{
    struct work_error error = { .class = ERROR_TRANSIENT, .message = S("not this time") };
    return execution_fail(tx, &held->lease, &error, &held->execution, err);
}

static inline bool act_release(struct tx *tx, struct held *held, struct pawl_error *err)
{
    return execution_release(tx, &held->lease, &held->execution, err);
}

// The application's own table has no constraint: only Pawl keeps an effect from happening twice.
static inline bool apply_effect(struct tx *tx, void *self, struct pawl_error *err)
{
    const struct held *held = self;
    struct str sql = str_format(
        tx->arena, "INSERT INTO effects VALUES ('%.*s', %lld, '%.*s', %lld)",
        STR(id_text(tx->arena, held->execution.job)), (long long)held->lease.attempt,
        STR(held->lease.worker.worker_id), (long long)tx->now);
    return tx_execute(tx, sql.s, err);
}

static inline struct commit commit_of(struct held *held)
{
    return (struct commit){ .result = S("1"), .apply = apply_effect, .self = held };
}

static inline bool act_commit(struct tx *tx, struct held *held, struct pawl_error *err)
{
    struct commit commit = commit_of(held);
    return execution_commit(tx, &held->lease, &commit, &held->execution, err);
}

static inline bool act_commit_done(struct tx *tx, struct held *held, struct pawl_error *err)
{
    struct commit commit = commit_of(held);
    commit.done = true;
    return execution_commit(tx, &held->lease, &commit, &held->execution, err);
}

static inline bool act_commit_finish(struct tx *tx, struct held *held, struct pawl_error *err)
{
    struct commit commit = commit_of(held);
    commit.finish = true;
    return execution_commit(tx, &held->lease, &commit, &held->execution, err);
}

static const struct act {
    const char *word;
    const char *logged;
    bool (*perform)(struct tx *tx, struct held *held, struct pawl_error *err);
} acts[] = {
    { "start", "start", act_start },
    { "heartbeat", "heartbeat", act_heartbeat },
    { "progress", "progress", act_progress },
    { "step", "step", act_step },
    { "commit", "commit", act_commit },
    { "commit_done", "commit", act_commit_done },      // DONE in the same transaction
    { "commit_finish", "commit", act_commit_finish },  // a commit phase follows
    { "done", "done", act_done },
    { "fail", "fail", act_fail },
    { "release", "release", act_release },
};

static inline const struct act *act_named(struct str word)
{
    for (size_t i = 0; i < countof(acts); i++)
        if (str_eq(word, str_of(acts[i].word)))
            return &acts[i];
    return NULL;
}

// Does it in a transaction of its own. `err` says why it was refused.
static inline bool act(struct actor *actor, struct held *held, const char *word,
                       struct pawl_error *err)
{
    struct call call;
    const struct act *known = act_named(str_of(word));
    bool done = call_begin(&call, actor, known->logged, held->id)
             && known->perform(&call.tx, held, &call.err);
    done = call_end(&call, done);
    call_answer(&call, &held->execution);
    *err = call.err;
    return done;
}

// Takes up to `limit` jobs into the hand; answers how many.
static inline size_t hand_claim(struct actor *actor, struct held *hand, size_t limit, bool start)
{
    struct call call;
    struct claimed *claimed = NULL;
    struct str queue = ACTOR_QUEUE;
    size_t count = 0;
    struct claim wanted = {
        .worker = actor->worker,
        .queues = &queue,
        .queue_count = 1,
        .limit = limit,
        .lease_us = actor->lease_us,
        .start = start,
    };
    bool done = call_begin(&call, actor, "claim", "-")
             && execution_claim(&call.tx, &wanted, &claimed, &count, &call.err);
    call_must_end(&call, done);
    for (size_t i = 0; i < count; i++) {
        hand[i] = hold(&claimed[i], &actor->worker);
        call.word = hand[i].finish ? "finish" : "ok";
        call_answer(&call, &claimed[i].execution);
    }
    call.word = "none";
    if (count == 0)
        call_answer(&call, NULL);
    return count;
}

static inline struct swept sweep_once(struct actor *actor)
{
    struct call call;
    struct swept swept = {0};
    bool done = call_begin(&call, actor, "sweep", "-")
             && sweep(&call.tx, 100, &swept, &call.err);
    call_must_end(&call, done);
    call_answer(&call, NULL);
    return swept;
}

// The driver starts a name again only after it has seen its last process die.
static inline struct recovered boot_once(struct actor *actor)
{
    struct call call;
    struct instance instance = { actor->worker.instance, actor->worker.boot_id };
    struct recovered recovered = {0};
    bool done = call_begin(&call, actor, "boot", "-")
             && instance_enter(&call.tx, &instance, true, &call.err)
             && boot_recover(&call.tx, &instance, 100, &recovered, &call.err);
    call_must_end(&call, done);
    call_answer(&call, NULL);
    return recovered;
}
