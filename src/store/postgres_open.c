// Connecting to a PostgreSQL server, and what holds for every session of Pawl's.
//
// A commit that was answered is on disk (synchronous_commit). Nobody waits for ever: not for a
// connection, a lock, a statement or a network that is gone. A session finds its tables by a fixed
// search path, and one that writes plans its statements once, by their keys: what is a good plan
// for the handful of rows that a queue has just now is ruinous for a million.
//
// Behind a pooler the session is another's after each transaction, so each says all that anew.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres.h"

enum { SERVER_VERSION_MIN = 150000 };

// ----- one connection

static void hear_nothing(void *self, const char *message)
{
    (void)self, (void)message;  // notices are for people at a terminal
}

// What libpq says about a URL it cannot read may quote any part of it.
static bool is_readable(const struct server_url *url, struct pawl_error *err)
{
    char *why = NULL;
    PQconninfoOption *options = pq.conninfoParse(url->connect, &why);
    bool has_secret = strstr(url->shown, "***") != NULL;
    bool readable = options
                 || fail(err, PAWL_USAGE, "store %s: %s", url->shown,
                         why && !has_secret ? why : "the URL is none that libpq can read");
    pq.conninfoFree(options);
    pq.freemem(why);
    return readable;
}

// What the URL may say otherwise comes before it; what it may not, behind it.
enum { PARAMETERS = 11 };
static const char *const keywords[PARAMETERS] = {
    "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval",
    "keepalives_count", "tcp_user_timeout", "target_session_attrs", "application_name",
    "dbname", "client_encoding", NULL,
};

static void fill(const char **values, const struct server_url *url)
{
    const char *const all[PARAMETERS] = {
        "10", "1", "10", "5", "3", "20000", "read-write", "pawl", url->connect, "UTF8", NULL,
    };
    memcpy(values, all, sizeof all);
}

PGconn *postgres_connect_start(const struct server_url *url)
{
    const char *values[PARAMETERS];
    fill(values, url);
    PGconn *connection = pq.connectStartParams(keywords, values, 1);
    if (connection)
        pq.setNoticeProcessor(connection, hear_nothing, NULL);
    return connection;
}

PGconn *postgres_connect(const struct server_url *url, struct pawl_error *err)
{
    const char *values[PARAMETERS];
    if (!postgres_load(err) || !is_readable(url, err))
        return NULL;
    fill(values, url);
    PGconn *connection = pq.connectdbParams(keywords, values, 1);
    bool connected = pq.status(connection) == CONNECTION_OK
                  || fail(err, PAWL_BUSY, "cannot connect to %s: %s", url->shown,
                          pq.errorMessage(connection));
    if (!connected) {
        pq.finish(connection);
        return NULL;
    }
    pq.setNoticeProcessor(connection, hear_nothing, NULL);
    return connection;
}

// ----- a session

static bool is_fit(struct postgres *postgres, struct pawl_error *err)
{
    const char *encoding = pq.parameterStatus(postgres->connection, "server_encoding");
    if (pq.serverVersion(postgres->connection) < SERVER_VERSION_MIN)
        return fail(err, PAWL_STORE, "%s is PostgreSQL %d: Pawl needs %d or newer",
                    postgres->url.shown, pq.serverVersion(postgres->connection) / 10000,
                    SERVER_VERSION_MIN / 10000);
    return (encoding && strcmp(encoding, "UTF8") == 0)
        || fail(err, PAWL_STORE, "%s has the encoding %s: Pawl needs a database with UTF8",
                postgres->url.shown, encoding ? encoding : "of nobody knows what");
}

struct setting {
    const char *name, *value;
};

// The server looks after a client that is gone as the client does after the server: a dead one
// keeps no lock. A pooler looks after its clients itself.
static const struct setting of_session[] = {
    { "client_connection_check_interval", "'10s'" },
    { "tcp_keepalives_idle", "10" },
    { "tcp_keepalives_interval", "5" },
    { "tcp_keepalives_count", "3" },
};

static const struct setting of_reader[] = { { "default_transaction_read_only", "on" } };

static const struct setting of_writer[] = {
    { "statement_timeout", "'5min'" },
    { "idle_in_transaction_session_timeout", "'60s'" },
    { "plan_cache_mode", "force_generic_plan" },
    { "enable_seqscan", "off" },
    { "enable_bitmapscan", "off" },
    { "enable_hashjoin", "off" },
    { "enable_mergejoin", "off" },
    { "max_parallel_workers_per_gather", "0" },  // to start some takes longer than any statement
};

static void add_settings(struct buf *sql, bool local, const struct setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(sql, "SET %s%s = %s;", local ? "LOCAL " : "", settings[i].name,
                 settings[i].value);
}

// All that is to hold in a session, or in a transaction. A transaction that reads says so itself.
static struct str settings_of(struct postgres *postgres)
{
    bool local = postgres->url.pooled;
    struct buf sql = buf_new(&postgres->arena, SETTINGS_BYTES);
    const struct setting of_everybody[] = {
        { "search_path", str_format(&postgres->arena, "%s, pg_temp", postgres->url.schema).s },
        { "synchronous_commit", postgres->fleeting ? "off" : "on" },
        { "lock_timeout",
          str_format(&postgres->arena, "%lld", (long long)(postgres->busy_us / 1000)).s },
        { "jit", "off" },
    };
    add_settings(&sql, local, of_everybody, countof(of_everybody));
    if (!local)
        add_settings(&sql, local, of_session, countof(of_session));
    if (!postgres->read_only)
        add_settings(&sql, local, of_writer, countof(of_writer));
    else if (!local)
        add_settings(&sql, local, of_reader, countof(of_reader));
    return buf_str(&sql);
}

// Where the application's SQL looks for tables and makes them: as the database or the role says,
// but in ours only last. A role that is called like our schema has it first otherwise.
static bool note_guest_path(struct postgres *postgres, struct pawl_error *err)
{
    char sql[SETTINGS_BYTES];
    snprintf(sql, sizeof sql,
             "SELECT concat(string_agg(quote_ident(s) || ', ', '' ORDER BY n), '%s')"
             " FROM unnest(current_schemas(false)) WITH ORDINALITY AS p(s, n) WHERE s <> '%s'",
             postgres->url.schema, postgres->url.schema);
    PGresult *result = postgres_ask(postgres, sql, "cannot set up a session", err);
    if (!result)
        return false;
    int n = snprintf(postgres->guest_path, sizeof postgres->guest_path, "%s",
                     pq.getvalue(result, 0, 0));
    pq.clear(result);
    return n < GUEST_PATH_BYTES
        || fail(err, PAWL_STORE, "%s: its search_path is too long", postgres->url.shown);
}

static bool set_up(struct postgres *postgres, struct pawl_error *err)
{
    if (postgres->url.pooled)
        return true;
    PGresult *result = postgres_ask(postgres, postgres->afresh, "cannot set up a session", err);
    pq.clear(result);
    return result != NULL;
}

// ----- the schema

// Whether there is such a schema, whether it is a store, and whether it has anything at all.
static const char look[] =
    "SELECT to_regnamespace(s.name) IS NOT NULL,"
    " to_regclass(s.name || '.schema_migrations') IS NOT NULL,"
    " EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(s.name))"
    " FROM (SELECT '%s' AS name) s";

static bool make_schema(struct postgres *postgres, struct pawl_error *err)
{
    char sql[SETTINGS_BYTES];
    snprintf(sql, sizeof sql, "%s; CREATE SCHEMA IF NOT EXISTS %s; COMMIT", postgres->begin_write,
             postgres->url.schema);
    PGresult *result = postgres_ask(postgres, sql, "cannot make the schema", err);
    pq.clear(result);
    return result != NULL;
}

static bool find_schema(struct postgres *postgres, bool must_exist, struct pawl_error *err)
{
    char sql[SETTINGS_BYTES];
    snprintf(sql, sizeof sql, look, postgres->url.schema);
    PGresult *result = postgres_ask(postgres, sql, "cannot look for the store", err);
    if (!result)
        return false;
    bool is_there = *pq.getvalue(result, 0, 0) == 't', is_store = *pq.getvalue(result, 0, 1) == 't',
         has_tables = *pq.getvalue(result, 0, 2) == 't';
    pq.clear(result);
    if (is_store)
        return true;
    if (has_tables)
        return fail(err, PAWL_STORE, "%s: schema %s is another program's, not a Pawl store: choose "
                                     "another with ?schema=NAME",
                    postgres->url.shown, postgres->url.schema);
    if (must_exist)
        return fail(err, PAWL_NOT_FOUND, "there is no store in schema %s of %s: create one with "
                                         "`pawl migrate` or by enqueueing the first job",
                    postgres->url.schema, postgres->url.shown);
    return is_there || make_schema(postgres, err);
}

// ----- a store

// One who writes at a time, in the whole store: the lock is the transaction's, and of the schema.
// What a guest may have set is forgotten, also what it meant to last.
static bool make_texts(struct postgres *postgres, struct pawl_error *err)
{
    bool pooled = postgres->url.pooled;
    struct str settings = settings_of(postgres), local = pooled ? settings : S("");
    postgres->begin_read = str_format(&postgres->arena, "BEGIN ISOLATION LEVEL REPEATABLE READ "
                                                        "READ ONLY;%.*s",
                                      STR(local))
                               .s;
    postgres->lock = str_format(&postgres->arena,
                                "SELECT pg_advisory_xact_lock(%d, hashtext('%s'))", POSTGRES_LOCKS,
                                postgres->url.schema)
                         .s;
    postgres->begin_write = str_format(&postgres->arena,
                                       "BEGIN ISOLATION LEVEL READ COMMITTED;%.*s%s", STR(local),
                                       postgres->lock)
                                .s;
    postgres->afresh = str_format(&postgres->arena, "%sRESET ROLE;%.*s",
                                  pooled ? "RESET ALL;" : "", STR(settings))
                           .s;
    return !postgres->arena.failed || fail(err, PAWL_NO_MEMORY, "no memory to open the store");
}

static bool open_session(struct postgres *postgres, const struct db_options *options,
                         struct pawl_error *err)
{
    if (!server_url_parse(&postgres->arena, options->url, &postgres->url, err)
        || !make_texts(postgres, err))
        return false;
    postgres->connection = postgres_connect(&postgres->url, err);
    return postgres->connection && is_fit(postgres, err) && postgres_session_is_ours(postgres, err)
        && note_guest_path(postgres, err) && set_up(postgres, err)
        && find_schema(postgres, options->must_exist || options->read_only, err);
}

bool postgres_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    struct postgres *postgres = calloc(1, sizeof *postgres);
    if (!postgres)
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    postgres->db = (struct db){
        .driver = &postgres_driver,
        .world = options->world ? options->world : world_real(),
    };
    postgres->busy_us = options->busy_us ? options->busy_us : SECONDS(10);
    postgres->read_only = options->read_only;
    postgres->fleeting = options->fleeting;
    postgres->shared = options->shared;
    sem_init(&postgres->guard, 0, 1);
    if (!open_session(postgres, options, err)) {
        postgres_driver.close(&postgres->db);
        return false;
    }
    postgres->db.hurries = !postgres->url.pooled;  // there a transaction begins with plain text
    *db = &postgres->db;
    return true;
}
