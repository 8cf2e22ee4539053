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

#include "store/postgres_many.h"
#include "store/postgres_wire.h"

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
    if (!wire_clear(postgres, err))
        return NULL;
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

static const struct {
    const char *name, *text;
} own[PHRASES] = {
    [PHRASE_BEGIN_READ] = { "pawl_read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" },
    [PHRASE_BEGIN_WRITE] = { "pawl_write", "BEGIN ISOLATION LEVEL READ COMMITTED" },
    [PHRASE_LOCK] = { "pawl_lock", NULL },  // each store has one of its own
    [PHRASE_CLOCK] = { "pawl_clock",
                       "SELECT (extract(epoch FROM t) * 1000000)::bigint,"
                       " (extract(epoch FROM t - transaction_timestamp()) * 1000000)::bigint"
                       " FROM clock_timestamp() AS t" },
    [PHRASE_VERSION] = { "pawl_version", "SELECT max(version) FROM schema_migrations" },
    [PHRASE_COMMIT] = { "pawl_commit", "COMMIT" },
    [PHRASE_RING] = { "pawl_ring", "SELECT set_config('synchronous_commit', 'off', true),"
                                   " pg_notify('" POSTGRES_CHANNEL "', $1)" },
};

static bool say(struct postgres *postgres, enum phrases which, size_t count,
                struct answer *answer, struct pawl_error *err)
{
    const char *text = which == PHRASE_LOCK ? postgres->lock : own[which].text;
    struct phrase phrase = { own[which].name, text, &postgres->prepared_own[which] };
    return wire_send(postgres, phrase, count, answer, err);
}

// What the transaction asked when it began, and nobody has read.
static void end(struct postgres *postgres)
{
    wire_forget(&postgres->clock);
    wire_forget(&postgres->schema_version);
    postgres->writing = false;
}

static void rollback(struct db *db)
{
    struct postgres *postgres = postgres_of(db);
    struct pawl_error unseen;
    end(postgres);
    bool clear = wire_clear(postgres, &unseen);
    (void)clear;  // what is taken back may have failed
    if (pq.transactionStatus(postgres->connection) == PQTRANS_IDLE)
        return;
    pq.clear(pq.exec(postgres->connection, "ROLLBACK"));
    db->lost |= pq.status(postgres->connection) == CONNECTION_BAD;
}

// Behind a pooler it begins with all its settings, in one text.
static bool say_first(struct postgres *postgres, bool write, struct pawl_error *err)
{
    if (postgres->url.pooled)
        return postgres_execute(&postgres->db,
                                write ? postgres->begin_write : postgres->begin_read, err);
    return say(postgres, write ? PHRASE_BEGIN_WRITE : PHRASE_BEGIN_READ, 0, NULL, err)
        && (!write || say(postgres, PHRASE_LOCK, 0, NULL, err));
}

// All that a transaction wants to know first is on its way before the lock is there. Where nothing
// else is asked for, the answers are: a connection that was lost is noticed before it is used.
static bool say_begin(struct postgres *postgres, enum tx_mode mode, struct pawl_error *err)
{
    bool real = postgres->db.world == world_real(), has_schema = postgres->db.has_schema;
    bool write = mode == TX_WRITE;
    return say_first(postgres, write, err)
        && (!real || say(postgres, PHRASE_CLOCK, 0, &postgres->clock, err))
        && (!write || !has_schema
            || say(postgres, PHRASE_VERSION, 0, &postgres->schema_version, err))
        && ((has_schema && write) || wire_read(postgres, err));
}

static bool begin(struct db *db, enum tx_mode mode, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    if (mode == TX_WRITE && postgres->read_only)
        return fail(err, PAWL_STORE, "%s was opened for reading only", postgres->url.shown);
    postgres->begun = world_monotonic(db->world);
    if (!say_begin(postgres, mode, err)) {
        rollback(db);
        return false;
    }
    postgres->writing = mode == TX_WRITE;
    return true;
}

static void hurry(struct db *db)
{
    wire_hurry(postgres_of(db));
}

static bool schema_moved(struct db *db)
{
    struct postgres *postgres = postgres_of(db);
    const PGresult *result = postgres->schema_version.result;
    assert(result);  // the look at the store came behind it
    int64_t version = strtoll(pq.getvalue(result, 0, 0), NULL, 10);
    bool moved = version > schema_version_known()
              || (postgres->version != 0 && version != postgres->version);
    postgres->version = version;
    return moved;
}

// The database's clock is the only one that all processes share. In a world that is not the real
// one, time is the world's. By the clock of this process it was read after the transaction had
// begun and waited for its lock, as long as the server says; it begins after it was sent.
static void read_clock(struct db *db, pawl_time *now, int64_t *monotonic)
{
    struct postgres *postgres = postgres_of(db);
    if (db->world != world_real())
        return;
    const PGresult *result = postgres->clock.result;
    assert(result);  // it was read with the begin, or by the look at the store
    *now = strtoll(pq.getvalue(result, 0, 0), NULL, 10);
    int64_t read_at = postgres->begun + strtoll(pq.getvalue(result, 0, 1), NULL, 10);
    if (read_at < *monotonic)  // else somebody has set the calendar meanwhile
        *monotonic = read_at;
}

// The commit goes behind what is on its way, and is not done if any of that is refused; only how
// many rows were changed the server cannot judge, so that is read before.
static bool send_commit(struct postgres *postgres, struct answer *answer, struct pawl_error *err)
{
    return (!wire_expects(postgres) || wire_read(postgres, err))
        && say(postgres, PHRASE_COMMIT, 0, answer, err);
}

static void answer_end(struct answer *answer)
{
    wire_forget(answer);
}

// A statement that was refused spoils its transaction; a commit that is, by a rule that was put off
// to the end of it, is a conflict. Without an answer nobody knows.
static bool commit_failed(struct postgres *postgres, bool in_doubt, const struct pawl_error *why,
                          struct pawl_error *err)
{
    const char *refused = postgres->refused;
    postgres->db.refused = refused && refused != own[PHRASE_COMMIT].name;
    if (in_doubt && !postgres->db.refused)
        return fail(err, PAWL_IN_DOUBT, "the outcome of a commit is unknown: %s", why->message);
    bool conflict = refused && !postgres->db.refused && postgres->by_constraint;
    return fail(err, conflict ? PAWL_CONFLICT : why->code, "%s", why->message);
}

// Nothing has happened when the server answers the commit, or something before it, with an error,
// nor when the transaction had failed before.
static bool commit(struct db *db, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    SCOPED(answer) struct answer answer = {0};
    struct pawl_error why = {0};
    postgres->refused = NULL;
    bool sent = send_commit(postgres, &answer, &why), writing = postgres->writing;
    if (!sent || !wire_read(postgres, &why))
        return commit_failed(postgres, sent && writing && db->lost, &why, err);
    end(postgres);
    return strcmp(pq.cmdStatus(answer.result), "COMMIT") == 0
        || fail(err, PAWL_STORE, "%s: nothing was committed: an earlier statement of the "
                                 "transaction had failed",
                postgres->url.shown);
}

// ----- statements

static struct phrase named(struct postgres *postgres, enum query query)
{
    return (struct phrase){ queries[query].name, queries[query].postgres,
                            &postgres->prepared[query] };
}

static bool start(struct db *db, enum query query, const struct value *values, size_t count,
                  void **statement, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    struct answer *answer = &postgres->answers[query];
    assert(!answer->result && !answer->asked);  // as on SQLite: a statement inside its own loop
    if (!wire_bind(postgres, values, count, err)
        || !wire_send(postgres, named(postgres, query), count, answer, err))
        return false;
    *statement = answer;
    return true;
}

static bool next(struct db *db, void *statement, bool *row, struct pawl_error *err)
{
    struct answer *answer = statement;
    if (answer->asked && !wire_read(postgres_of(db), err))
        return false;
    if (answer->failed)
        return fail(err, PAWL_STORE, "an earlier statement of this transaction failed");
    *row = ++answer->row < answer->rows;
    return true;
}

static void finish(void *statement)
{
    wire_forget(statement);
}

static bool send_one(struct db *db, enum query query, const struct value *values, size_t count,
                     struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    return wire_bind(postgres, values, count, err)
        && wire_send(postgres, named(postgres, query), count, NULL, err);
}

static bool run_many(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(db);
    SCOPED(arena) struct arena arena = {0};
    struct phrase many;
    size_t count = (size_t)queries[query].arguments;
    return rows == 1 ? send_one(db, query, values, count, err)
                     : postgres_for_many(postgres, named(postgres, query), query, &many, err)
                           && postgres_bind_many(postgres, &arena, query, values, rows, err)
                           && wire_send(postgres, many, count, NULL, err);
}

static void expect(struct db *db, int64_t rows)
{
    wire_expect(postgres_of(db), rows);
}

static bool settle(struct db *db, struct pawl_error *err)
{
    return wire_read(postgres_of(db), err);
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
    // defensive: queries answer numbers, by CASE; one that does not must not end a server
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
    struct pawl_error unseen;
    char news[256];
    assert(postgres->sent_count == 0);  // of the last transaction all was read
    snprintf(news, sizeof news, "%s %s", postgres->url.schema, db->ringer);
    bool sent = wire_bind(postgres, VALUES(TEXT(str_of(news))), 1, &unseen)
             // defensive: a schema and a name are never too long to be sent
             && say(postgres, PHRASE_RING, 1, NULL, &unseen);
    if (sent)  // a ring that is lost is no harm: whoever waits looks once in a while
        wire_let_go(postgres);
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
    .distant = true,
    .walls = true,
    .begin = begin,
    .hurry = hurry,
    .commit = commit,
    .rollback = rollback,
    .read_clock = read_clock,
    .execute = postgres_execute,
    .execute_application = postgres_execute_application,
    .start = start,
    .next = next,
    .finish = finish,
    .rows_at_once = ROWS_AT_ONCE,
    .run_many = run_many,
    .send = send_one,
    .expect = expect,
    .settle = settle,
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
