// The same columns as `jobs`, filled as the library fills them.
#include "bench/control.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/id.h"

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

enum { LOG_BYTES = 72 << 20, ROW_BYTES = 200 };  // a little more than the log, less than a row

struct control {
    sqlite3 *connection;
    sqlite3_stmt *insert;
    struct str payload;
    struct id last;
};

static bool good(struct control *c, int result, struct pawl_error *err)
{
    return result == SQLITE_OK || result == SQLITE_DONE
        || fail(err, PAWL_STORE, "the control failed: %s", sqlite3_errmsg(c->connection));
}

static bool execute(struct control *c, const char *sql, struct pawl_error *err)
{
    return good(c, sqlite3_exec(c->connection, sql, NULL, NULL, NULL), err);
}

void control_close(struct control *c)
{
    if (!c)
        return;
    sqlite3_finalize(c->insert);
    sqlite3_close(c->connection);
    free(c);
}

static bool insert_one(struct control *c, struct pawl_error *err)
{
    char text[ID_TEXT + 1];
    pawl_time now = world_wall(world_real());
    c->last = id_after(c->last.high, now, (uint64_t)c->last.low * 0x9e3779b97f4a7c15 + 1);
    id_format(c->last, text);
    sqlite3_bind_int64(c->insert, 1, c->last.high);
    sqlite3_bind_int64(c->insert, 2, c->last.low);
    sqlite3_bind_int64(c->insert, 3, now);
    sqlite3_bind_text(c->insert, 4, text, ID_TEXT, SQLITE_STATIC);
    sqlite3_bind_text64(c->insert, 5, c->payload.s, c->payload.n, SQLITE_STATIC, SQLITE_UTF8);
    int result = sqlite3_step(c->insert);
    sqlite3_reset(c->insert);
    return good(c, result, err);
}

static bool insert_batch(struct control *c, long rows, struct pawl_error *err)
{
    if (!execute(c, "BEGIN IMMEDIATE", err))
        return false;
    for (long i = 0; i < rows; i++)
        if (!insert_one(c, err))
            return false;
    return execute(c, "COMMIT", err);
}

bool control_insert(struct control *c, long rows, struct pawl_error *err)
{
    for (long left = rows; left > 0; left -= CONTROL_BATCH)
        if (!insert_batch(c, left < CONTROL_BATCH ? left : CONTROL_BATCH, err))
            return false;
    return true;
}

bool control_commit_one(struct control *c, struct pawl_error *err)
{
    return insert_batch(c, 1, err);
}

bool control_open(struct control **control, const char *path, struct str payload,
                  struct pawl_error *err)
{
    struct control *c = calloc(1, sizeof *c);
    *control = c;
    if (!c)
        return fail(err, PAWL_NO_MEMORY, "no memory for the control");
    c->payload = payload;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    return good(c, sqlite3_open_v2(path, &c->connection, flags, NULL), err)
        && execute(c, set_up, err)
        && good(c, sqlite3_prepare_v2(c->connection, insert, -1, &c->insert, NULL), err)
        && control_insert(c, LOG_BYTES / ((long)payload.n + ROW_BYTES), err);
}
