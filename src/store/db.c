// The port's own half: transactions, rows and the rules every driver shares.
#include "store/db.h"

#include <assert.h>
#include <stdlib.h>

#include "base/list.h"
#include "store/bell.h"
#include "store/blob.h"
#include "store/counts.h"
#include "store/driver.h"
#include "store/key_index.h"
#include "store/later.h"
#include "store/names.h"
#include "store/observe.h"
#include "store/store_url.h"

static const char *ringer(const struct db_options *options)
{
    if (options->ringer)
        return options->ringer;
    return options->bell ? bell_name(options->bell) : "";
}

bool db_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    *db = NULL;
    bool file = url_names_file(options->url), server = url_names_server(options->url);
    if (!file && !server)
        return fail(err, PAWL_USAGE, "store %.*s: a store is sqlite:FILE or postgres://…",
                    STR(options->url));
    if (!(file ? sqlite_open : postgres_open)(db, options, err))
        return false;
    (*db)->bell = options->bell;
    (*db)->ringer = ringer(options);
    (*db)->names = names_new();
    (*db)->key_index = key_index_new(options->generation_keys);
    (*db)->counts = counts_new();
    (*db)->later = later_new((*db)->driver->rows_at_once);
    (*db)->observers = options->observers;
    (*db)->observations = observations_new();
    (*db)->files = blobs_path(options->url);
    bool no_memory = !(*db)->names || !(*db)->key_index || !(*db)->counts || !(*db)->later
                  || !(*db)->observations || !(*db)->files;
    if (!no_memory && (options->any_version || migrate(*db, options->read_only, err))) {
        (*db)->has_schema = !options->any_version;
        (*db)->faults = options->faults;  // from here on: a store that is opened is not yet used
        return true;
    }
    db_close(*db);
    *db = NULL;
    return no_memory ? fail(err, PAWL_NO_MEMORY, "no memory to open the store") : false;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    names_free(db->names);
    key_index_free(db->key_index);
    counts_free(db->counts);
    later_free(db->later);
    observations_free(db->observations);
    free(db->files);
    db->driver->close(db);
}

bool db_checkpoint(struct db *db)
{
    return !db->broken && db->driver->checkpoint(db, false);
}

bool db_harden(struct db *db, struct pawl_error *err)
{
    return db->driver->checkpoint(db, true)
        || fail(err, PAWL_STORE, "the disk did not take what was written last: nothing is done "
                                 "before it does");
}

bool db_scrub(struct db *db, bool compact, struct pawl_error *err)
{
    return db->driver->scrub(db, compact, err);
}

uint64_t db_random(struct db *db)
{
    if (db->dice_left == 0) {
        db->world->random(db->world->self, db->dice, sizeof db->dice);
        db->dice_left = countof(db->dice);
    }
    return db->dice[--db->dice_left];
}

int64_t db_wal_bytes(const struct db *db)
{
    return db->driver->wal_bytes(db);
}

const char *db_files(const struct db *db)
{
    return db->files;
}

bool db_log_to_empty(const struct db *db)
{
    return db->driver->log_to_empty(db);
}

bool db_is_short(const struct db *db)
{
    return db->is_short;
}

bool db_refused(const struct db *db)
{
    return db->refused;
}

bool db_gave_way(struct db *db)
{
    bool gave_way = db->gave_way;
    db->gave_way = false;
    return gave_way;
}

bool db_is_distant(const struct db *db)
{
    return db->driver->distant;
}

bool db_lost(const struct db *db)
{
    return db->lost;
}

void db_ring(struct db *db)
{
    if (db->bell)
        bell_ring(db->bell);
    db->driver->ring(db);
}

void db_forget(struct db *db)
{
    names_forget(db->names);
    key_index_forget(db->key_index);
    db->left.event = 0;
}

// The latest time in the store, and whether jobs have links and there are limits.
static bool read_look(struct tx *tx, pawl_time *newest, struct pawl_error *err)
{
    struct rows *rows = &tx->db->look;
    bool any = rows_next(rows);
    *newest = any ? row_int(rows) : 0;
    tx->has_links = any && row_int(rows) != 0;
    tx->has_limits = any && row_int(rows) != 0;
    tx->newest_event = any ? row_int(rows) : 0;
    bool read = rows_ok(rows, err);
    rows_end(rows);
    return read;
}

// What a write must know of the store before it begins, and that its tables are still the ones this
// program was made for.
static bool look_first(struct tx *tx, pawl_time *newest, struct pawl_error *err)
{
    struct db *db = tx->db;
    if (!read_look(tx, newest, err))
        return false;
    if (db->driver->schema_moved(db) || db->outdated)
        db->outdated = !schema_still_known(tx, err);
    return !db->outdated;
}

static void resume(struct tx *tx)
{
    struct db *db = tx->db;
    bool knows = db->left.event != 0;
    db->has_company = knows && db->left.event != tx->newest_event;
    if (!knows || db->has_company)
        return;
    tx->last_id[ID_JOB] = db->left.job;
    tx->last_id[ID_EXECUTION] = db->left.execution;
    key_index_resume(tx, &db->left.keys);
}

static void leave(const struct tx *tx)
{
    tx->db->left.event = tx->last_event;
    tx->db->left.job = tx->last_id[ID_JOB];
    tx->db->left.execution = tx->last_id[ID_EXECUTION];
    tx->db->left.keys = tx->keys;
}

// The calendar's time, but not before `newest` nor before what this connection said last. Were it
// to stand still then, no lease would expire and no retry come due for as long as the step was.
static pawl_time store_time(struct db *db, pawl_time now, int64_t monotonic, pawl_time newest)
{
    int64_t elapsed = monotonic - db->last_monotonic;
    pawl_time floor = db->last_now ? db->last_now + elapsed / 2 : 0;
    if (floor < newest)
        floor = newest;
    if (now < floor)
        now = floor;
    db->last_now = now;
    db->last_monotonic = monotonic - elapsed % 2;  // half a microsecond is not lost but kept
    return now;
}

static pawl_time read_wall(struct tx *tx)
{
    struct db *db = tx->db;
    pawl_time wall = world_wall(db->world);
    tx->monotonic = world_monotonic(db->world);
    if (db->driver->read_clock)
        db->driver->read_clock(db, &wall, &tx->monotonic);
    return wall;
}

static bool pass(struct db *db, enum fault_point point, struct pawl_error *err)
{
    return !db->faults || db->faults->pass(db->faults->self, point, err);
}

static bool looks_first(const struct db *db, enum tx_mode mode)
{
    return mode == TX_WRITE && db->has_schema;
}

// Asks for all that it must know first. Nothing is left of one that fails.
static bool ask(struct tx *tx, enum tx_mode mode, struct pawl_error *err)
{
    struct db *db = tx->db;
    if (!db->driver->begin(db, mode, err))
        return false;
    tx->open = true;
    if (!looks_first(db, mode) || sql_ask_plain(tx, &db->look, Q_CLOCK_NEWEST, err))
        return true;
    tx_end(tx);
    return false;
}

void db_begin_ahead(struct db *db)
{
    struct tx tx = { .db = db };
    struct pawl_error unseen;
    assert(!db->ahead);
    if (!db->hurries || db->has_company || !db->has_schema || db->broken || db->lost)
        return;
    db->ahead = ask(&tx, TX_WRITE, &unseen);  // if it fails now it does so again in earnest
    if (db->ahead)
        db->driver->hurry(db);
}

static void take_up(struct tx *tx)
{
    tx->open = true;
    tx->db->look.tx = tx;
    tx->db->ahead = false;
}

void db_begin_back(struct db *db)
{
    SCOPED(tx) struct tx tx = { .db = db };
    if (db->ahead)
        take_up(&tx);
}

// What was begun ahead is a write. Whoever reads, or may not begin, takes it back.
static bool begin(struct tx *tx, enum tx_mode mode, struct pawl_error *err)
{
    struct db *db = tx->db;
    bool may = pass(db, FAULT_BEGIN, err);
    if (!may || mode != TX_WRITE)
        db_begin_back(db);
    if (!db->ahead)
        return may && ask(tx, mode, err);
    take_up(tx);
    return true;
}

bool tx_begin(struct db *db, enum tx_mode mode, struct arena *arena, struct tx *tx,
              struct pawl_error *err)
{
    *tx = (struct tx){ .db = db, .arena = arena, .has_links = true, .has_limits = true };
    if (db->broken)
        return fail(err, PAWL_STORE, "the store must be opened again: the outcome of a commit is "
                    "unknown");
    if (db->lost)
        return fail(err, PAWL_BUSY, "the store must be opened again: its database was out of "
                                    "reach");
    if (!begin(tx, mode, err))
        return false;
    pawl_time newest = 0;
    if (looks_first(db, mode) && !look_first(tx, &newest, err)) {
        tx_end(tx);
        return false;
    }
    pawl_time wall = read_wall(tx);
    tx->now = store_time(db, wall, tx->monotonic, newest);
    if (mode == TX_WRITE && tx->monotonic >= db->look_for_space_at) {
        if (db->driver->look_for_space)
            db->driver->look_for_space(db);
        db->look_for_space_at = tx->monotonic + SECONDS(1);
    }
    if (mode == TX_WRITE) {
        resume(tx);
        observe_begin(tx, db->observers);
    }
    return true;
}

static bool open_and_read(struct db **db, const struct db_options *options, struct arena *arena,
                          struct tx *tx, struct pawl_error *err)
{
    if (!*db && !db_open(db, options, err))
        return false;
    assert(*db);
    return tx_begin(*db, TX_READ, arena, tx, err);
}

bool db_begin_read(struct db **db, const struct db_options *options, struct arena *arena,
                   struct tx *tx, struct pawl_error *err)
{
    bool was_open = *db != NULL;
    if (open_and_read(db, options, arena, tx, err))
        return true;
    if (!was_open || !db_lost(*db))
        return false;
    db_close(*db);
    *db = NULL;
    return open_and_read(db, options, arena, tx, err);
}

void tx_has_news(struct tx *tx, int64_t type)
{
    tx->news_type = !tx->news || tx->news_type == type ? type : NEWS_ANY;
    tx->news = true;
}

void tx_witness(struct tx *tx, int64_t job, int64_t event, int64_t attempt)
{
    tx->has_witness = true;
    tx->witness = (struct witness){ tx->newest_event, job, event, attempt, tx->now };
}

static void forget_asked(struct db *db)
{
    rows_end(&db->look);
    rows_end(&db->appended);
    rows_end(&db->newest);
}

static bool read_last(struct tx *tx, struct pawl_error *err)
{
    struct db *db = tx->db;
    bool read = rows_number(&db->newest, &tx->last_event, err)
             && counts_appended(tx, &db->appended, err);
    forget_asked(db);
    return read;
}

// What is asked last is read at once, or, where the answers come with that to the commit, after it:
// counts that are to be folded then wait for the next transaction.
bool tx_wrap_up(struct tx *tx, struct pawl_error *err)
{
    struct db *db = tx->db;
    if (!key_index_settle(tx, err) || !later_run(tx, LATER_ALL, err)
        || !counts_fold_due(tx, err) || !counts_append(tx, &db->appended, err)
        || !sql_ask_plain(tx, &db->newest, Q_AUDIT_NEWEST, err))
        return false;
    tx->wrapped_up = true;
    return db_is_distant(db) || (read_last(tx, err) && counts_fold_due(tx, err));
}

static bool has_memory(const struct tx *tx, struct pawl_error *err)
{
    return !tx->arena->failed || fail(err, PAWL_NO_MEMORY, "out of memory: nothing was stored");
}

// What is settled is text as well, so memory is asked about twice.
static bool settle_to_commit(struct tx *tx, struct pawl_error *err)
{
    bool settled = has_memory(tx, err) && key_index_settle(tx, err) && counts_settle(tx, err)
        && later_run(tx, LATER_ALL, err) && has_memory(tx, err);
    tx->db->refused = !settled;
    return settled;
}

bool tx_commit(struct tx *tx, struct pawl_error *err)
{
    assert(tx->open);
    struct pawl_error unseen;
    struct pawl_error *why = err ? err : &unseen;
    if (!settle_to_commit(tx, why))
        return false;
    observe_settle(tx);
    int64_t begun = tx->observed ? world_monotonic(tx->db->world) : 0;
    if (!pass(tx->db, FAULT_BEFORE_COMMIT, why) || !tx->db->driver->commit(tx->db, why)
        || !pass(tx->db, FAULT_AFTER_COMMIT, why)) {
        tx->db->broken = why->code == PAWL_IN_DOUBT;
        if (tx->db->broken)
            observe_doubt(tx);
        return false;
    }
    if (tx->wrapped_up && db_is_distant(tx->db) && !read_last(tx, &unseen))
        tx->last_event = 0;
    tx->open = false;
    leave(tx);
    if (tx->news)
        db_ring(tx->db);
    if (tx->observed)
        observe_tell(tx, world_monotonic(tx->db->world) - begun);
    return true;
}

void tx_end(struct tx *tx)
{
    if (!tx->open)
        return;
    tx->open = false;
    forget_asked(tx->db);
    counts_drop(tx->db->counts);
    later_drop(tx->db->later);
    tx->db->driver->rollback(tx->db);
    if (tx->interned)
        names_forget(tx->db->names);  // a name interned by this transaction does not exist
    key_index_take_back(tx);
}

bool tx_hopes(struct tx *tx)
{
    bool hopes = tx->hopeful && tx->db->driver->expect;
    tx->hoped |= hopes;
    return hopes;
}

bool tx_execute(struct tx *tx, const char *sql, struct pawl_error *err)
{
    assert(tx->open);
    return later_run(tx, LATER_ALL, err) && tx->db->driver->execute_application(tx->db, sql, err);
}

bool tx_overwrite(struct tx *tx, struct pawl_error *err)
{
    assert(tx->open);
    return later_run(tx, LATER_ALL, err) && tx->db->driver->overwrite(tx->db, err);
}

bool tx_wall(struct tx *tx, int64_t org, struct pawl_error *err)
{
    return !tx->db->driver->walls || sql_run(tx, Q_WALL_UP, err, INT(org));
}

bool tx_mark(struct tx *tx, struct pawl_error *err)
{
    if (!key_index_settle(tx, err) || !counts_settle(tx, err) || !later_run(tx, LATER_ALL, err)
        || !tx->db->driver->execute(tx->db, "SAVEPOINT pawl_part", err))
        return false;
    tx->had_witness = tx->has_witness;
    tx->earlier_witness = tx->witness;
    observe_mark(tx);
    return true;
}

bool tx_keep(struct tx *tx, struct pawl_error *err)
{
    if (!tx->db->driver->execute(tx->db, "RELEASE pawl_part", err))
        return false;
    observe_keep(tx);
    return true;
}

bool tx_take_back(struct tx *tx, struct pawl_error *err)
{
    later_drop(tx->db->later);  // what is held came after the mark ...
    counts_drop(tx->db->counts);  // ... and so did this
    if (tx->interned)
        names_forget(tx->db->names);
    key_index_take_back(tx);
    tx->has_witness = tx->had_witness;
    tx->witness = tx->earlier_witness;
    observe_take_back(tx);
    return tx->db->driver->execute(tx->db, "ROLLBACK TO pawl_part; RELEASE pawl_part", err);
}

bool db_ask(struct tx *tx, struct rows *rows, enum query query, const struct value *values,
            size_t count, struct pawl_error *err)
{
    assert(tx->open && !rows->statement);
    assert(count == (size_t)queries[query].arguments);
    *rows = (struct rows){ .tx = tx };
    unsigned unseen = later_before(tx->db->later, query);
    if (unseen && !later_run(tx, unseen, err))
        return false;
    return tx->db->driver->start(tx->db, query, values, count, &rows->statement, err);
}

bool rows_next(struct rows *rows)
{
    bool row = false;
    rows->column = 0;
    if (rows->failed)
        return false;
    rows->failed = !rows->tx->db->driver->next(rows->tx->db, rows->statement, &row, &rows->error);
    return row && !rows->failed;
}

bool rows_ok(const struct rows *rows, struct pawl_error *err)
{
    if (rows->failed && err)
        *err = rows->error;
    return !rows->failed;
}

void rows_end(struct rows *rows)
{
    if (rows->statement)
        rows->tx->db->driver->finish(rows->statement);
    rows->statement = NULL;
}

static bool db_send(struct tx *tx, enum query query, const struct value *values, size_t count,
                    struct pawl_error *err)
{
    assert(tx->open && count == (size_t)queries[query].arguments);
    unsigned unseen = later_before(tx->db->later, query);
    return (!unseen || later_run(tx, unseen, err))
        && tx->db->driver->send(tx->db, query, values, count, err);
}

bool db_run(struct tx *tx, enum query query, const struct value *values, size_t count,
            int64_t *changed, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!changed && tx->db->driver->send)
        return db_send(tx, query, values, count, err);
    if (!db_ask(tx, &rows, query, values, count, err))
        return false;
    while (rows_next(&rows)) {}
    if (!rows_ok(&rows, err))
        return false;
    if (changed)
        *changed = tx->db->driver->changed(tx->db);
    return true;
}

bool rows_keys(struct rows *rows, struct keys *keys, struct pawl_error *err)
{
    struct list list = list_of(rows->tx->arena, sizeof(int64_t));
    while (rows_next(rows)) {
        int64_t *key = list_add(&list);
        if (!key)
            return fail(err, PAWL_NO_MEMORY, "no memory for the rows of an answer");
        *key = row_int(rows);
    }
    *keys = (struct keys){ list.items, list.count };
    return rows_ok(rows, err);
}

bool rows_number(struct rows *rows, int64_t *number, struct pawl_error *err)
{
    *number = rows_next(rows) ? row_int(rows) : 0;
    return rows_ok(rows, err);
}

int64_t row_int(struct rows *rows)
{
    return rows->tx->db->driver->column_int(rows->statement, rows->column++);
}

struct str row_text(struct rows *rows)
{
    struct str text = rows->tx->db->driver->column_text(rows->statement, rows->column++);
    return str_dup(rows->tx->arena, text);
}

bool row_is_null(struct rows *rows)
{
    return rows->tx->db->driver->column_null(rows->statement, rows->column);
}
