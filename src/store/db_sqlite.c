// The SQLite driver: one connection, one write lock across processes, checkpoints between commits.
//
// WAL and synchronous=FULL: a commit that was answered is on disk. Every write transaction is
// BEGIN IMMEDIATE under the file lock of lock.h, and only the holder of that lock checkpoints, so a
// writer and a checkpoint never overlap. The log is kept and reused; it is copied back when it has
// CHECKPOINT_FRAMES pages, and writing stops at `wal_bytes_max` if a foreign reader pins it.
#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/driver.h"
#include "store/file.h"
#include "store/gather_vfs.h"
#include "store/later.h"
#include "store/lock.h"

enum {
    PAGE_BYTES = 4096,
    FRAME_BYTES = PAGE_BYTES + 24,
    CHECKPOINT_FRAMES = 4096,
    READERS_WAIT_MS = 1000,
    ARGUMENTS_MAX = 40,
    APPLICATION_ID = 0x5061776c,  // "Pawl"
};

struct statement {
    sqlite3_stmt *handle;
    sqlite3 *connection;
    int index[ARGUMENTS_MAX];  // where SQLite put $1, $2, …
    bool busy;
};

struct sqlite {
    struct db db;
    sqlite3 *connection;
    struct lock lock;
    bool writing;  // holds the lock
    bool read_only;
    bool application;  // SQL of the application's own is being prepared
    bool checkpoint_by_hand;
    int frames;  // in the log after the last commit
    int64_t wal_bytes_max;
    char *path;
    struct statement statements[QUERIES];
    sqlite3_stmt *many[QUERIES];  // the same for LATER_ROWS rows
};

static struct sqlite *of(struct db *db)
{
    return (struct sqlite *)db;
}

static enum pawl_code code_of(int result)
{
    static const struct {
        int primary;
        enum pawl_code code;
    } codes[] = {
        { SQLITE_BUSY, PAWL_BUSY },     { SQLITE_LOCKED, PAWL_BUSY },
        { SQLITE_FULL, PAWL_DISK_FULL }, { SQLITE_NOMEM, PAWL_NO_MEMORY },
        { SQLITE_TOOBIG, PAWL_TOO_LARGE },
    };
    for (size_t i = 0; i < countof(codes); i++)
        if ((result & 0xff) == codes[i].primary)
            return codes[i].code;
    return PAWL_STORE;
}

static bool failed(struct sqlite *sqlite, const char *what, struct pawl_error *err)
{
    int result = sqlite3_extended_errcode(sqlite->connection);
    if (code_of(result) == PAWL_BUSY)  // not one of us: we wait for each other at the file lock
        return fail(err, PAWL_BUSY,
                    "%s: another program has held SQLite's lock for %lld ms: try again",
                    sqlite->path, (long long)(sqlite->lock.wait_us_max / 1000));
    return fail(err, code_of(result), "%s: %s: %s", sqlite->path, what,
                sqlite3_errmsg(sqlite->connection));
}

// A statement can end its transaction: `INSERT OR ROLLBACK` does, and so may a full disk. What came
// after it would then be committed one by one, and could not be taken back.
static bool still_inside(struct sqlite *sqlite, struct pawl_error *err)
{
    if (!sqlite->writing || !sqlite3_get_autocommit(sqlite->connection))
        return true;
    return fail(err, PAWL_STORE, "%s: a statement has ended the transaction it was part of",
                sqlite->path);
}

static bool execute(struct db *db, const char *sql, struct pawl_error *err)
{
    struct sqlite *sqlite = of(db);
    if (!still_inside(sqlite, err))
        return false;
    if (sqlite3_exec(sqlite->connection, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return failed(sqlite, "statement refused", err);
}

// Asked for each part of a statement when it is prepared. Its parameters are dictated by SQLite.
static int authorize(void *self, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)a, (void)b, (void)c, (void)d;
    bool ends_it = action == SQLITE_TRANSACTION && ((struct sqlite *)self)->application;
    return ends_it ? SQLITE_DENY : SQLITE_OK;
}

// The application's SQL may do what it likes inside the transaction, but not begin or end one.
static bool execute_application(struct db *db, const char *sql, struct pawl_error *err)
{
    of(db)->application = true;
    bool done = execute(db, sql, err);
    of(db)->application = false;
    return done && still_inside(of(db), err);
}

// Copies the log back into the file. The caller holds the lock. Done is done: what could not be
// copied because somebody reads it is tried again after a later commit. True when the log is all
// copied; with SQLITE_CHECKPOINT_RESTART, when the next commit also starts it over.
static bool checkpoint(struct sqlite *sqlite, int mode)
{
    int log = -1, copied = -1;
    int result = sqlite3_wal_checkpoint_v2(sqlite->connection, NULL, mode, &log, &copied);
    bool done = result == SQLITE_OK && log >= 0 && log == copied;
    if (done)
        sqlite->frames = 0;
    else if (log >= 0)
        sqlite->frames = log;
    return done;
}

static int remember_frames(void *self, sqlite3 *connection, const char *name, int frames)
{
    (void)connection;
    (void)name;
    ((struct sqlite *)self)->frames = frames;
    return SQLITE_OK;
}

static int64_t wal_bytes(const struct db *db)
{
    return (int64_t)((const struct sqlite *)db)->frames * FRAME_BYTES;
}

static bool log_is_long(const struct sqlite *sqlite)
{
    return sqlite->frames >= CHECKPOINT_FRAMES;
}

static bool checkpoint_between(struct db *db)
{
    struct sqlite *sqlite = of(db);
    if (!log_is_long(sqlite) || !lock_take(&sqlite->lock, NULL))
        return false;
    bool done = checkpoint(sqlite, SQLITE_CHECKPOINT_PASSIVE);
    lock_give(&sqlite->lock);
    return done;
}

// A log that is all copied starts over only when nobody reads from it any more. Readers that
// overlap would keep it growing, so here the writer waits for them: those that come now read the
// file.
static bool log_has_room(struct sqlite *sqlite, struct pawl_error *err)
{
    if (wal_bytes(&sqlite->db) < sqlite->wal_bytes_max)
        return true;
    bool copied = checkpoint(sqlite, SQLITE_CHECKPOINT_PASSIVE);
    if (!copied && wal_bytes(&sqlite->db) < sqlite->wal_bytes_max)
        return true;  // another process has started it over since
    int busy_ms = (int)(sqlite->lock.wait_us_max / 1000);
    sqlite3_busy_timeout(sqlite->connection,
                         busy_ms < READERS_WAIT_MS ? busy_ms : READERS_WAIT_MS);
    bool room = copied && checkpoint(sqlite, SQLITE_CHECKPOINT_RESTART);
    sqlite3_busy_timeout(sqlite->connection, busy_ms);
    if (room)
        return true;
    return fail(err, PAWL_FULL, "%s: the write-ahead log has reached %lld MiB because a reader "
                                "holds an old snapshot: end that reader, then try again",
                sqlite->path,
                (long long)(sqlite->wal_bytes_max >> 20));
}

static bool begin(struct db *db, enum tx_mode mode, struct pawl_error *err)
{
    struct sqlite *sqlite = of(db);
    if (mode == TX_READ)
        return execute(db, "BEGIN", err);
    if (sqlite->read_only)
        return fail(err, PAWL_STORE, "%s was opened for reading only", sqlite->path);
    if (!lock_take(&sqlite->lock, err))
        return false;
    if (log_has_room(sqlite, err) && execute(db, "BEGIN IMMEDIATE", err)) {
        sqlite->writing = true;
        return true;
    }
    lock_give(&sqlite->lock);
    return false;
}

static void give_lock(struct sqlite *sqlite)
{
    if (sqlite->writing)
        lock_give(&sqlite->lock);
    sqlite->writing = false;
}

// A disk that is full, or a lock that was not had, leaves the transaction uncommitted; after any
// other error the commit may or may not have reached the disk, and only reopening can tell.
static bool commit(struct db *db, struct pawl_error *err)
{
    struct sqlite *sqlite = of(db);
    int result = sqlite3_exec(sqlite->connection, "COMMIT", NULL, NULL, NULL);
    if (result == SQLITE_OK) {
        if (sqlite->writing && !sqlite->checkpoint_by_hand && log_is_long(sqlite))
            checkpoint(sqlite, SQLITE_CHECKPOINT_PASSIVE);
        give_lock(sqlite);
        return true;
    }
    enum pawl_code code = code_of(result);
    if (code == PAWL_DISK_FULL || code == PAWL_BUSY || !sqlite->writing)
        return failed(sqlite, "commit refused", err);
    return fail(err, PAWL_IN_DOUBT, "%s: the outcome of a commit is unknown: %s", sqlite->path,
                sqlite3_errmsg(sqlite->connection));
}

static void rollback(struct db *db)
{
    struct sqlite *sqlite = of(db);
    if (!sqlite3_get_autocommit(sqlite->connection))
        sqlite3_exec(sqlite->connection, "ROLLBACK", NULL, NULL, NULL);
    give_lock(sqlite);
}

static bool prepare(struct sqlite *sqlite, enum query query, struct pawl_error *err)
{
    struct statement *statement = &sqlite->statements[query];
    if (statement->handle)
        return true;
    assert(queries[query].arguments <= ARGUMENTS_MAX);
    if (sqlite3_prepare_v3(sqlite->connection, queries[query].sqlite, -1,
                           SQLITE_PREPARE_PERSISTENT, &statement->handle, NULL)
        != SQLITE_OK)
        return failed(sqlite, queries[query].name, err);
    statement->connection = sqlite->connection;
    for (int i = 0; i < queries[query].arguments; i++) {
        char name[] = { '$', (char)('0' + (i + 1) / 10), (char)('0' + (i + 1) % 10), 0 };
        if (i + 1 < 10)
            memmove(name + 1, name + 2, 2);
        statement->index[i] = sqlite3_bind_parameter_index(statement->handle, name);
    }
    return true;
}

static int bind(sqlite3_stmt *handle, int index, const struct value *value)
{
    switch (value->kind) {
    case VALUE_INT:
        return sqlite3_bind_int64(handle, index, value->number);
    case VALUE_TEXT:
        return sqlite3_bind_text64(handle, index, value->text.s ? value->text.s : "",
                                   value->text.n, SQLITE_STATIC, SQLITE_UTF8);
    case VALUE_NONE:
        break;
    }
    return sqlite3_bind_null(handle, index);
}

static bool start(struct db *db, enum query query, const struct value *values, size_t count,
                  void **result, struct pawl_error *err)
{
    struct sqlite *sqlite = of(db);
    if (!still_inside(sqlite, err) || !prepare(sqlite, query, err))
        return false;
    struct statement *statement = &sqlite->statements[query];
    assert(!statement->busy);  // a statement inside its own loop would lose its place
    for (size_t i = 0; i < count; i++)
        if (statement->index[i]
            && bind(statement->handle, statement->index[i], &values[i]) != SQLITE_OK)
            return failed(sqlite, queries[query].name, err);
    statement->busy = true;
    *result = statement;
    return true;
}

static bool next(struct db *db, void *cursor, bool *row, struct pawl_error *err)
{
    struct statement *statement = cursor;
    int result = sqlite3_step(statement->handle);
    *row = result == SQLITE_ROW;
    if (result == SQLITE_ROW || result == SQLITE_DONE)
        return true;
    return failed(of(db), queries[statement - of(db)->statements].name, err);
}

static void finish(void *cursor)
{
    struct statement *statement = cursor;
    sqlite3_reset(statement->handle);  // repeats the error of the step, which was reported there
    statement->busy = false;
}

// `INSERT INTO t (…) VALUES ($1, $2)` becomes `… VALUES (?1, ?2), (?3, ?4)` and so on.
static void text_for_many(sqlite3_str *sql, enum query query)
{
    const char *text = queries[query].sqlite, *tuple = strstr(text, "VALUES") + S("VALUES").n;
    sqlite3_str_append(sql, text, (int)(tuple - text));
    for (int row = 0; row < LATER_ROWS; row++) {
        if (row > 0)
            sqlite3_str_appendchar(sql, 1, ',');
        for (const char *c = tuple; *c; c++) {
            if (*c != '$') {
                sqlite3_str_appendchar(sql, 1, *c);
                continue;
            }
            char *end = NULL;
            long argument = strtol(c + 1, &end, 10);
            sqlite3_str_appendf(sql, "?%d", row * queries[query].arguments + (int)argument);
            c = end - 1;
        }
    }
}

static bool prepare_many(struct sqlite *sqlite, enum query query, struct pawl_error *err)
{
    if (sqlite->many[query])
        return true;
    sqlite3_str *sql = sqlite3_str_new(sqlite->connection);
    text_for_many(sql, query);
    char *text = sqlite3_str_finish(sql);
    int result = text ? sqlite3_prepare_v3(sqlite->connection, text, -1, SQLITE_PREPARE_PERSISTENT,
                                           &sqlite->many[query], NULL)
                      : SQLITE_NOMEM;
    sqlite3_free(text);
    return result == SQLITE_OK || failed(sqlite, queries[query].name, err);
}

static bool run_many(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err)
{
    struct sqlite *sqlite = of(db);
    assert(rows == 1 || rows == LATER_ROWS);
    if (!still_inside(sqlite, err) || !prepare(sqlite, query, err)
        || !prepare_many(sqlite, query, err))
        return false;
    bool one = rows == 1;
    sqlite3_stmt *handle = one ? sqlite->statements[query].handle : sqlite->many[query];
    const int *index = sqlite->statements[query].index;
    int count = (int)rows * queries[query].arguments, result = SQLITE_OK;
    for (int i = 0; i < count && result == SQLITE_OK; i++)
        result = bind(handle, one ? index[i] : i + 1, &values[i]);
    if (result == SQLITE_OK)
        result = sqlite3_step(handle);
    bool done = result == SQLITE_DONE || failed(sqlite, queries[query].name, err);
    sqlite3_reset(handle);  // repeats the error of the step
    return done;
}

static int64_t changed(struct db *db)
{
    return sqlite3_changes64(of(db)->connection);
}

static int64_t column_int(void *cursor, int column)
{
    return sqlite3_column_int64(((struct statement *)cursor)->handle, column);
}

static struct str column_text(void *cursor, int column)
{
    sqlite3_stmt *handle = ((struct statement *)cursor)->handle;
    const char *text = (const char *)sqlite3_column_text(handle, column);
    return (struct str){ text, text ? (size_t)sqlite3_column_bytes(handle, column) : 0 };
}

static bool column_null(void *cursor, int column)
{
    return sqlite3_column_type(((struct statement *)cursor)->handle, column) == SQLITE_NULL;
}

// Leaves a file that is whole without its log, so that a copy of a store nobody uses is a copy of
// all of it. When somebody else is writing just now it is theirs to do.
static void checkpoint_at_close(struct sqlite *sqlite)
{
    sqlite->lock.wait_us_max = 0;
    if (sqlite->db.broken || sqlite->frames == 0 || !lock_take(&sqlite->lock, NULL))
        return;
    checkpoint(sqlite, SQLITE_CHECKPOINT_PASSIVE);
    lock_give(&sqlite->lock);
}

static void close_all(struct db *db)
{
    struct sqlite *sqlite = of(db);
    for (size_t i = 0; i < QUERIES; i++) {
        sqlite3_finalize(sqlite->statements[i].handle);
        sqlite3_finalize(sqlite->many[i]);
    }
    if (sqlite->connection) {
        rollback(db);
        checkpoint_at_close(sqlite);
    }
    sqlite3_close(sqlite->connection);
    lock_close(&sqlite->lock);
    free(sqlite->path);
    free(sqlite);
}

static const struct db_driver driver = {
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .execute = execute,
    .execute_application = execute_application,
    .start = start,
    .next = next,
    .finish = finish,
    .run_many = run_many,
    .changed = changed,
    .column_int = column_int,
    .column_text = column_text,
    .column_null = column_null,
    .wal_bytes = wal_bytes,
    .checkpoint = checkpoint_between,
    .close = close_all,
};

static bool pragma_int(struct sqlite *sqlite, const char *sql, int64_t *value,
                       struct pawl_error *err)
{
    sqlite3_stmt *handle = NULL;
    bool ok = sqlite3_prepare_v2(sqlite->connection, sql, -1, &handle, NULL) == SQLITE_OK
        && sqlite3_step(handle) == SQLITE_ROW;
    if (ok)
        *value = sqlite3_column_int64(handle, 0);
    else if (sqlite3_errcode(sqlite->connection) == SQLITE_NOTADB)
        ok = fail(err, PAWL_STORE, "%s is not a Pawl store: it is no SQLite file", sqlite->path);
    else
        ok = failed(sqlite, "cannot read it", err);
    sqlite3_finalize(handle);
    return ok;
}

// A file of another program is refused before anything is written to it.
static bool is_ours(struct sqlite *sqlite, struct pawl_error *err)
{
    int64_t application = 0, tables = 0;
    if (!pragma_int(sqlite, "PRAGMA application_id", &application, err)
        || !pragma_int(sqlite, "SELECT count(*) FROM sqlite_schema", &tables, err))
        return false;
    if (application == APPLICATION_ID)
        return true;
    if (application == 0 && tables == 0)
        return sqlite->read_only || execute(&sqlite->db, "PRAGMA application_id=1348564844", err);
    return fail(err, PAWL_STORE, "%s is an SQLite file of another program, not a Pawl store",
                sqlite->path);
}

static bool is_write_ahead(struct sqlite *sqlite, struct pawl_error *err)
{
    int64_t wal = 0;
    return pragma_int(sqlite, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'",
                      &wal, err)
        && (wal || fail(err, PAWL_STORE, "%s cannot have a write-ahead log here", sqlite->path));
}

static bool set_up(struct sqlite *sqlite, struct pawl_error *err)
{
    sqlite3_extended_result_codes(sqlite->connection, 1);
    sqlite3_busy_timeout(sqlite->connection, (int)(sqlite->lock.wait_us_max / 1000));
    // A checkpoint at closing would run outside the lock.
    sqlite3_db_config(sqlite->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!is_ours(sqlite, err))
        return false;
    if (sqlite->read_only)
        return execute(&sqlite->db, "PRAGMA query_only=ON; PRAGMA mmap_size=0", err);
    if (!execute(&sqlite->db,
                 "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                 "PRAGMA foreign_keys=ON;"
                 "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF; PRAGMA mmap_size=0;"
                 "PRAGMA cache_size=-16384; PRAGMA journal_size_limit=67108864;"
                 "PRAGMA wal_autocheckpoint=0; PRAGMA trusted_schema=OFF;"
                 "PRAGMA recursive_triggers=ON",
                 err)
        || !is_write_ahead(sqlite, err))
        return false;
    sqlite3_wal_hook(sqlite->connection, remember_frames, sqlite);
    sqlite3_set_authorizer(sqlite->connection, authorize, sqlite);
    checkpoint(sqlite, SQLITE_CHECKPOINT_PASSIVE);  // and so learns how long the log is
    return true;
}

static bool is_there(const struct sqlite *sqlite, struct pawl_error *err)
{
    return access(sqlite->path, F_OK) == 0
        || fail(err, PAWL_NOT_FOUND,
                "there is no store at %s: create one with `pawl migrate` or by enqueueing the "
                "first job",
                sqlite->path);
}

static bool open_file(struct sqlite *sqlite, bool must_exist, struct pawl_error *err)
{
    int flags = sqlite->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (!sqlite->read_only && !must_exist)
        flags |= SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(sqlite->path, &sqlite->connection, flags | SQLITE_OPEN_NOMUTEX,
                        sqlite->read_only ? NULL : gather_vfs())
        != SQLITE_OK)
        return fail(err, PAWL_STORE, "cannot open %s: %s", sqlite->path,
                    sqlite3_errmsg(sqlite->connection));
    return file_on_this_machine(sqlite->path, err);
}

// Looks before it locks: a store that is not there leaves no lock file.
static bool open_locked(struct sqlite *sqlite, bool must_exist, struct pawl_error *err)
{
    if ((must_exist || sqlite->read_only) && !is_there(sqlite, err))
        return false;
    if (!file_resolve(&sqlite->path, err))
        return false;
    if (sqlite->read_only)
        return open_file(sqlite, true, err) && set_up(sqlite, err);
    char *path = sqlite3_mprintf("%s-lock", sqlite->path);
    bool locked = path && lock_open(&sqlite->lock, path, err) && lock_take(&sqlite->lock, err);
    sqlite3_free(path);
    if (!locked)
        return path ? false : fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    bool opened = open_file(sqlite, must_exist, err) && set_up(sqlite, err);
    lock_give(&sqlite->lock);
    return opened;
}

bool sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    // Takes a global lock out of every allocation; refused, harmlessly, once SQLite is in use.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    struct sqlite *sqlite = calloc(1, sizeof *sqlite);
    char *path = strndup(options->url.s + S("sqlite:").n, options->url.n - S("sqlite:").n);
    if (!sqlite || !path) {
        free(sqlite);
        free(path);
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    }
    const struct world *world = options->world ? options->world : world_real();
    int64_t busy_us = options->busy_us ? options->busy_us : SECONDS(10);
    sqlite->db = (struct db){ .driver = &driver, .world = world };
    sqlite->lock = (struct lock){ .fd = -1, .world = world, .wait_us_max = busy_us };
    sqlite->read_only = options->read_only;
    sqlite->checkpoint_by_hand = options->checkpoint_by_hand;
    sqlite->wal_bytes_max = options->wal_bytes_max ? options->wal_bytes_max : (int64_t)1 << 30;
    sqlite->path = path;
    if (!open_locked(sqlite, options->must_exist, err)) {
        close_all(&sqlite->db);
        return false;
    }
    *db = &sqlite->db;
    return true;
}
