// The SQLite driver: one connection, one write lock across processes, checkpoints between commits.
//
// WAL and synchronous=FULL: a commit that was answered is on disk. Every write transaction is
// BEGIN IMMEDIATE under the file lock of lock.h, and only the holder of that lock checkpoints, so a
// writer and a checkpoint never overlap. The log is kept and reused; it is copied back when it is
// long, and writing stops at `wal_bytes_max` if a foreign reader pins it: see sqlite_log.c.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/bell.h"
#include "store/sqlite.h"

enum { ROWS_AT_ONCE = 32,  // in one statement
       ROLLBACK_TRIES = 3 };

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

// What was kept for this moment is given back: whoever tries again finds some room.
void sqlite_notice_full_disk(struct sqlite *sqlite, int result)
{
    if (code_of(result) != PAWL_DISK_FULL || sqlite->read_only)
        return;
    sqlite->db.gave_way = reserve_give(&sqlite->reserve) || sqlite->db.gave_way;
    sqlite->db.look_for_space_at = 0;
}

static void look_for_space(struct db *db)
{
    reserve_look(&sqlite_of(db)->reserve);
    db->is_short = sqlite_of(db)->reserve.is_short;
}

bool(sqlite_failed)(struct sqlite *sqlite, const char *what, struct pawl_error *err)
{
    int result = sqlite3_extended_errcode(sqlite->connection);
    sqlite_notice_full_disk(sqlite, result);
    if (code_of(result) == PAWL_BUSY)  // not one of us: we wait for each other at the file lock
        return fail(err, PAWL_BUSY,
                    "%s: another program has held SQLite's lock for %lld ms: try again",
                    sqlite->path, (long long)(sqlite->lock.wait_us_max / 1000));
    return fail(err, code_of(result), "%s: %s: %s", sqlite->path, what,
                sqlite3_errmsg(sqlite->connection));
}

bool sqlite_still_inside(struct sqlite *sqlite, struct pawl_error *err)
{
    if (!sqlite->writing || !sqlite3_get_autocommit(sqlite->connection))
        return true;
    return fail(err, PAWL_STORE, "%s: a statement has ended the transaction it was part of",
                sqlite->path);
}

bool sqlite_execute(struct db *db, const char *sql, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_of(db);
    if (!sqlite_still_inside(sqlite, err))
        return false;
    if (sqlite3_exec(sqlite->connection, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return sqlite_failed(sqlite, "statement refused", err);
}

static bool log_to_empty(const struct db *db)
{
    return ((const struct sqlite *)db)->log_to_empty;
}

static bool scrub(struct db *db, bool compact, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_of(db);
    if (!lock_take(&sqlite->lock, err))
        return false;
    bool compacted = !compact || sqlite_execute(db, "VACUUM", err);
    bool emptied = compacted && sqlite_log_empty(sqlite, (int)(sqlite->lock.wait_us_max / 1000));
    lock_give(&sqlite->lock);
    return emptied
        || (compacted
            && fail(err, PAWL_BUSY, "%s: a reader holds on to the write-ahead log, which still has "
                                    "what was overwritten: it is emptied later",
                    sqlite->path));
}

// It is slower to delete that way, so it is on for one transaction.
static bool overwrite(struct db *db, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_of(db);
    sqlite->overwriting = true;
    return sqlite_execute(db, "PRAGMA secure_delete=ON", err);
}

static void overwrite_no_more(struct sqlite *sqlite, bool committed)
{
    if (!sqlite->overwriting)
        return;
    sqlite->overwriting = false;
    sqlite->log_to_empty = sqlite->log_to_empty || committed;
    sqlite3_exec(sqlite->connection, "PRAGMA secure_delete=OFF", NULL, NULL, NULL);
}

static void ring(struct db *db)
{
    bell_ring_others(sqlite_of(db)->lock.fd);
}

// A file that was removed or replaced can still be written, by those who have it open: what they
// store is gone with them.
static bool file_is_there(const struct sqlite *sqlite, struct pawl_error *err)
{
    struct stat now;
    bool same = stat(sqlite->path, &now) == 0 && now.st_dev == sqlite->device
             && now.st_ino == sqlite->inode;
    return same || fail(err, PAWL_STORE, "%s was removed or replaced while it was open: put it "
                                         "back, or open the store again",
                        sqlite->path);
}

bool sqlite_prepare_rollback(struct sqlite *sqlite, struct pawl_error *err)
{
    if (sqlite3_prepare_v3(sqlite->connection, "ROLLBACK", -1, SQLITE_PREPARE_PERSISTENT,
                           &sqlite->rollback, NULL)
        != SQLITE_OK)
        return sqlite_failed(sqlite, "cannot be prepared", err);
    sqlite->prepared++;
    return true;
}

// Running it takes SQLite some memory, too: what there is none for now may be had a moment later.
void sqlite_roll_back(struct sqlite *sqlite)
{
    for (int i = 0; i < ROLLBACK_TRIES && !sqlite3_get_autocommit(sqlite->connection); i++) {
        sqlite3_step(sqlite->rollback);
        sqlite3_reset(sqlite->rollback);
    }
}

// What could not be taken back when it ended is before anything else begins.
static bool is_outside(struct sqlite *sqlite, struct pawl_error *err)
{
    sqlite_roll_back(sqlite);
    return sqlite3_get_autocommit(sqlite->connection)
        || sqlite_failed(sqlite, "the transaction before cannot be taken back yet", err);
}

static bool begin(struct db *db, enum tx_mode mode, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_of(db);
    if (!is_outside(sqlite, err))
        return false;
    if (mode == TX_READ)
        return sqlite_execute(db, "BEGIN", err);
    if (sqlite->read_only)
        return fail(err, PAWL_STORE, "%s was opened for reading only", sqlite->path);
    if (!lock_take(&sqlite->lock, err))
        return false;
    if (file_is_there(sqlite, err) && sqlite_log_has_room(sqlite, err)
        && sqlite_execute(db, "BEGIN IMMEDIATE", err)) {
        sqlite->writing = true;
        sqlite->uncounted = false;
        sqlite->changes_before = sqlite3_total_changes64(sqlite->connection);
        sqlite->changes_fleeting = 0;
        return true;
    }
    lock_give(&sqlite->lock);
    return false;
}

// What was gathered for the log and not written is dropped while the place is still ours.
static void give_lock(struct sqlite *sqlite)
{
    if (sqlite->writing) {
        sqlite_gather_drop(sqlite->connection);
        lock_give(&sqlite->lock);
    }
    sqlite->writing = false;
}

// Whether all that the transaction has changed may be lost with the machine.
static bool is_fleeting(const struct sqlite *sqlite)
{
    return sqlite->changes_fleeting > 0 && !sqlite->uncounted
        && sqlite3_total_changes64(sqlite->connection) - sqlite->changes_before
               == sqlite->changes_fleeting;
}

static int commit_to_disk(struct sqlite *sqlite)
{
    bool fleeting = is_fleeting(sqlite);
    if (fleeting)
        sqlite_gather_relax(sqlite->connection, true);
    sqlite->committing = true;
    int result = sqlite3_exec(sqlite->connection, "COMMIT", NULL, NULL, NULL);
    sqlite->committing = false;
    if (fleeting)
        sqlite_gather_relax(sqlite->connection, false);
    return result;
}

// A disk that is full, a lock that was not had, or a foreign key of the application's that leads
// nowhere leaves the transaction uncommitted; after any other error the commit may or may not have
// reached the disk, and only reopening can tell.
static bool commit(struct db *db, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_of(db);
    int result = commit_to_disk(sqlite);
    overwrite_no_more(sqlite, result == SQLITE_OK);
    if (result == SQLITE_OK) {
        sqlite_gather_done(sqlite->connection);
        if (sqlite->writing && !sqlite->checkpoint_by_hand && sqlite_log_is_long(sqlite))
            sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_PASSIVE);
        give_lock(sqlite);
        return true;
    }
    // defensive: we put no constraint off, and an application's are looked at before (guest.h)
    if ((result & 0xff) == SQLITE_CONSTRAINT)
        return fail(err, PAWL_CONFLICT, "%s: commit refused: %s", sqlite->path,
                    sqlite3_errmsg(sqlite->connection));
    enum pawl_code code = code_of(result);
    // defensive: who writes has had SQLite's lock since BEGIN, and who reads has nothing to write
    if (code == PAWL_DISK_FULL || code == PAWL_BUSY || !sqlite->writing)
        return sqlite_failed(sqlite, "commit refused", err);
    return fail(err, PAWL_IN_DOUBT, "%s: the outcome of a commit is unknown: %s", sqlite->path,
                sqlite3_errmsg(sqlite->connection));
}

static void rollback(struct db *db)
{
    struct sqlite *sqlite = sqlite_of(db);
    sqlite->guest.in = false;  // a guest may not roll back, and is one no longer
    sqlite_roll_back(sqlite);
    overwrite_no_more(sqlite, false);
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
        return sqlite_failed(sqlite, queries[query].name, err);
    sqlite->prepared++;
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
    switch (value->kind) {  // defensive: there are no other kinds
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
    struct sqlite *sqlite = sqlite_of(db);
    if (!sqlite_still_inside(sqlite, err) || !prepare(sqlite, query, err))
        return false;
    struct statement *statement = &sqlite->statements[query];
    assert(!statement->busy);  // a statement inside its own loop would lose its place
    for (size_t i = 0; i < count; i++)
        if (statement->index[i]
            && bind(statement->handle, statement->index[i], &values[i]) != SQLITE_OK)
            return sqlite_failed(sqlite, queries[query].name, err);
    statement->busy = true;
    *result = statement;
    return true;
}

static bool next(struct db *db, void *cursor, bool *row, struct pawl_error *err)
{
    struct statement *statement = cursor;
    struct sqlite *sqlite = sqlite_of(db);
    const struct query_row *query = &queries[statement - sqlite->statements];
    int result = sqlite3_step(statement->handle);
    *row = result == SQLITE_ROW;
    if (query->fleeting && result == SQLITE_DONE)
        sqlite->changes_fleeting += sqlite3_changes64(sqlite->connection);
    if (result == SQLITE_ROW || result == SQLITE_DONE)
        return true;
    return sqlite_failed(sqlite, query->name, err);
}

static void finish(void *cursor)
{
    struct statement *statement = cursor;
    sqlite3_reset(statement->handle);  // repeats the error of the step, which was reported there
    statement->busy = false;
}

// `INSERT INTO t (…) VALUES ($1, $2)` becomes `… VALUES (?1, ?2), (?3, ?4)` and so on. A row that
// is refused refuses the transaction: OR FAIL, or SQLite would keep a journal of each page for the
// case that half of the statement must be undone.
static void text_for_many(sqlite3_str *sql, enum query query)
{
    const char *text = strstr(queries[query].sqlite, " INTO "),
               *tuple = strstr(text, "VALUES") + S("VALUES").n;
    sqlite3_str_appendall(sql, "INSERT OR FAIL");
    sqlite3_str_append(sql, text, (int)(tuple - text));
    for (int row = 0; row < ROWS_AT_ONCE; row++) {
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
    size_t parameters = (size_t)ROWS_AT_ONCE * (size_t)queries[query].arguments;
    if (!sqlite->bound[query])
        sqlite->bound[query] = calloc(parameters, sizeof(struct value));
    if (!sqlite->bound[query])
        return fail(err, PAWL_NO_MEMORY, "no memory for a statement");
    sqlite3_str *sql = sqlite3_str_new(sqlite->connection);
    text_for_many(sql, query);
    char *text = sqlite3_str_finish(sql);
    if (!text)  // the connection does not know
        return fail(err, PAWL_NO_MEMORY, "no memory for a statement");
    int result = sqlite3_prepare_v3(sqlite->connection, text, -1, SQLITE_PREPARE_PERSISTENT,
                                    &sqlite->many[query], NULL);
    sqlite3_free(text);
    sqlite->prepared += result == SQLITE_OK;
    return result == SQLITE_OK || sqlite_failed(sqlite, queries[query].name, err);
}

// Most values are those of the rows before: the org, the queue, the time. What is bound stays so.
static int bind_many(sqlite3_stmt *handle, struct value *bound, const struct value *values,
                     int count)
{
    int result = SQLITE_OK;
    for (int i = 0; i < count && result == SQLITE_OK; i++) {
        bool same = values[i].kind != VALUE_TEXT && values[i].kind == bound[i].kind
                 && values[i].number == bound[i].number;
        if (same)
            continue;
        bound[i] = values[i];
        result = bind(handle, i + 1, &values[i]);
    }
    return result;
}

static int bind_one(const struct statement *statement, const struct value *values, int count)
{
    int result = SQLITE_OK;
    for (int i = 0; i < count && result == SQLITE_OK; i++)
        result = bind(statement->handle, statement->index[i], &values[i]);
    return result;
}

static bool run_some(struct sqlite *sqlite, enum query query, const struct value *values,
                     size_t rows, struct pawl_error *err)
{
    bool one = rows == 1;
    if (!sqlite_still_inside(sqlite, err)
        || !(one ? prepare : prepare_many)(sqlite, query, err))
        return false;
    sqlite3_stmt *handle = one ? sqlite->statements[query].handle : sqlite->many[query];
    int count = (int)rows * queries[query].arguments;
    int result = one ? bind_one(&sqlite->statements[query], values, count)
                     : bind_many(handle, sqlite->bound[query], values, count);
    if (result == SQLITE_OK)
        result = sqlite3_step(handle);
    bool done = result == SQLITE_DONE || sqlite_failed(sqlite, queries[query].name, err);
    sqlite3_reset(handle);  // repeats the error of the step
    return done;
}

static bool run_many(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err)
{
    size_t arguments = (size_t)queries[query].arguments, done = 0;
    while (done < rows) {
        size_t some = rows - done >= ROWS_AT_ONCE ? ROWS_AT_ONCE : 1;
        if (!run_some(sqlite_of(db), query, values + done * arguments, some, err))
            return false;
        done += some;
    }
    return true;
}

static int64_t changed(struct db *db)
{
    return sqlite3_changes64(sqlite_of(db)->connection);
}

// SQLite prepares a statement again when the schema is another than before.
static bool schema_moved(struct db *db)
{
    struct sqlite *sqlite = sqlite_of(db);
    int again = sqlite3_stmt_status(sqlite->statements[Q_CLOCK_NEWEST].handle,
                                    SQLITE_STMTSTATUS_REPREPARE, 0);
    bool moved = again != sqlite->prepared_again;
    sqlite->prepared_again = again;
    return moved;
}

static int64_t column_int(void *cursor, int column)
{
    return sqlite3_column_int64(((struct statement *)cursor)->handle, column);
}

static struct str column_text(void *cursor, int column)
{
    sqlite3_stmt *handle = ((struct statement *)cursor)->handle;
    // As a blob: for a text SQLite makes a copy of its own, to put a NUL behind it.
    const char *text = sqlite3_column_blob(handle, column);
    return (struct str){ text, text ? (size_t)sqlite3_column_bytes(handle, column) : 0 };
}

static bool column_null(void *cursor, int column)
{
    return sqlite3_column_type(((struct statement *)cursor)->handle, column) == SQLITE_NULL;
}

static void close_all(struct db *db)
{
    struct sqlite *sqlite = sqlite_of(db);
    for (size_t i = 0; i < QUERIES; i++) {
        sqlite3_finalize(sqlite->statements[i].handle);
        sqlite3_finalize(sqlite->many[i]);
        free(sqlite->bound[i]);
    }
    if (sqlite->connection) {
        rollback(db);
        sqlite_log_close(sqlite);
        sqlite_unguard(sqlite);
    }
    sqlite3_finalize(sqlite->rollback);
    // A statement that a guest has not finalized keeps what is left of the connection.
    sqlite3_close_v2(sqlite->connection);
    lock_close(&sqlite->lock);
    free(sqlite->path);
    free(sqlite);
}

const struct db_driver sqlite_driver = {
    .dialect = DIALECT_SQLITE,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .execute = sqlite_execute,
    .execute_application = sqlite_execute_application,
    .start = start,
    .next = next,
    .finish = finish,
    .rows_at_once = ROWS_AT_ONCE,
    .run_many = run_many,
    .changed = changed,
    .column_int = column_int,
    .column_text = column_text,
    .column_null = column_null,
    .wal_bytes = sqlite_log_bytes,
    .checkpoint = sqlite_log_maintain,
    .log_to_empty = log_to_empty,
    .overwrite = overwrite,
    .scrub = scrub,
    .ring = ring,
    .copy = sqlite_copy,
    .schema_moved = schema_moved,
    .guests = &sqlite_guests,
    .look_for_space = look_for_space,
    .close = close_all,
};
