// Seals, removes or erases, in virtual time, and can be made to die, with -9, at a named statement.
//
//     custodian STORE TASK START [POINT TIMES]
//
// START is in microseconds; 0 is real time, in which several can wait for each other. When a
// statement that begins with POINT is about to run for the TIMES-th time, the process kills itself:
// what is in its transaction is lost, what is committed stays.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/erase.h"
#include "engine/event.h"
#include "engine/execution.h"
#include "engine/job.h"
#include "engine/log.h"
#include "engine/retention.h"
#include "engine/seal.h"
#include "mortal.h"

#define OTHER S("00000000-0000-7000-8000-0000000000bb")

enum { JOBS = 30 };

static struct virtual_world world;
static struct arena arena;
static struct caller caller = {
    .org_id = { "00000000-0000-7000-8000-000000000000", 36 },
    .actor_type = ACTOR_USER,
    .actor_id = { "custodian", 9 },
    .request_id = { "request", 7 },
    .correlation_id = { "correlation", 11 },
};

// ----- the tasks. Each is called again until it says that it is done.

static bool seal(struct tx *tx, bool *done, struct pawl_error *err)
{
    struct seals seals;
    if (!seals_make(tx, 1, true, &seals, err) || !seals_put(tx, &seals, err))
        return false;
    *done = !seals.more;
    return true;
}

static bool retain(struct tx *tx, bool *done, struct pawl_error *err)
{
    static struct removing r;
    r.keep = (struct retention){
        .jobs_us = DAYS(30),
        .letters_us = DAYS(30),
        .logs_us = DAYS(10),
        .audit_us = DAYS(40),
    };
    bool stepped = retention_step(tx, &r, err);
    *done = r.done;
    return stepped;
}

static bool erase(struct tx *tx, bool *done, struct pawl_error *err)
{
    static int64_t before;
    struct job_filter filter = { .limit = 1, .before = before };
    struct job_list list;
    struct job job;
    if (!job_find(tx, &filter, &list, err))
        return false;
    before = list.next;
    *done = before == 0;
    return list.count == 0 || job_erase(tx, list.jobs[0].id, &job, err);
}

static bool erase_org(struct tx *tx, bool *done, struct pawl_error *err)
{
    static struct org_erasing e;
    e.org_id = OTHER;
    bool stepped = org_erase_step(tx, &e, err);
    *done = e.done;
    return stepped;
}

// Jobs of two orgs, with logs, that have ended.
static bool fill(struct tx *tx, bool *done, struct pawl_error *err)
{
    static int made;
    struct worker worker = { .worker_id = S("w"), .instance = S("i"), .boot_id = S("b") };
    struct contract contract = {
        .job_type = S("note"),
        .org_id = made % 2 ? OTHER : caller.org_id,
        .payload = S("{\"secret\":\"ada-lovelace-1815\"}"),
        .policy = *policy_builtin(S("default")),
        .actor_id = S("somebody"),
        .request_id = S("r"),
        .correlation_id = S("c"),
        .queue = S("q:default"),
    };
    struct claim claim = { .worker = worker, .every_queue = true, .limit = 1, .start = true };
    struct log_line line = { .at = 1, .text = S("ada-lovelace-1815") };
    struct claimed *claimed;
    struct execution e;
    struct job job;
    size_t count = 0;
    bool known = false;
    *done = ++made == JOBS;
    tx->caller = &caller_pawl;  // of every org
    if (!job_enqueue(tx, &contract, &job, &known, err)
        || !execution_claim(tx, &claim, &claimed, &count, err) || count != 1)
        return false;
    struct lease lease = lease_of(&claimed[0].execution, &worker);
    return log_append(tx, claimed[0].execution.id, &line, 1, err)
        && execution_commit(tx, &lease, &(struct commit){ .done = true, .result = S("1") }, &e,
                            err);
}

static const struct {
    const char *name;
    bool (*piece)(struct tx *tx, bool *done, struct pawl_error *err);
} tasks[] = {
    { "fill", fill }, { "seal", seal }, { "retain", retain }, { "erase", erase },
    { "org", erase_org },
};

static bool do_all(struct db *db, size_t task, struct pawl_error *err)
{
    for (bool done = false; !done;) {
        SCOPED(tx) struct tx tx = {0};
        if (!tx_begin(db, TX_WRITE, &arena, &tx, err))
            return false;
        tx.caller = &caller;
        if (!tasks[task].piece(&tx, &done, err) || !tx_commit(&tx, err))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    size_t task = 0;
    if (argc < 4)
        return 2;
    while (task + 1 < countof(tasks) && strcmp(argv[2], tasks[task].name) != 0)
        task++;
    mortal_begin(argv + 4);
    int64_t start = strtoll(argv[3], NULL, 10);
    virtual_world_init(&world, start, 7);
    struct db_options options = {
        .url = str_of(argv[1]),
        .world = start ? &world.world : world_real(),
    };
    bool done = db_open(&db, &options, &err) && do_all(db, task, &err);
    if (!done)
        fprintf(stderr, "custodian: %s\n", err.message);
    db_close(db);
    arena_end(&arena);
    return done ? 0 : 1;
}
