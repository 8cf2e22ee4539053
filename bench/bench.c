// The plan. The store is measured alone first, so that the memory it needs is its own; then beside
// the control and the store it is compared with; then what needs stores of its own.
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/place.h"
#include "store/store_url.h"

void bench_note(struct bench *b, enum figure figure, double value)
{
    b->figures[figure] = value;
    b->given[figure] = true;
}

void bench_tell(const struct bench_options *options, const char *part, long done, long total)
{
    if (options->progress)
        options->progress(options->self, part, done, total);
}

void bench_progress(const struct bench *b, const char *part, long done, long total)
{
    bench_tell(&b->options, part, done, total);
}

bool bench_on_server(const struct bench *b)
{
    return b->options.store && url_names_server(str_of(b->options.store));
}

struct str payload_of(struct arena *arena, long bytes)
{
    static const char head[] = "{\"document\":\"", tail[] = "\"}";
    size_t room = (size_t)bytes, frame = sizeof head + sizeof tail - 2;
    char *text = arena_alloc(arena, room + 1);
    if (!text || room < frame)
        return S("{}");
    memset(text, 'x', room);
    memcpy(text, head, sizeof head - 1);
    memcpy(text + room - (sizeof tail - 1), tail, sizeof tail);
    return (struct str){ text, room };
}

// ----- the store

static bool holds_no_jobs(const char *url, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct db *db = NULL;
    int64_t newest = 0;
    struct db_options options = { .url = str_of(url), .read_only = true, .must_exist = true };
    struct pawl_error why = {0};
    if (!db_open(&db, &options, &why))
        return why.code == PAWL_NOT_FOUND || fail(err, why.code, "%s", why.message);
    {
        SCOPED(tx) struct tx tx = {0};
        SCOPED(rows) struct rows rows = {0};
        if (!tx_begin(db, TX_READ, &arena, &tx, err)
            || !sql_ask_plain(&tx, &rows, Q_JOB_NEWEST, err) || !rows_number(&rows, &newest, err))
            newest = -1;
    }
    db_close(db);
    if (newest > 0)
        return fail(err, PAWL_CONFLICT, "%s holds jobs: take another store, or add jobs that mean "
                                        "nothing to it with --force",
                    url);
    return newest == 0;
}

static bool fill(struct bench *b, struct stand *stand, struct pawl_error *err)
{
    const struct bench_options *o = &b->options;
    long all = o->queued + o->blocked, piece = 10 * o->batch;
    double start = seconds_now();
    if (all == 0)
        return true;
    if (o->blocked > 0 && !stand_block(stand, o->blocked, err))
        return false;
    for (long done = 0; done < o->queued; done += piece) {
        bench_progress(b, "filling", done + o->blocked, all);
        if (!stand_enqueue(stand, NULL, piece < o->queued - done ? piece : o->queued - done, err))
            return false;
    }
    if (!b->given[FIGURE_FILL_PER_S])  // the base is filled later, and is not what was asked about
        bench_note(b, FIGURE_FILL_PER_S, (double)all / (seconds_now() - start));
    return true;
}

// A first batch, which warms up, and what waits.
static bool prepare(struct bench *b, struct stand *stand, struct pawl_error *err)
{
    return stand_enqueue(stand, NULL, b->options.batch, err)
        && stand_drain(stand, b->options.batch, err)
        && fill(b, stand, err);
}

// ----- what it is compared with

// Of what was asked for, the last is left out: tenants and types first, else the backlog.
static bool base_options(struct bench *b, struct stand_options *options)
{
    if (options->orgs > 1 || options->types > 1) {
        options->orgs = options->types = 1;
        b->base = b->options.queued + b->options.blocked > 0
            ? "one org and one job type, with as much waiting"
            : "one org and one job type";
        return true;
    }
    b->base = b->options.queued + b->options.blocked > 0 ? "an empty store" : NULL;
    return b->base != NULL;
}

// A file beside the store, or a schema of the same server.
static const char *base_url(struct bench *b)
{
    const char *store = b->options.store;
    struct str url = bench_on_server(b)
        ? str_format(b->arena, "%s%cschema=pawl_base", store, strchr(store, '?') ? '&' : '?')
        : str_format(b->arena, "sqlite:%s", place_path(b->arena, PLACE_BASE));
    return str_cstr(b->arena, url);
}

static bool base_open(struct bench *b, struct stand *base, struct stand_options options,
                      struct pawl_error *err)
{
    bool filled = options.orgs > 1 || options.types > 1;
    if (!base_options(b, &options))
        return true;
    options.store = base_url(b);
    if (!stand_open(base, &options, err))
        return false;
    if (filled)
        return prepare(b, base, err);
    return stand_enqueue(base, NULL, options.batch, err) && stand_drain(base, options.batch, err);
}

static bool measure_beside(struct bench *b, struct stand *stand, struct control *control,
                           struct pawl_error *err)
{
    struct stand base = {0};
    bool done = base_open(b, &base, stand->options, err);
    struct lifecycle on = { stand, b->base ? &base : NULL, control };
    done = done && measure_lifecycle(b, &on, err);
    stand_end(&base);
    place_clear(PLACE_BASE);
    return done;
}

// ----- the whole

static bool measure_store(struct bench *b, struct stand *stand, struct pawl_error *err)
{
    struct control *control = NULL;
    if (!prepare(b, stand, err) || !stand_enqueue(stand, NULL, b->options.batch, err)
        || !stand_drain(stand, b->options.batch, err))
        return false;
    bench_note(b, FIGURE_RSS_BYTES, (double)resident_bytes_max());
    const char *where = bench_on_server(b) ? b->options.store
                                           : place_path(b->arena, PLACE_CONTROL);
    bool done = control_open(&control, where, stand->options.payload, err)
        && measure_beside(b, stand, control, err)
        && measure_runs(b, stand, control, err);
    control_close(control);
    place_clear(PLACE_CONTROL);
    return done;
}

static bool measure(struct bench *b, struct pawl_error *err)
{
    const struct bench_options *o = &b->options;
    struct stand stand = {0};
    struct stand_options options = {
        .store = o->store ? o->store
                          : str_cstr(b->arena, str_format(b->arena, "sqlite:%s",
                                                          place_path(b->arena, PLACE_STORE))),
        .batch = o->batch, .orgs = o->orgs, .types = o->types, .workers = o->workers,
        .payload = payload_of(b->arena, o->payload_bytes),
    };
    if (b->arena->failed)
        return fail(err, PAWL_NO_MEMORY, "no memory for a payload of %ld bytes", o->payload_bytes);
    bool done = stand_open(&stand, &options, err) && measure_store(b, &stand, err);
    stand_end(&stand);
    place_clear(PLACE_STORE);
    if (bench_on_server(b))
        return done;
    return done && measure_payload(b, err) && measure_disk(b, err);
}

bool bench_run(struct bench *b, bool force, struct pawl_error *err)
{
    const struct bench_options *o = &b->options;
    if (o->store && !force && !holds_no_jobs(o->store, err))
        return false;
    if (!place_make(o->directory, err))
        return false;
    bool done = measure(b, err);
    place_remove();
    return done;
}
