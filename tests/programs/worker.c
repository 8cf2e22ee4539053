// A worker: takes jobs and brings them to an end in every way the engine allows.
//
//     worker STORE LOG NAME SEED [drain] [stalls] [remote]
//
// `drain`: ends when there is nothing left to do. `stalls`: sleeps past its lease every now and
// then and goes on as if nothing had happened. `remote`: belongs to no instance, so what it leaves
// behind is found only when its lease expires.
#include "hand.h"

enum { HAND_MAX = 4 };

static bool did(struct actor *actor, struct held *held, const char *word)
{
    struct pawl_error err;
    return act(actor, held, word, &err);
}

// The whole hand in one transaction: one that is refused leaves its neighbours alone.
static void commit_all(struct actor *actor, struct held *hand, size_t count)
{
    struct call calls[HAND_MAX], batch = {0};
    for (size_t i = 0; i < count; i++)
        call_announce(&calls[i], actor, "commit", hand[i].id);
    bool good = call_open(&batch, actor);
    for (size_t i = 0; good && i < count; i++) {
        bool done = act_commit_done(&batch.tx, &hand[i], &calls[i].err);
        good = done || pawl_code(calls[i].err.code)->refusal;
        batch.err = calls[i].err;
        calls[i].word = done ? "ok" : pawl_code(calls[i].err.code)->word;
    }
    call_must_end(&batch, good);
    for (size_t i = 0; i < count; i++)
        call_answer(&calls[i], &hand[i].execution);
}

// A commit phase follows COMMITTED: it fails, is given back, or ends.
static void commit_and_finish(struct actor *actor, struct held *held)
{
    static const char *const ends[] = { "fail", "release", "done", "done" };
    if (did(actor, held, "commit_finish"))
        did(actor, held, ends[actor_dice(actor) % countof(ends)]);
}

static void end_one(struct actor *actor, struct held *held)
{
    uint64_t way = actor_dice(actor) % 12;
    if (way == 0)
        did(actor, held, "fail");
    else if (way == 1)
        did(actor, held, "release");
    else if (way <= 3)
        commit_and_finish(actor, held);
    else if (way <= 7)
        did(actor, held, "commit_done");
    else if (did(actor, held, "commit"))
        did(actor, held, "done");
}

static bool prepare(struct actor *actor, struct held *held)
{
    static const char *const meanwhile[] = { "heartbeat", "progress", "step" };
    if (held->execution.status == EXECUTION_LEASED && !did(actor, held, "start"))
        return false;
    return one_in(actor, 2) || did(actor, held, meanwhile[actor_dice(actor) % countof(meanwhile)]);
}

static void work(struct actor *actor, struct held *hand, size_t count, bool stalls)
{
    bool ready[HAND_MAX] = {0}, all_ready = count > 0;
    for (size_t i = 0; i < count; i++) {
        ready[i] = !hand[i].finish && prepare(actor, &hand[i]);
        all_ready = all_ready && ready[i];
        if (hand[i].finish)
            did(actor, &hand[i], "done");
    }
    if (count > 0 && one_in(actor, 3))
        world_sleep(world_real(), MILLISECONDS(actor_dice(actor) % 10));
    if (stalls && count > 0 && one_in(actor, 2))
        world_sleep(world_real(), LEASE_US_MIN + MILLISECONDS(100));
    if (all_ready && one_in(actor, 3)) {
        commit_all(actor, hand, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (ready[i])
            end_one(actor, &hand[i]);
}

// Nothing is due later, and nothing waits for its commit phase.
static bool all_is_done(struct actor *actor, const struct swept *swept)
{
    struct call call;
    struct job_list list = {0};
    struct job_filter running = { .has_state = true, .state = JOB_RUNNING, .limit = 1 };
    if (swept->next != 0)
        return false;
    bool done = call_begin(&call, actor, "look", "-")
             && job_find(&call.tx, &running, &list, &call.err);
    call_must_end(&call, done);
    call_answer(&call, NULL);
    return list.count == 0;
}

int main(int argc, char **argv)
{
    struct actor actor;
    struct held hand[HAND_MAX];
    if (argc < 5)
        return 2;
    actor_start(&actor, argv);
    bool drain = has_word(argv, "drain"), stalls = has_word(argv, "stalls");
    if (has_word(argv, "remote"))
        actor.worker.instance = S("");
    else
        while (boot_once(&actor).more) {}
    for (;;) {
        struct swept swept = sweep_once(&actor);
        size_t limit = 1 + actor_dice(&actor) % HAND_MAX;
        size_t count = hand_claim(&actor, hand, limit, one_in(&actor, 2));
        work(&actor, hand, count, stalls);
        if (count == 0 && drain && all_is_done(&actor, &swept))
            break;
        if (count == 0)
            world_sleep(world_real(), MILLISECONDS(3));
        arena_reset(&actor.arena);
    }
    db_close(actor.db);
    arena_end(&actor.arena);
    return 0;
}
