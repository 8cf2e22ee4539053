// Hold the source, mark the target, copy, compare, verify, take the mark away.
#include "engine/transfer.h"

#include "base/file.h"
#include "base/hash.h"
#include "engine/seal.h"
#include "engine/sweep.h"
#include "engine/transfer_rows.h"
#include "store/copy.h"
#include "store/hold.h"
#include "store/store_url.h"

struct carrying {
    const struct transfer *transfer;
    struct transfer_report *report;
    struct arena arena;
    struct db *from, *to;
    struct tx source;   // writes nothing; nobody else does either
    struct str what;    // which source, and how far it has come
    int64_t rows;
};

static void carrying_end(struct carrying *c)
{
    tx_end(&c->source);
    db_close(c->from);
    db_close(c->to);
    arena_end(&c->arena);
}

static struct str shown(struct carrying *c, struct str url)
{
    return url_shown(&c->arena, url);
}

static bool open_any(struct carrying *c, struct str url, bool must_exist, struct db **db,
                     struct pawl_error *err)
{
    struct db_options options = {
        .url = url,
        .world = c->transfer->world,
        .must_exist = must_exist,
        .any_version = true,
    };
    return db_open(db, &options, err);
}

// ----- the source

// Whoever works on a file has a lock on it; on a server only instances have.
static bool nobody_uses(struct str url, struct pawl_error *err)
{
    SCOPED(sole) struct sole sole = {0};
    return !url_names_file(url) || sole_take(&sole, url, err);
}

static bool has_known_version(struct carrying *c, struct pawl_error *err)
{
    int64_t version = 0;
    if (!schema_version(c->from, &version, err))
        return false;
    if (version == SCHEMA_OF_A_COPY)
        return fail(err, PAWL_CONFLICT, "%.*s is a copy that is not done itself",
                    STR(shown(c, c->transfer->from)));
    return version == schema_version_known()
        || fail(err, PAWL_STORE, "%.*s has schema version %lld and this pawl makes %d: %s",
                STR(shown(c, c->transfer->from)), (long long)version, schema_version_known(),
                version < schema_version_known() ? "run `pawl migrate` on it first"
                                                 : "use a newer pawl");
}

// One that was killed is said to be alive for a while; its name is free, if it was ever held.
static bool is_dead(struct carrying *c, struct str instance, bool unheld, struct pawl_error *err)
{
    struct hold hold = {0};
    bool taken = hold_take(&hold, c->transfer->from, instance, err);
    unheld = unheld || hold.none;
    hold_give(&hold);
    if (!taken || !unheld)
        return taken;
    return fail(err, PAWL_CONFLICT, "instance %.*s was alive a moment ago: end it, wait %lld "
                                    "seconds and try again",
                STR(instance), (long long)(ALIVE_US / SECONDS(1)));
}

static bool nobody_lives(struct carrying *c, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&c->source, &rows, Q_COPY_INSTANCES, err, INT(c->source.now)))
        return false;
    while (rows_next(&rows)) {
        struct str instance = row_text(&rows);
        if (!is_dead(c, instance, row_int(&rows) != 0, err))
            return false;
    }
    return rows_ok(&rows, err);
}

static bool name_source(struct carrying *c, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(&c->source, &rows, Q_COPY_SOURCE, err))
        return false;
    if (rows_next(&rows)) {
        struct str secret = row_text(&rows);
        int64_t created_at = row_int(&rows), newest = row_int(&rows);
        c->what = hash_name(&c->arena, str_format(&c->arena, "%.*s %lld %lld", STR(secret),
                                                  (long long)created_at, (long long)newest));
    }
    return rows_ok(&rows, err);
}

static bool count_rows(struct carrying *c, struct pawl_error *err)
{
    for (const struct copied_table *table = copied_tables; table->name; table++) {
        int64_t count = 0;
        if (!table_count(&c->source, table, &count, err))
            return false;
        c->rows += count;
        c->report->tables++;
    }
    c->report->rows = c->rows;
    return true;
}

static bool hold_source(struct carrying *c, struct pawl_error *err)
{
    struct str url = c->transfer->from;
    return open_any(c, url, true, &c->from, err) && has_known_version(c, err)
        && nobody_uses(url, err) && tx_begin(c->from, TX_WRITE, &c->arena, &c->source, err)
        && sql_run_plain(&c->source, Q_COPY_HOLD, err) && nobody_lives(c, err)
        && name_source(c, err) && count_rows(c, err);
}

// ----- the target

struct state {
    bool any, done;
    struct str source;
};

static bool read_state(struct tx *tx, struct state *state, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *state = (struct state){0};
    if (!sql_ask_plain(tx, &rows, Q_COPY_STATE, err))
        return false;
    state->any = rows_next(&rows);
    if (state->any) {
        state->source = row_text(&rows);
        (void)row_int(&rows);  // when it began: for people
        state->done = row_int(&rows) != 0;
    }
    return rows_ok(&rows, err);
}

static bool is_empty(struct carrying *c, struct tx *tx, struct pawl_error *err)
{
    struct str to = shown(c, c->transfer->to);
    struct state state;
    if (!read_state(tx, &state, err))
        return false;
    if (state.done && str_eq(state.source, c->what))
        return fail(err, PAWL_CONFLICT, "%.*s is a copy of this store already, and done", STR(to));
    for (const struct copied_table *table = copied_tables; table->name; table++) {
        bool empty = true;
        if (table->empty == QUERIES && !table_empty(tx, table, &empty, err))
            return false;
        if (!empty)
            return fail(err, PAWL_CONFLICT, "%.*s is not empty: it has rows in %s. A copy replaces "
                                            "nothing: name a store that is yet to be made",
                        STR(to), table->name);
    }
    return true;
}

// What the migrations have put into it goes; from here on nobody opens it for anything else.
static bool mark(struct carrying *c, struct tx *tx, struct pawl_error *err)
{
    for (const struct copied_table *table = copied_tables; table->name; table++)
        if (table->empty != QUERIES && !sql_run_plain(tx, table->empty, err))
            return false;
    return sql_run(tx, Q_COPY_BEGIN, err, TEXT(c->what), INT(tx->now))
        && sql_run(tx, Q_MIGRATION_INSERT, err, INT(SCHEMA_OF_A_COPY), TEXT(S("unfinished copy")),
                   INT(tx->now));
}

static bool begin_target(struct carrying *c, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx look = {0};
    SCOPED(tx) struct tx tx = {0};
    struct db_options options = { .url = c->transfer->to, .world = c->transfer->world };
    db_close(c->to);
    if (!db_open(&c->to, &options, err) || !tx_begin(c->to, TX_READ, &arena, &look, err)
        || !is_empty(c, &look, err))  // before waiting for a lock: it may be the source itself
        return false;
    tx_end(&look);
    bool begun = tx_begin(c->to, TX_WRITE, &arena, &tx, err) && is_empty(c, &tx, err)
              && mark(c, &tx, err) && tx_commit(&tx, err);
    tx_end(&tx);
    db_close(c->to);
    c->to = NULL;
    return begun && open_any(c, c->transfer->to, true, &c->to, err);
}

static bool resume_target(struct carrying *c, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    SCOPED(rows) struct rows rows = {0};
    struct str to = shown(c, c->transfer->to);
    struct state state;
    int64_t version = 0;
    if (!tx_begin(c->to, TX_READ, &arena, &tx, err)
        || !sql_ask(&tx, &rows, Q_COPY_VERSION, err, INT(SCHEMA_OF_A_COPY))
        || !rows_number(&rows, &version, err) || !read_state(&tx, &state, err))
        return false;
    if (version != schema_version_known())
        return fail(err, PAWL_CONFLICT, "%.*s is a copy that another version of Pawl began: remove "
                                        "it and copy again",
                    STR(to));
    c->report->resumed = true;
    return (state.any && str_eq(state.source, c->what))
        || fail(err, PAWL_CONFLICT, "%.*s is an unfinished copy of another store, or of this one "
                                    "before somebody worked on it again: remove it and copy again",
                STR(to));
}

static bool take_target(struct carrying *c, struct pawl_error *err)
{
    struct str url = c->transfer->to;
    int64_t version = 0;
    if (!nobody_uses(url, err) || !open_any(c, url, false, &c->to, err)
        || !schema_version(c->to, &version, err))
        return false;
    return version == SCHEMA_OF_A_COPY ? resume_target(c, err) : begin_target(c, err);
}

// ----- from one to the other

static struct moving moving_of(struct carrying *c)
{
    return (struct moving){ &c->source, c->to, &c->transfer->audience, 0, c->rows };
}

static bool copy_files(struct carrying *c, struct pawl_error *err)
{
    return files_share(db_files(c->from), db_files(c->to), &c->report->artifacts, err);
}

// Rows that are there from an earlier time count as done.
static bool count_done(struct carrying *c, struct moving *m, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(c->to, TX_READ, &arena, &tx, err))
        return false;
    for (const struct copied_table *table = copied_tables; table->name; table++) {
        int64_t count = 0;
        if (!table_count(&tx, table, &count, err))
            return false;
        m->done += count;
    }
    return true;
}

static bool set_counters(struct carrying *c, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(c->to, TX_WRITE, &arena, &tx, err))
        return false;
    for (const struct copied_table *table = copied_tables; table->name; table++)
        if (table->counter != QUERIES && !sql_run_plain(&tx, table->counter, err))
            return false;
    return tx_commit(&tx, err);
}

static bool copy_rows(struct carrying *c, struct pawl_error *err)
{
    struct moving m = moving_of(c);
    if (c->report->resumed && !count_done(c, &m, err))
        return false;
    for (const struct copied_table *table = copied_tables; table->name; table++)
        if (!table_copy(&m, table, err))
            return false;
    return set_counters(c, err);
}

static bool compare_rows(struct carrying *c, struct pawl_error *err)
{
    struct moving m = moving_of(c);
    for (const struct copied_table *table = copied_tables; table->name; table++)
        if (!table_compare(&m, table, err))
            return false;
    return true;
}

static bool verify_target(struct carrying *c, struct pawl_error *err)
{
    const struct copy_audience *audience = &c->transfer->audience;
    struct verify_options options = {
        .self = audience->self,
        .found = audience->found,
        .progress = audience->progress,
        .artifacts = true,
    };
    struct seal_check check = { .self = audience->self, .progress = audience->progress };
    struct seals_checked seals;
    if (!verify(c->to, &options, &c->report->found, err)
        || !seals_check(c->to, &check, &seals, err))
        return false;
    c->report->seals = seals.seals;
    c->report->found.violations += seals.findings;
    return c->report->found.violations == 0 || c->transfer->force
        || fail(err, PAWL_DAMAGED, "the store's records contradict each other (%lld violations): "
                                   "look with `pawl verify` and `pawl audit verify` at the source; "
                                   "--force keeps the copy as it is",
                (long long)c->report->found.violations);
}

static bool finish_target(struct carrying *c, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return tx_begin(c->to, TX_WRITE, &arena, &tx, err)
        && sql_run(&tx, Q_COPY_UNMARK, err, INT(SCHEMA_OF_A_COPY))
        && sql_run(&tx, Q_COPY_FINISH, err, INT(tx.now)) && tx_commit(&tx, err);
}

bool transfer_make(const struct transfer *transfer, struct transfer_report *report,
                   struct pawl_error *err)
{
    static const struct {
        enum copy_stage stage;
        bool (*run)(struct carrying *c, struct pawl_error *err);
    } steps[] = {
        { STAGE_ARTIFACTS, copy_files }, { STAGE_COPY, copy_rows },
        { STAGE_CHECK, compare_rows },   { STAGE_VERIFY, verify_target },
        { STAGE_PLACE, finish_target },
    };
    const struct copy_audience *audience = &transfer->audience;
    *report = (struct transfer_report){0};
    SCOPED(carrying) struct carrying c = { .transfer = transfer, .report = report };
    if (!hold_source(&c, err) || !take_target(&c, err))
        return false;
    for (size_t i = 0; i < countof(steps); i++) {
        if (audience->stage)
            audience->stage(audience->self, steps[i].stage);
        if (!steps[i].run(&c, err))
            return false;
    }
    return true;
}
