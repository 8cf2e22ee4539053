// How fast the engine moves jobs through their whole life, and whether a backlog slows it down.
//
//   build/bench/engine [jobs [batch [queued [blocked]]]]
//
// Enqueues `jobs`, claims and starts them, commits and finishes them, each in transactions of
// `batch`, fsync on; before that the store is filled with `queued` jobs of another queue and
// `blocked` jobs behind one busy serial key. A figure is worth something only beside another of the
// same run, so the same rounds run on an empty store first and the ratio is printed.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/execution.h"
#include "engine/job.h"

struct bench {
    struct db *db;
    struct caller caller;
    struct worker worker;
    struct arena arena;
    struct tx tx;
};

static void must(bool done, const struct pawl_error *err)
{
    if (done)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static void begin(struct bench *b)
{
    struct pawl_error err;
    must(tx_begin(b->db, TX_WRITE, &b->arena, &b->tx, &err), &err);
    b->tx.caller = &b->caller;
}

static void commit(struct bench *b)
{
    struct pawl_error err;
    must(tx_commit(&b->tx, &err), &err);
    arena_reset(&b->arena);
}

static double seconds(void)
{
    return (double)world_monotonic(world_real()) / 1e6;
}

static void enqueue(struct bench *b, const char *queue, const char *serial_key, long jobs,
                    long batch)
{
    static char payload[220];
    snprintf(payload, sizeof payload, "{\"document\":\"%0180d\"}", 1);
    const struct policy *policy = policy_builtin(S("default"));
    for (long done = 0; done < jobs; done += batch) {
        begin(b);
        for (long i = 0; i < batch; i++) {
            struct contract contract = {
                .job_type = S("bench"), .org_id = b->caller.org_id, .actor_id = S("bench"),
                .request_id = S("bench-request"), .correlation_id = S("bench-correlation"),
                .payload = str_of(payload), .queue = str_of(queue), .policy = *policy,
                .serial_key = str_of(serial_key),
            };
            struct job job;
            bool known;
            struct pawl_error err;
            must(job_enqueue(&b->tx, &contract, &job, &known, &err), &err);
        }
        commit(b);
    }
}

// Claims and starts up to `limit` jobs of a queue; their leases go into `leases`.
static size_t claim(struct bench *b, struct str queue, size_t limit, struct lease *leases)
{
    struct claimed *claimed;
    size_t count;
    struct pawl_error err;
    begin(b);
    struct claim wanted = {
        .worker = b->worker,
        .queues = &queue,
        .queue_count = 1,
        .limit = limit,
        .start = true,
    };
    must(execution_claim(&b->tx, &wanted, &claimed, &count, &err), &err);
    for (size_t i = 0; i < count; i++)
        leases[i] = lease_of(&claimed[i].execution, &b->worker);
    commit(b);
    return count;
}

static void finish(struct bench *b, const struct lease *leases, size_t count)
{
    begin(b);
    for (size_t i = 0; i < count; i++) {
        struct execution e;
        struct pawl_error err;
        struct commit done = { .done = true, .result = S("{\"pages\":12}") };
        must(execution_commit(&b->tx, &leases[i], &done, &e, &err), &err);
    }
    commit(b);
}

struct round {
    double enqueue, claim, finish;
};

static struct round run_round(struct bench *b, long jobs, long batch)
{
    struct round round = {0};
    struct lease *leases = calloc((size_t)jobs, sizeof *leases);
    assert(leases);
    double start = seconds();
    enqueue(b, "q:bench", "", jobs, batch);
    round.enqueue = seconds() - start;
    start = seconds();
    size_t claimed = 0;
    for (size_t n; (n = claim(b, S("q:bench"), (size_t)batch, leases + claimed)) > 0;)
        claimed += n;
    round.claim = seconds() - start;
    assert(claimed == (size_t)jobs);
    start = seconds();
    for (size_t i = 0; i < claimed; i += (size_t)batch)
        finish(b, leases + i, (size_t)batch);
    round.finish = seconds() - start;
    free(leases);
    return round;
}

static double report(const char *name, struct round r, long jobs)
{
    double life = (double)jobs / (r.enqueue + r.claim + r.finish);
    printf("%-28s %9.0f %9.0f %9.0f %11.0f\n", name, (double)jobs / r.enqueue,
           (double)jobs / r.claim, (double)jobs / r.finish, life);
    return life;
}

static long argument(int argc, char **argv, int index, long otherwise)
{
    return argc > index ? strtol(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    long jobs = argument(argc, argv, 1, 20000), batch = argument(argc, argv, 2, 1000);
    long queued = argument(argc, argv, 3, 0), blocked = argument(argc, argv, 4, 0);
    char directory[] = "/var/tmp/pawl-bench-XXXXXX";
    if (jobs < batch || batch < 1 || batch > CLAIM_MAX || jobs % batch || !mkdtemp(directory)) {
        fprintf(stderr, "jobs must be a multiple of batch, batch 1 to %d\n", CLAIM_MAX);
        return 2;
    }
    struct bench b = {
        .caller = { .org_id = DEFAULT_ORG, .actor_id = S("bench"), .request_id = S("bench-1") },
        .worker = { .worker_id = S("bench") },
    };
    SCOPED(arena) struct arena names = {0};
    struct pawl_error err;
    struct str url = str_format(&names, "sqlite:%s/pawl.db", directory);
    must(db_open(&b.db, &(struct db_options){ .url = url }, &err), &err);

    printf("%-28s %9s %9s %9s %11s   (jobs/s, batches of %ld)\n", "", "enqueue", "claim", "finish",
           "lifecycle", batch);
    run_round(&b, jobs, batch);  // warms up
    double empty = report("empty store", run_round(&b, jobs, batch), jobs);
    if (blocked > 0) {
        struct lease busy;
        enqueue(&b, "q:serial", "one-key", 1, 1);
        claim(&b, S("q:serial"), 1, &busy);
        double start = seconds();
        enqueue(&b, "q:serial", "one-key", blocked, batch);
        printf("filled with %ld behind one busy serial key at %.0f/s\n", blocked,
               (double)blocked / (seconds() - start));
    }
    if (queued > 0)
        enqueue(&b, "q:backlog", "", queued, batch);
    if (blocked > 0 || queued > 0) {
        double full = report("with the backlog", run_round(&b, jobs, batch), jobs);
        printf("ratio %.2f\n", full / empty);
    }
    db_close(b.db);
    arena_end(&b.arena);
    static const char *const files[] = { "pawl.db", "pawl.db-wal", "pawl.db-shm", "pawl.db-lock" };
    for (size_t i = 0; i < countof(files); i++)
        unlink(str_cstr(&names, str_format(&names, "%s/%s", directory, files[i])));
    return rmdir(directory);
}
