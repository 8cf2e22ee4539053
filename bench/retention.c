// What retention costs: how fast it removes ended jobs and their audit trail, and what it does to
// whoever enqueues meanwhile. Fsync on.
//
//     build/bench/retention [JOBS]
//
// Jobs are removed when their idempotency keys no longer count, so time has to pass: the store's
// clock never goes back, and one transaction by a clock that is far ahead takes it there.
#include <stdio.h>
#include <stdlib.h>

#include "bench/crew.h"
#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/place.h"
#include "engine/event.h"
#include "engine/retention.h"
#include "engine/seal.h"
#include "run/handle.h"

enum { JOBS = 1000000, SAMPLES = 500, TURNS_EACH = 5, SEALS_AT_ONCE = 20, RATE = 5000 };

static const struct retention keep = {
    .jobs_us = DAYS(30),
    .letters_us = DAYS(30),
    .logs_us = DAYS(14),
    .audit_us = DAYS(30),
};

struct bench_store {
    struct arena *arena;
    const char *url;
    struct stand stand;
    struct removing removing;  // where the pass is
    int64_t rows, pieces;
    double longest_s;          // piece
};

// ----- the store

static bool seal_all(struct db *db, struct pawl_error *err)
{
    struct seals seals = { .more = true };
    while (seals.more) {
        SCOPED(arena) struct arena arena = {0};
        SCOPED(tx) struct tx tx = {0};
        if (!tx_begin(db, TX_WRITE, &arena, &tx, err)
            || !seals_make(&tx, SEALS_AT_ONCE, true, &seals, err) || !seals_put(&tx, &seals, err)
            || !tx_commit(&tx, err))
            return false;
    }
    return true;
}

// What is done is sealed, and then it is two months later.
static bool let_time_pass(struct bench_store *b, struct pawl_error *err)
{
    struct virtual_world later;
    struct db *db = NULL;
    SCOPED(tx) struct tx tx = {0};
    virtual_world_init(&later, world_wall(world_real()) + DAYS(60), 1);
    struct db_options options = { .url = str_of(b->url), .world = &later.world };
    bool done = db_open(&db, &options, err) && seal_all(db, err)
             && tx_begin(db, TX_WRITE, b->arena, &tx, err)
             && event_append_for(&tx, 0, S("config"), EVENT_CONFIG_LOADED, S(""), err)
             && tx_commit(&tx, err);
    tx_end(&tx);
    db_close(db);
    return done;
}

static struct stand_options options_of(const struct bench_store *b)
{
    return (struct stand_options){
        .store = b->url,
        .batch = CLAIM_MAX < 1000 ? CLAIM_MAX : 1000,
        .orgs = 1,
        .types = 1,
        .payload = payload_of(b->arena, PAYLOAD_SMALL),
        .workers = 1,
    };
}

static bool fill(struct bench_store *b, long jobs, struct pawl_error *err)
{
    struct stand_options options = options_of(b);
    double from = seconds_now();
    bool done = stand_open(&b->stand, &options, err) && stand_enqueue(&b->stand, NULL, jobs, err)
             && stand_drain(&b->stand, jobs, err);
    stand_end(&b->stand);
    b->stand = (struct stand){0};
    done = done && let_time_pass(b, err) && stand_open(&b->stand, &options, err);
    if (done)
        printf("%ld ended jobs, sealed, made in             %8.1f s\n", jobs, seconds_now() - from);
    return done;
}

// ----- pieces, as the server does them

struct piece {
    struct operation operation;
    struct removing before, after;
};

static bool remove_piece(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct piece *piece = (struct piece *)self;
    piece->after = piece->before;
    return retention_step(tx, &piece->after, err);
}

static bool do_piece(struct bench_store *b, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct piece piece = {
        .operation = { .run = remove_piece, .arena = &arena, .caller = &caller_pawl },
        .before = b->removing,
    };
    double from = seconds_now();
    if (!pipeline_do(b->stand.pawl->pipeline, &piece.operation, err))
        return false;
    double took = seconds_now() - from;
    b->removing = piece.after;
    b->rows += piece.after.rows;
    b->pieces++;
    if (took > b->longest_s)
        b->longest_s = took;
    return true;
}

// ----- somebody enqueues meanwhile

struct beside {
    struct member member;
    struct bench_store *store;
    int64_t rate;           // rows a second; 0: nothing is removed
    bool enqueues;          // this member; the other one removes
    _Atomic bool *over;
    double *samples;        // seconds
};

static bool enqueue_some(struct beside *b, struct pawl_error *err)
{
    for (int i = 0; i < SAMPLES; i++) {
        double from = seconds_now();
        if (!stand_enqueue(&b->store->stand, "bench.beside", 1, err))
            return false;
        b->samples[i] = seconds_now() - from;
    }
    return true;
}

static bool remove_some(struct beside *b, struct pawl_error *err)
{
    while (b->rate && !atomic_load(b->over) && !b->store->removing.done) {
        if (!do_piece(b->store, err))
            return false;
        world_sleep(world_real(), b->store->removing.rows * SECONDS(1) / b->rate);
    }
    return true;
}

static void *work(void *self)
{
    struct beside *b = self;
    bool done = b->enqueues ? enqueue_some(b, &b->member.error)
                            : remove_some(b, &b->member.error);
    if (b->enqueues)
        atomic_store(b->over, true);
    (void)done;  // the error says it
    return NULL;
}

struct latency {
    double p50, p99;
};

static bool one_turn(struct bench_store *store, int64_t rate, struct latency *latency,
                     struct pawl_error *err)
{
    static double samples[SAMPLES];
    _Atomic bool over = false;
    struct beside pair[2] = {
        { .store = store, .rate = rate, .enqueues = true, .over = &over, .samples = samples },
        { .store = store, .rate = rate, .over = &over },
    };
    if (!crew_work(pair, sizeof pair[0], 2, work, err))
        return false;
    latency->p50 = quantile(samples, SAMPLES, 0.5);
    latency->p99 = quantile(samples, SAMPLES, 0.99);
    return true;
}

// In turns, so that whatever else the machine does hits all alike.
static bool beside(struct bench_store *store, struct pawl_error *err)
{
    static const struct {
        const char *name;
        int64_t rate;
    } ways[] = {
        { "enqueue alone", 0 },
        { "beside 5,000 rows/s, the default", RATE },
        { "beside 1,000,000 rows/s, no rest", 1000000 },
    };
    double p50[countof(ways)][TURNS_EACH], p99[countof(ways)][TURNS_EACH];
    for (int turn = 0; turn < TURNS_EACH; turn++)
        for (size_t i = 0; i < countof(ways); i++) {
            struct latency latency;
            if (!one_turn(store, ways[i].rate, &latency, err))
                return false;
            p50[i][turn] = latency.p50;
            p99[i][turn] = latency.p99;
        }
    double base50 = 0, base99 = 0;
    for (size_t i = 0; i < countof(ways); i++) {
        double m50 = median(p50[i], TURNS_EACH), m99 = median(p99[i], TURNS_EACH);
        base50 = i == 0 ? m50 : base50;
        base99 = i == 0 ? m99 : base99;
        printf("%-36s p50 %7.2f ms (%.2f x), p99 %7.2f ms (%.2f x)\n", ways[i].name, m50 * 1000,
               m50 / base50, m99 * 1000, m99 / base99);
    }
    return true;
}

// ----- all

// Without a rest, until so many jobs are gone; 0: until all is.
static bool remove_at_once(struct bench_store *b, int64_t jobs_max, struct pawl_error *err)
{
    const int64_t *gone = b->removing.removed;
    int64_t rows = b->rows, jobs = gone[REMOVED_JOBS], events = gone[REMOVED_EVENTS];
    double from = seconds_now();
    b->longest_s = 0;
    b->pieces = 0;
    while (!b->removing.done && (jobs_max == 0 || gone[REMOVED_JOBS] < jobs_max))
        if (!do_piece(b, err))
            return false;
    double took = seconds_now() - from;
    rows = b->rows - rows;
    printf("%lld jobs and %lld events removed at once: %.0f rows a second,\n",
           (long long)(gone[REMOVED_JOBS] - jobs), (long long)(gone[REMOVED_EVENTS] - events),
           took > 0 ? (double)rows / took : 0);
    printf("  in %lld pieces, the longest of %.1f ms\n", (long long)b->pieces,
           b->longest_s * 1000);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err = {0};
    int64_t jobs = JOBS;
    const char *directory = getenv("TMPDIR");
    if (argc > 1 && !str_int(str_of(argv[1]), &jobs))
        return 2;
    struct bench_store store = { .arena = &arena, .removing = { .keep = keep } };
    bool done = place_make(directory ? directory : "/var/tmp", &err);
    if (done)
        store.url = str_format(&arena, "sqlite:%s", place_path(&arena, PLACE_STORE)).s;
    done = done && fill(&store, (long)jobs, &err) && remove_at_once(&store, jobs / 3, &err)
        && beside(&store, &err) && remove_at_once(&store, 0, &err);
    stand_end(&store.stand);
    place_remove();
    if (!done)
        fprintf(stderr, "%s\n", err.message);
    return done ? 0 : 1;
}
