// What a claim takes while somebody else's session holds an old snapshot of the same database, so
// that the server can clean nothing away: before, during, at the end of it, and after.
//
//     build/bench/snapshot SECONDS URL
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure.h"
#include "bench/parts.h"
#include "store/postgres.h"

enum { BATCH = 10, WAITING = 1000, CLAIMS_MAX = 1000000 };

struct measuring {
    struct stand stand;
    double *claims_us;
    double before_us;  // the median of the first part
};

static bool run_text(PGconn *connection, const char *sql, struct pawl_error *err)
{
    PGresult *result = pq.exec(connection, sql);
    ExecStatusType status = pq.resultStatus(result);
    pq.clear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
        || fail(err, PAWL_STORE, "%s: %s", sql, pq.errorMessage(connection));
}

// A batch comes, is claimed and ended. Only the claim counts, its commit included.
static bool live(struct stand *stand, double *claim_us, struct pawl_error *err)
{
    if (!stand_enqueue(stand, NULL, BATCH, err))
        return false;
    double start = seconds_now();
    if (!stand_move(stand, TRANSITION_CLAIM, BATCH, err))
        return false;
    *claim_us = (seconds_now() - start) * 1e6;
    return stand_move(stand, TRANSITION_START, BATCH, err)
        && stand_move(stand, TRANSITION_COMMIT, BATCH, err)
        && stand_move(stand, TRANSITION_DONE, BATCH, err);
}

static bool measure(struct measuring *m, const char *part, double seconds, struct pawl_error *err)
{
    size_t count = 0;
    for (double end = seconds_now() + seconds; count < CLAIMS_MAX && seconds_now() < end; count++)
        if (!live(&m->stand, &m->claims_us[count], err))
            return false;
    double p50 = median(m->claims_us, count), p99 = quantile(m->claims_us, count, 0.99);
    if (m->before_us == 0)
        m->before_us = p50;
    printf("| %s | %zu | %.0f | %.0f | %.2f |\n", part, count * BATCH, p50, p99,
           p50 / m->before_us);
    fflush(stdout);
    return true;
}

static bool measure_all(struct measuring *m, PGconn *other, double seconds, struct pawl_error *err)
{
    printf("| claims of %d | jobs | p50, us | p99, us | p50, of before |\n|---|---|---|---|---|\n",
           BATCH);
    return stand_enqueue(&m->stand, NULL, WAITING, err)
        && measure(m, "before", seconds / 4, err)
        && run_text(other, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1", err)
        && measure(m, "while it is held", seconds * 3 / 4, err)
        && measure(m, "at its end", seconds / 4, err) && run_text(other, "ROLLBACK", err)
        && measure(m, "after", seconds / 4, err);
}

static bool run(const char *url, int64_t seconds, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct server_url server;
    struct measuring m = { .claims_us = arena_new(&arena, double, CLAIMS_MAX) };
    struct stand_options options = {
        .store = url, .batch = WAITING, .orgs = 1, .types = 1, .workers = 1,
        .payload = payload_of(&arena, PAYLOAD_SMALL),
    };
    if (!m.claims_us || !postgres_load(err)
        || !server_url_parse(&arena, str_of(url), &server, err))
        return false;
    PGconn *other = postgres_connect(&server, err);
    bool done = other && stand_open(&m.stand, &options, err)
             && measure_all(&m, other, (double)seconds, err);
    stand_end(&m.stand);
    if (other)
        pq.finish(other);
    return done;
}

int main(int argc, char **argv)
{
    struct pawl_error err = {0};
    int64_t seconds = 0;
    if (argc != 3 || !str_int(str_of(argv[1]), &seconds) || seconds < 1) {
        fprintf(stderr, "usage: snapshot SECONDS URL\n");
        return 2;
    }
    if (run(argv[2], seconds, &err))
        return 0;
    fprintf(stderr, "%s\n", err.message);
    return 1;
}
