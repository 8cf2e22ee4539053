// What the processes of the tests share: each opens the store, keeps a log of its calls outside it,
// and makes every call in a transaction of its own.
//
// The log is what the checker believes (tests/checker.h). A line is written with one append before
// a call and after it, so it is known what a killed process was doing, and what it was told:
//
//     ! NAME .                         the process starts
//     > 17 commit EXEC .               it is about to ask
//     < 17 ok EXEC JOB ATTEMPT .       it was told: `ok`, `none`, `finish`, or a refusal's word
//
// A line without its closing dot was cut short by the kill and counts for nothing.
#pragma once

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/execution.h"
#include "engine/job.h"
#include "engine/step.h"
#include "engine/sweep.h"

enum { LINE_BYTES = 256,
       STORE_FAILED = 3 };

struct actor {
    const char *name;
    struct db *db;
    struct arena arena;
    struct worker worker;
    int64_t lease_us;  // of its claims; 0: as the policy says
    char boot_id[32];
    int log;  // -1: none
    int64_t calls;
    uint64_t dice;
};

static const struct caller actor_caller = {
    .org_id = { "00000000-0000-7000-8000-000000000000", 36 },
    .actor_type = ACTOR_SYSTEM,
    .actor_id = { "actor", 5 },
    .request_id = { "request-1", 9 },
    .correlation_id = { "correlation-1", 13 },
};

// A store that fails a call has broken its promise: the process says so and ends, and the driver,
// which expects it to live until it is killed, sees that.
static inline _Noreturn void actor_give_up(const struct actor *actor, const char *what,
                                           const struct pawl_error *err)
{
    fprintf(stderr, "%s: %s: %s: %s\n", actor->name, what, pawl_code(err->code)->word,
            err->message);
    exit(STORE_FAILED);
}

static inline void PRINTF(2, 3) actor_log(const struct actor *actor, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (actor->log >= 0 && write(actor->log, line, (size_t)length) != length)
        actor_give_up(actor, "its log", &(struct pawl_error){ .code = PAWL_DISK_FULL });
}

// splitmix64: the driver's seed decides what the process does.
static inline uint64_t actor_dice(struct actor *actor)
{
    uint64_t z = actor->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline bool one_in(struct actor *actor, uint64_t n)
{
    return actor_dice(actor) % n == 0;
}

// ----- calls

struct call {
    struct actor *actor;
    int64_t number;
    struct tx tx;
    struct pawl_error err;
    const char *word;  // the answer, for the log
};

static inline void call_announce(struct call *call, struct actor *actor, const char *op,
                                 const char *subject)
{
    *call = (struct call){ .actor = actor, .number = ++actor->calls };
    actor_log(actor, "> %lld %s %s .\n", (long long)call->number, op, subject);
}

// The transaction of a call, or of a batch of calls that were announced one by one.
static inline bool call_open(struct call *call, struct actor *actor)
{
    call->actor = actor;
    if (!tx_begin(actor->db, TX_WRITE, &actor->arena, &call->tx, &call->err))
        return false;
    call->tx.caller = &actor_caller;
    return true;
}

static inline bool call_begin(struct call *call, struct actor *actor, const char *op,
                              const char *subject)
{
    call_announce(call, actor, op, subject);
    return call_open(call, actor);
}

// Ends the transaction. A refusal is an answer; anything else that is not done ends the process.
static inline bool call_end(struct call *call, bool done)
{
    done = done && tx_commit(&call->tx, &call->err);
    tx_end(&call->tx);
    if (!done && !pawl_code(call->err.code)->refusal)
        actor_give_up(call->actor, "a call failed", &call->err);
    call->word = done ? "ok" : pawl_code(call->err.code)->word;
    return done;
}

// For calls that nobody may refuse.
static inline void call_must_end(struct call *call, bool done)
{
    if (!call_end(call, done))
        actor_give_up(call->actor, "a call was refused", &call->err);
}

static inline void call_answer(struct call *call, const struct execution *e)
{
    char execution[ID_TEXT + 1] = "-", job[ID_TEXT + 1] = "-";
    if (e && e->id.high)
        id_format(e->id, execution);
    if (e && e->job.high)
        id_format(e->job, job);
    actor_log(call->actor, "< %lld %s %s %s %lld .\n", (long long)call->number, call->word,
              execution, job, e ? (long long)e->attempt : 0);
}

// ----- the store

enum { ACTOR_GENERATION_KEYS = 16 };  // few, so that the keys of a test are in many generations

#define EFFECTS_TABLE \
    "CREATE TABLE IF NOT EXISTS effects (job TEXT, attempt INTEGER, worker TEXT, at BIGINT)"

static inline void actor_open(struct actor *actor, const struct db_options *options)
{
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!db_open(&actor->db, options, &err)
        || !tx_begin(actor->db, TX_WRITE, &actor->arena, &tx, &err)
        || !tx_execute(&tx, EFFECTS_TABLE, &err) || !tx_commit(&tx, &err))
        actor_give_up(actor, "the store does not open", &err);
    snprintf(actor->boot_id, sizeof actor->boot_id, "%llx",
             (unsigned long long)world_random(world_real()));
    actor->worker = (struct worker){ .worker_id = str_of(actor->name),
                                     .instance = str_of(actor->name),
                                     .boot_id = str_of(actor->boot_id) };
}

#define LOG_MODE (O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC)

// The arguments: STORE LOG NAME SEED [WORD...]
static inline void actor_start(struct actor *actor, char **argv)
{
    int64_t seed = 0;
    *actor = (struct actor){ .name = argv[3],
                             .log = open(argv[2], LOG_MODE, 0644) };
    if (actor->log < 0 || !str_int(str_of(argv[4]), &seed)) {
        fprintf(stderr, "usage: PROGRAM STORE LOG NAME SEED [WORD...]\n");
        exit(2);
    }
    actor->dice = (uint64_t)seed;
    actor_log(actor, "\n! %s .\n", actor->name);  // after a line that was cut short
    actor_open(actor, &(struct db_options){ .url = str_of(argv[1]),
                                            .generation_keys = ACTOR_GENERATION_KEYS });
}

static inline bool has_word(char **argv, const char *word)
{
    for (char **argument = argv + 5; *argument; argument++)
        if (str_eq(str_of(*argument), str_of(word)))
            return true;
    return false;
}

// ----- jobs

#define ACTOR_QUEUE S("q:default")

// Everything follows from the key and the number: a repeated request asks for the same job.
static inline struct contract contract_numbered(struct arena *arena, struct str key, int64_t n)
{
    struct contract contract = {
        .job_type = n % 2 ? S("test.odd") : S("test.even"),
        .org_id = actor_caller.org_id,
        .actor_type = actor_caller.actor_type,
        .actor_id = actor_caller.actor_id,
        .request_id = actor_caller.request_id,
        .correlation_id = actor_caller.correlation_id,
        .idempotency_key = key,
        .payload = str_format(arena, "{\"n\":%lld}", (long long)n),
        .queue = ACTOR_QUEUE,
        .priority = n % 3,
        .serial_key = n % 4 ? S("") : str_format(arena, "serial-%lld", (long long)(n % 5)),
        .policy = *policy_builtin(S("lifecycle")),
    };
    contract.policy.name = S("test");
    contract.policy.max_attempts = 8;
    contract.policy.base_us = contract.policy.delay_us_max = MILLISECONDS(10);
    contract.policy.lease_us = LEASE_US_MIN;
    contract.policy.dead_letter = n % 3 == 0;
    return contract;
}
