// The same columns as `jobs`, filled as the library fills them.
#include "bench/control_inside.h"

#include <sqlite3.h>
#include <stdlib.h>

static const char set_up[] =
    "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=16384;"  // 64 MiB
    "PRAGMA secure_delete=OFF; PRAGMA cache_size=-16384;"
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, id_low INTEGER, org INTEGER, type INTEGER,"
    " queue INTEGER, priority INTEGER, policy INTEGER, created_at INTEGER, scheduled_for INTEGER,"
    " max_wait_us INTEGER, serial_key TEXT, idempotency_key TEXT, project_id TEXT,"
    " actor_type INTEGER, actor_id TEXT, request_id TEXT, correlation_id TEXT, traceparent TEXT,"
    " authorized_by TEXT, parent INTEGER, origin TEXT, payload TEXT) STRICT;"
    "CREATE UNIQUE INDEX jobs_org ON jobs (id, org);"
    "CREATE INDEX jobs_parent ON jobs (parent) WHERE parent IS NOT NULL";

static const char insert[] =
    "INSERT INTO jobs (id, id_low, org, type, queue, priority, policy, created_at,"
    " idempotency_key, actor_type, actor_id, request_id, correlation_id, payload)"
    " VALUES (?1, ?2, 1, 1, 1, 0, 1, ?3, ?4, 0, 'bench', ?4, ?4, ?5)";

struct connection {
    sqlite3 *handle;
    sqlite3_stmt *insert;
};

static bool good(struct connection *c, int result, struct pawl_error *err)
{
    return result == SQLITE_OK || result == SQLITE_DONE
        || fail(err, PAWL_STORE, "the control failed: %s", sqlite3_errmsg(c->handle));
}

static bool run_text(void *connection, const char *sql, struct pawl_error *err)
{
    struct connection *c = connection;
    return good(c, sqlite3_exec(c->handle, sql, NULL, NULL, NULL), err);
}

static bool insert_row(void *connection, const struct control_row *row, struct str payload,
                       struct pawl_error *err)
{
    struct connection *c = connection;
    sqlite3_bind_int64(c->insert, 1, row->id.high);
    sqlite3_bind_int64(c->insert, 2, row->id.low);
    sqlite3_bind_int64(c->insert, 3, row->now);
    sqlite3_bind_text(c->insert, 4, row->text, ID_TEXT, SQLITE_STATIC);
    sqlite3_bind_text64(c->insert, 5, payload.s, payload.n, SQLITE_STATIC, SQLITE_UTF8);
    int result = sqlite3_step(c->insert);
    sqlite3_reset(c->insert);
    return good(c, result, err);
}

static void close_connection(void *connection, bool last)
{
    struct connection *c = connection;
    (void)last;
    if (!c)
        return;
    sqlite3_finalize(c->insert);
    sqlite3_close(c->handle);
    free(c);
}

static bool open_connection(void **connection, const char *path, bool first,
                            struct pawl_error *err)
{
    struct connection *c = calloc(1, sizeof *c);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    *connection = c;
    if (!c)
        return fail(err, PAWL_NO_MEMORY, "no memory for the control");
    return good(c, sqlite3_open_v2(path, &c->handle, flags, NULL), err)
        && (!first || run_text(c, set_up, err))
        && good(c, sqlite3_prepare_v2(c->handle, insert, -1, &c->insert, NULL), err);
}

const struct control_kind control_sqlite = {
    .open = open_connection,
    .execute = run_text,
    .insert = insert_row,
    .begin = "BEGIN IMMEDIATE",
    .warm_up_bytes = 72 << 20,  // a little more than the log
    .close = close_connection,
};
