// The PostgreSQL driver: one connection, one write lock across processes, answers read whole.
//
// A write transaction holds an advisory lock of the store, as on SQLite the lock of its file: one
// writes at a time, so an operation that looks and then writes is right as it is written, in any
// number of processes. The database is READ COMMITTED, and every statement after the lock sees what
// the writer before has committed. Readers have a snapshot and wait for nobody.
//
// A statement that fails has spoilt its transaction. A connection that is lost has taken its
// transaction back, unless that was being committed: then nobody knows (PAWL_IN_DOUBT).
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/bell.h"
#include "store/postgres_many.h"

enum {
    BOOLEAN_TYPE = 16,  // its OID
    ROWS_AT_ONCE = 500,
};

// ----- plain text

static bool is_fine(const PGresult *result)
{
    ExecStatusType status = pq.resultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

PGresult *postgres_ask(struct postgres *postgres, const char *sql, const char *what,
                       struct pawl_error *err)
{
    PGresult *result = pq.exec(postgres->connection, sql);
    return is_fine(result) || postgres_failed(postgres, result, what, err) ? result : NULL;
}

bool postgres_execute(struct db *db, const char *sql, struct pawl_error *err)
{
    PGresult *result = postgres_ask(postgres_of(db), sql, "statement refused", err);
    pq.clear(result);
    return result != NULL;
}

// ----- transactions

static void rollback(struct db *db)
{
    struct postgres *postgres = postgres_of(db);
    postgres->writing = false;
    if (pq.transactionStatus(postgres->connection) == PQTRANS_IDLE)
        return;
    pq.clear(pq.exec(postgres->connection, "ROLLBACK"));
    db->lost |= pq.status(postgres->connection) == CONNECTION_BAD;
}

static void note_version(struct postgres *postgres, const PGresult *result)
{
    int64_t version = strtoll(pq.getvalue(result, 0, 0), NULL, 10);
    postgres->moved = version > schema_version_known()
                   || (postgres->version != 0 && version != postgres->version);
    postgres->version = version;
}

static bool begin_write(struct postgres *postgres, struct pawl_error *err)
{
    char sql[256];
    bool has_schema = postgres->db.has_schema;
    snprintf(sql, sizeof sql, "%s%s", postgres->begin_write,
             has_schema ? "; SELECT max(version) FROM schema_migrations" : "");
    PGresult *result = pq.exec(postgres->connection, sql);
    const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
    if (state && strcmp(state, "55P03") == 0) {
        pq.clear(result);
        return fail(err, PAWL_BUSY, "%s: others have had the store for %lld ms: try again",
                    postgres->url.shown, (long long)(postgres->busy_us / 1000));
    }
    if (!is_fine(result))
        return postgres_failed(postgres, result, "cannot begin to write", err);
    if (has_schema)
        note_version(postgres, result);
    pq.clear(result);
    return true;
}

static bool begin(struct db *db, enum tx_mode mode, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    if (mode == TX_READ)
        return postgres_execute(db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
    if (postgres->read_only)
        return fail(err, PAWL_STORE, "%s was opened for reading only", postgres->url.shown);
    postgres->writing = begin_write(postgres, err);
    if (!postgres->writing)
        rollback(db);
    return postgres->writing;
}

static bool schema_moved(struct db *db)
{
    return postgres_of(db)->moved;
}

// The database's clock is the only one that all processes share. In a world that is not the real
// one, time is the world's.
static bool read_clock(struct db *db, pawl_time *now, struct pawl_error *err)
{
    *now = world_wall(db->world);
    if (db->world != world_real())
        return true;
    PGresult *result = postgres_ask(
        postgres_of(db), "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        "cannot read the clock", err);
    if (result)
        *now = strtoll(pq.getvalue(result, 0, 0), NULL, 10);
    pq.clear(result);
    return result != NULL;
}

// A commit that a constraint refuses has not happened, nor one of a transaction that had failed
// before. Nor has one that the server answers with an error and lives.
static bool commit(struct db *db, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    PGresult *result = pq.exec(postgres->connection, "COMMIT");
    bool writing = postgres->writing;
    if (is_fine(result)) {
        bool committed = strcmp(pq.cmdStatus(result), "COMMIT") == 0;
        pq.clear(result);
        postgres->writing = false;
        return committed || fail(err, PAWL_STORE, "%s: nothing was committed: an earlier statement "
                                                  "of the transaction had failed",
                                 postgres->url.shown);
    }
    const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
    bool constraint = state && strncmp(state, "23", 2) == 0;
    struct pawl_error why = {0};
    if (!postgres_failed(postgres, result, "commit refused", &why) && db->lost && writing)
        return fail(err, PAWL_IN_DOUBT, "the outcome of a commit is unknown: %s", why.message);
    return fail(err, constraint ? PAWL_CONFLICT : why.code, "%s", why.message);
}

// ----- parameters

static void bind(struct binding *binding, int i, const struct value *value)
{
    binding->lengths[i] = 0;
    binding->formats[i] = 0;
    binding->values[i] = NULL;
    switch (value->kind) {
    case VALUE_INT:
        snprintf(binding->numbers[i], NUMBER_BYTES, "%lld", (long long)value->number);
        binding->values[i] = binding->numbers[i];
        return;
    case VALUE_TEXT:  // in binary a text is its bytes, and they need no NUL behind them
        binding->values[i] = value->text.s ? value->text.s : "";
        binding->lengths[i] = (int)value->text.n;
        binding->formats[i] = 1;
        return;
    case VALUE_NONE:
        return;
    }
}

static bool bind_all(struct postgres *postgres, const struct value *values, size_t count,
                     struct pawl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind == VALUE_TEXT && values[i].text.n > INT32_MAX)
            return fail(err, PAWL_STORE, "a text of %zu bytes is too long", values[i].text.n);
        bind(&postgres->binding, (int)i, &values[i]);
    }
    return true;
}

// ----- statements

bool postgres_prepare(struct postgres *postgres, const char *name, const char *sql,
                      struct pawl_error *err)
{
    PGresult *result = pq.prepare(postgres->connection, name, sql, 0, NULL);
    if (!is_fine(result))
        return postgres_failed(postgres, result, name, err);
    pq.clear(result);
    return true;
}

static bool prepare_one(struct postgres *postgres, enum query query, struct pawl_error *err)
{
    if (!postgres->prepared[query])
        postgres->prepared[query] = postgres_prepare(postgres, queries[query].name,
                                                     queries[query].postgres, err);
    return postgres->prepared[query];
}

// NULL after filling `err`.
static PGresult *run(struct postgres *postgres, const char *name, size_t count,
                     struct pawl_error *err)
{
    const struct binding *b = &postgres->binding;
    PGresult *result = pq.execPrepared(postgres->connection, name, (int)count, b->values,
                                       b->lengths, b->formats, 0);
    if (!is_fine(result) && !postgres_failed(postgres, result, name, err))
        return NULL;
    postgres->changed = strtoll(pq.cmdTuples(result), NULL, 10);
    return result;
}

static bool start(struct db *db, enum query query, const struct value *values, size_t count,
                  void **statement, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    struct answer *answer = &postgres->answers[query];
    assert(!answer->result);  // as on SQLite: a statement inside its own loop
    assert(count <= PARAMETERS_MAX);
    if (!prepare_one(postgres, query, err) || !bind_all(postgres, values, count, err))
        return false;
    PGresult *result = run(postgres, queries[query].name, count, err);
    if (!result)
        return false;
    *answer = (struct answer){ .result = result, .row = -1, .rows = pq.ntuples(result) };
    *statement = answer;
    return true;
}

static bool next(struct db *db, void *statement, bool *row, struct pawl_error *err)
{
    (void)db, (void)err;
    struct answer *answer = statement;
    *row = ++answer->row < answer->rows;
    return true;
}

static void finish(void *statement)
{
    struct answer *answer = statement;
    pq.clear(answer->result);
    *answer = (struct answer){0};
}

static bool run_many(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    SCOPED(arena) struct arena arena = {0};
    size_t count = (size_t)queries[query].arguments;
    char name[MANY_NAME_BYTES];
    if (!prepare_one(postgres, query, err))
        return false;
    bool bound = rows == 1 ? bind_all(postgres, values, count, err)
                           : postgres_bind_many(postgres, &arena, query, values, rows, err);
    if (!bound)
        return false;
    PGresult *result = run(postgres, rows == 1 ? queries[query].name : many_name(query, name),
                           count, err);
    pq.clear(result);
    return result != NULL;
}

static int64_t changed(struct db *db)
{
    return postgres_of(db)->changed;
}

// ----- columns

static bool column_null(void *statement, int column)
{
    const struct answer *answer = statement;
    return pq.getisnull(answer->result, answer->row, column);
}

static int64_t column_int(void *statement, int column)
{
    const struct answer *answer = statement;
    const char *text = pq.getvalue(answer->result, answer->row, column);
    if (pq.ftype(answer->result, column) == BOOLEAN_TYPE)
        return *text == 't';
    return strtoll(text, NULL, 10);  // of the empty text, which stands for NULL: 0
}

static struct str column_text(void *statement, int column)
{
    const struct answer *answer = statement;
    return (struct str){ pq.getvalue(answer->result, answer->row, column),
                         (size_t)pq.getlength(answer->result, answer->row, column) };
}

// ----- what PostgreSQL looks after itself

static int64_t wal_bytes(const struct db *db)
{
    (void)db;
    return 0;
}

static bool checkpoint(struct db *db, bool whole)
{
    (void)db;
    return whole;  // a commit that can be read is on disk
}

static bool log_to_empty(const struct db *db)
{
    (void)db;
    return false;
}

// What is deleted goes when its page is vacuumed, and out of the log with the log.
static bool overwrite(struct db *db, struct pawl_error *err)
{
    (void)db, (void)err;
    return true;
}

static bool scrub(struct db *db, bool compact, struct pawl_error *err)
{
    return !compact || postgres_execute(db, "VACUUM", err);
}

// In a transaction of its own: inside the one that has the news it would make all commits of the
// server queue up. Nobody waits for the answer, whoever uses the connection next takes it away; and
// nobody needs it on disk.
static void ring(struct db *db)
{
    struct postgres *postgres = postgres_of(db);
    char sql[256];
    snprintf(sql, sizeof sql,
             "BEGIN; SET LOCAL synchronous_commit = off; NOTIFY " POSTGRES_CHANNEL
             ", '%s %s'; COMMIT",
             postgres->url.schema, db->bell ? bell_name(db->bell) : "");
    bool sent = pq.sendQuery(postgres->connection, sql);
    (void)sent;  // a ring that is lost is no harm: whoever waits looks once in a while
}

static bool copy(struct db *db, const char *path, const struct copy_watch *watch,
                 struct pawl_error *err)
{
    (void)path, (void)watch;
    return fail(err, PAWL_USAGE, "%s is a PostgreSQL database: back it up with pg_dump or "
                                 "pg_basebackup",
                postgres_of(db)->url.shown);
}

static void close_all(struct db *db)
{
    struct postgres *postgres = postgres_of(db);
    if (postgres->connection)
        pq.finish(postgres->connection);  // takes back what is open
    sem_destroy(&postgres->guard);
    arena_end(&postgres->arena);
    free(postgres);
}

const struct db_driver postgres_driver = {
    .dialect = DIALECT_POSTGRES,
    .alone = true,
    .walls = true,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .read_clock = read_clock,
    .execute = postgres_execute,
    .execute_application = postgres_execute_application,
    .start = start,
    .next = next,
    .finish = finish,
    .rows_at_once = ROWS_AT_ONCE,
    .hopes = true,
    .run_many = run_many,
    .changed = changed,
    .column_int = column_int,
    .column_text = column_text,
    .column_null = column_null,
    .wal_bytes = wal_bytes,
    .checkpoint = checkpoint,
    .log_to_empty = log_to_empty,
    .overwrite = overwrite,
    .scrub = scrub,
    .ring = ring,
    .copy = copy,
    .schema_moved = schema_moved,
    .guests = &postgres_guests,
    .close = close_all,
};
