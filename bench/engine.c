// How fast the engine moves jobs through their whole life, and whether a backlog slows it down.
//
//   build/bench/engine [--jobs N] [--batch N] [--queued N] [--blocked N] [--orgs N] [--types N]
//                      [--payload BYTES] [--sizes]
//
// Enqueues `jobs`, claims and starts them, commits and finishes them, each in transactions of
// `batch`, fsync on; before that the store is filled with `queued` jobs of another queue and
// `blocked` jobs behind one busy serial key. The jobs are of `orgs` tenants and `types` job types in
// turn. A figure is worth something only beside another of the same run, so the same rounds run on
// an empty store first, plain inserts run before and after, and the ratios are printed.
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control.h"
#include "sizes.h"

#include "engine/execution.h"
#include "engine/job.h"

struct bench {
    struct db *db;
    struct caller caller;
    struct worker worker;
    struct arena arena;
    struct tx tx;
    long jobs, batch, queued, blocked, orgs, types, payload_bytes, sizes;
    struct str payload, *org_names, *type_names;
    long made;  // so many jobs so far: whose turn it is
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

static void enqueue(struct bench *b, const char *queue, const char *serial_key, long jobs)
{
    const struct policy *policy = policy_builtin(S("default"));
    for (long done = 0; done < jobs; done += b->batch) {
        begin(b);
        for (long i = 0; i < b->batch && done + i < jobs; i++, b->made++) {
            struct contract contract = {
                .job_type = b->type_names[b->made / b->orgs % b->types],
                .org_id = b->org_names[b->made % b->orgs],
                .actor_id = S("bench"),
                .request_id = S("bench-request"), .correlation_id = S("bench-correlation"),
                .payload = b->payload, .queue = str_of(queue), .policy = *policy,
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

static struct round run_round(struct bench *b)
{
    struct round round = {0};
    struct lease *leases = calloc((size_t)b->jobs, sizeof *leases);
    assert(leases);
    double start = seconds();
    enqueue(b, "q:bench", "", b->jobs);
    round.enqueue = seconds() - start;
    start = seconds();
    size_t claimed = 0;
    for (size_t n; (n = claim(b, S("q:bench"), (size_t)b->batch, leases + claimed)) > 0;)
        claimed += n;
    round.claim = seconds() - start;
    assert(claimed == (size_t)b->jobs);
    start = seconds();
    for (size_t i = 0; i < claimed; i += (size_t)b->batch)
        finish(b, leases + i, (size_t)b->batch);
    round.finish = seconds() - start;
    free(leases);
    return round;
}

static double report(const struct bench *b, const char *name, struct round r)
{
    double jobs = (double)b->jobs, life = jobs / (r.enqueue + r.claim + r.finish);
    printf("%-28s %9.0f %9.0f %9.0f %11.0f\n", name, jobs / r.enqueue, jobs / r.claim,
           jobs / r.finish, life);
    return life;
}

static void fill(struct bench *b)
{
    struct lease busy;
    double start = seconds();
    if (b->blocked > 0) {
        enqueue(b, "q:serial", "one-key", 1);
        claim(b, S("q:serial"), 1, &busy);
        enqueue(b, "q:serial", "one-key", b->blocked);
    }
    enqueue(b, "q:backlog", "", b->queued);
    printf("filled with %ld queued, %ld behind one busy serial key, at %.0f/s\n", b->queued,
           b->blocked, (double)(b->queued + b->blocked) / (seconds() - start));
}

static long resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static const struct option options[] = {
    { "jobs", required_argument, NULL, 0 },   { "batch", required_argument, NULL, 1 },
    { "queued", required_argument, NULL, 2 }, { "blocked", required_argument, NULL, 3 },
    { "orgs", required_argument, NULL, 4 },   { "types", required_argument, NULL, 5 },
    { "payload", required_argument, NULL, 6 }, { "sizes", no_argument, NULL, 7 },
    { 0 },
};

static bool read_options(struct bench *b, int argc, char **argv)
{
    long *const values[] = { &b->jobs, &b->batch, &b->queued, &b->blocked,
                             &b->orgs, &b->types, &b->payload_bytes, &b->sizes };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (option == '?')
            return false;
        *values[option] = optarg ? strtol(optarg, NULL, 10) : 1;
    }
    return optind == argc && b->batch >= 1 && b->batch <= CLAIM_MAX && b->jobs >= b->batch
        && b->jobs % b->batch == 0 && b->orgs >= 1 && b->types >= 1 && b->payload_bytes >= 20
        && b->payload_bytes <= PAYLOAD_BYTES_MAX;
}

// A document of so many bytes.
static struct str payload_of(struct arena *arena, long bytes)
{
    char *text = arena_alloc(arena, (size_t)bytes + 1);
    assert(text);
    snprintf(text, (size_t)bytes + 1, "{\"document\":\"%0*d\"}", (int)bytes - 15, 1);
    return (struct str){ text, (size_t)bytes };
}

// `prefix000000000000` and so on.
static struct str *names_of(struct arena *arena, const char *prefix, long count)
{
    struct str *names = arena_new(arena, struct str, (size_t)count);
    assert(names);
    for (long i = 0; i < count; i++)
        names[i] = str_format(arena, "%s%012ld", prefix, i);
    return names;
}

static double control(const struct bench *b, const char *directory)
{
    return control_inserts_per_s(directory, b->jobs, b->batch, b->payload);
}

static void run(struct bench *b, const char *directory)
{
    double before = control(b, directory);
    printf("%-28s %9s %9s %9s %11s   (jobs/s, batches of %ld)\n", "", "enqueue", "claim", "finish",
           "lifecycle", b->batch);
    run_round(b);  // warms up
    double empty = report(b, "empty store", run_round(b));
    if (b->blocked > 0 || b->queued > 0) {
        fill(b);
        double full = report(b, "with the backlog", run_round(b));
        printf("ratio to the empty store %.2f, %ld MiB resident at most\n", full / empty,
               resident_kib() >> 10);
    }
    double after = control(b, directory), mean = (before + after) / 2;
    printf("plain inserts %.0f/s, then %.0f/s: the empty store's ratio to them is %.3f\n", before,
           after, empty / mean);
}

int main(int argc, char **argv)
{
    char directory[] = "/var/tmp/pawl-bench-XXXXXX";
    struct bench b = {
        .caller = { .actor_id = S("bench"), .request_id = S("bench-1") },
        .worker = { .worker_id = S("bench") },
        .jobs = 20000, .batch = 1000, .orgs = 1, .types = 1, .payload_bytes = 200,
    };
    SCOPED(arena) struct arena names = {0};
    struct pawl_error err;
    if (!read_options(&b, argc, argv) || !mkdtemp(directory)) {
        fprintf(stderr, "see the first lines of bench/engine.c; jobs must be a multiple of batch, "
                        "batch 1 to %d\n", CLAIM_MAX);
        return 2;
    }
    b.payload = payload_of(&names, b.payload_bytes);
    b.org_names = names_of(&names, "00000000-0000-7000-8000-", b.orgs);
    b.type_names = names_of(&names, "bench-", b.types);
    struct str url = str_format(&names, "sqlite:%s/pawl.db", directory);
    must(db_open(&b.db, &(struct db_options){ .url = url }, &err), &err);
    run(&b, directory);
    db_close(b.db);
    arena_end(&b.arena);
    if (b.sizes)
        sizes_print(str_cstr(&names, url) + S("sqlite:").n, 2 * b.jobs + b.queued + b.blocked);
    static const char *const files[] = { "pawl.db", "pawl.db-wal", "pawl.db-shm", "pawl.db-lock" };
    for (size_t i = 0; i < countof(files); i++)
        unlink(str_cstr(&names, str_format(&names, "%s/%s", directory, files[i])));
    return rmdir(directory);
}
