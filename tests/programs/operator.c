// Replays or fixes dead letters, or empties a queue, and can be made to die with -9 at a named
// statement.
//
//     operator STORE TASK [POINT TIMES]
//
// When a statement that begins with POINT is about to run for the TIMES-th time, the process kills
// itself: what is in its transaction is lost, what is committed stays.
#include <stdio.h>
#include <string.h>

#include "engine/execution.h"
#include "engine/job.h"
#include "engine/letter.h"
#include "engine/queue.h"
#include "mortal.h"

enum { JOBS = 6, PURGED_AT_ONCE = 2 };

static struct arena arena;
static struct caller caller = {
    .org_id = { "00000000-0000-7000-8000-000000000000", 36 },
    .actor_type = ACTOR_USER,
    .actor_id = { "operator", 8 },
    .request_id = { "request", 7 },
    .correlation_id = { "correlation", 11 },
};

static bool add(struct tx *tx, const char *type, struct job *job, struct pawl_error *err)
{
    struct contract contract = {
        .job_type = str_of(type),
        .org_id = caller.org_id,
        .payload = S("{\"n\":1}"),
        .policy = *policy_builtin(S("default")),
        .actor_id = S("somebody"),
        .request_id = S("r"),
        .correlation_id = S("c"),
        .queue = S("q:default"),
    };
    bool known = false;
    return job_enqueue(tx, &contract, job, &known, err);
}

// ----- the tasks. Each is called again until it says that it is done.

// A dead letter, and a job that waits.
static bool fill(struct tx *tx, bool *done, struct pawl_error *err)
{
    static int made;
    struct worker worker = { .worker_id = S("w"), .instance = S("i"), .boot_id = S("b") };
    struct str types[] = { S("dies") };
    struct claim claim = {
        .worker = worker,
        .every_queue = true,
        .job_types = types,
        .job_type_count = 1,
        .limit = 1,
        .start = true,
    };
    struct work_error error = { .class = ERROR_VALIDATION, .message = S("no") };
    struct claimed *claimed;
    struct execution e;
    struct job job;
    size_t count = 0;
    *done = ++made == JOBS;
    if (!add(tx, "dies", &job, err) || !add(tx, "waits", &job, err)
        || !execution_claim(tx, &claim, &claimed, &count, err) || count != 1)
        return false;
    struct lease lease = lease_of(&claimed[0].execution, &worker);
    return execution_fail(tx, &lease, &error, &e, err);
}

static bool replay(struct tx *tx, bool *done, struct pawl_error *err)
{
    struct letter_sweep sweep = { .filter = { .limit = 1 } };
    bool closed = letters_close(tx, &sweep, err);
    *done = closed && sweep.count == 0;
    return closed;
}

static bool fix(struct tx *tx, bool *done, struct pawl_error *err)
{
    static struct problems problems;
    SCOPED(json) json_t *payload = json_pack("{s:i}", "n", 2);
    struct letter_filter filter = { .limit = 1 };
    struct letter_list list;
    struct contract_rules rules = {
        .caller = tx->caller,
        .now = tx->now,
        .policy = policy_builtin_or_default,
    };
    struct letter_fix how = { .payload = payload, .rules = &rules, .problems = &problems };
    struct job job;
    problems = (struct problems){ .arena = tx->arena };
    if (!letters_match(tx, &filter, &list, err))
        return false;
    *done = list.count == 0;
    return *done || letter_fix(tx, list.letters[0].id, &how, &job, err);
}

static bool purge(struct tx *tx, bool *done, struct pawl_error *err)
{
    static struct purge p;
    p.queue = S("q:default");
    bool purged = queue_purge(tx, &p, PURGED_AT_ONCE, err);
    *done = p.done;
    return purged;
}

static const struct {
    const char *name;
    bool (*piece)(struct tx *tx, bool *done, struct pawl_error *err);
} tasks[] = {
    { "fill", fill }, { "replay", replay }, { "fix", fix }, { "purge", purge },
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
    if (argc < 3)
        return 2;
    while (task + 1 < countof(tasks) && strcmp(argv[2], tasks[task].name) != 0)
        task++;
    mortal_begin(argv + 3);
    bool done = db_open(&db, &(struct db_options){ .url = str_of(argv[1]) }, &err)
             && do_all(db, task, &err);
    if (!done)
        fprintf(stderr, "operator: %s\n", err.message);
    db_close(db);
    arena_end(&arena);
    return done ? 0 : 1;
}
