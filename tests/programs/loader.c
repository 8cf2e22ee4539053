// Load: enqueues a job, takes one, commits it, COUNT times, as fast as it can.
//
//     loader STORE LOG NAME SEED COUNT
//
// It says `ready` when it has opened the store, and begins when it is told anything.
//
// Every round adds a job before it takes one, so there is always one to take. Any answer but
// success ends the process with an error: PAWL_BUSY ("database is locked") above all.
#include "hand.h"

static void enqueue(struct actor *actor, int64_t n)
{
    struct call call;
    struct job job;
    bool deduplicated = false;
    struct str key = str_format(&actor->arena, "%s-%lld", actor->name, (long long)n);
    struct contract contract = contract_numbered(&actor->arena, key, 1);
    bool done = call_begin(&call, actor, "enqueue", key.s)
             && job_enqueue(&call.tx, &contract, &job, &deduplicated, &call.err);
    call_must_end(&call, done);
    call_answer(&call, &(struct execution){ .job = job.id });
}

int main(int argc, char **argv)
{
    struct actor actor;
    int64_t count = 0;
    if (argc < 6 || !str_int(str_of(argv[5]), &count))
        return 2;
    actor_start(&actor, argv);
    actor.lease_us = SECONDS(30);
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 2;
    for (int64_t i = 1; i <= count; i++) {
        struct held held;
        struct pawl_error err = {0};
        enqueue(&actor, i);
        if (hand_claim(&actor, &held, 1, true) != 1)
            actor_give_up(&actor, "there was nothing to take", &err);
        if (!act(&actor, &held, "commit_done", &err))
            actor_give_up(&actor, "a commit was refused", &err);
        arena_reset(&actor.arena);
    }
    db_close(actor.db);
    arena_end(&actor.arena);
    return 0;
}
