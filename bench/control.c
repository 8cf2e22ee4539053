// The same columns as `jobs`, rising keys, no rule of ours: no checks, no foreign keys, no triggers.
#include "control.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/world.h"

enum { ROWS_MIN = 200000 };  // enough for the log to be copied back more than once

static const char set_up[] =
    "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=16384; PRAGMA secure_delete=OFF; PRAGMA cache_size=-16384;"
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
    " VALUES (?1, ?2, 1, 1, 1, 0, 1, ?3, ?4, 0, 'bench', 'bench-request', 'bench-correlation', ?5)";

struct control {
    sqlite3 *connection;
    sqlite3_stmt *insert;
    struct str payload;
    struct id last;
};

static void must(struct control *c, int result)
{
    if (result == SQLITE_OK || result == SQLITE_DONE)
        return;
    fprintf(stderr, "control: %s\n", sqlite3_errmsg(c->connection));
    exit(1);
}

static void execute(struct control *c, const char *sql)
{
    must(c, sqlite3_exec(c->connection, sql, NULL, NULL, NULL));
}

static void insert_one(struct control *c, struct arena *arena)
{
    pawl_time now = world_wall(world_real());
    c->last = id_after(c->last.high, now, (uint64_t)c->last.low * 0x9e3779b97f4a7c15 + 1);
    struct str key = id_text(arena, c->last);
    sqlite3_bind_int64(c->insert, 1, c->last.high);
    sqlite3_bind_int64(c->insert, 2, c->last.low);
    sqlite3_bind_int64(c->insert, 3, now);
    sqlite3_bind_text64(c->insert, 4, key.s, key.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_text64(c->insert, 5, c->payload.s, c->payload.n, SQLITE_STATIC, SQLITE_UTF8);
    must(c, sqlite3_step(c->insert));
    sqlite3_reset(c->insert);
}

static double run(struct control *c, long jobs, long batch)
{
    struct arena arena = {0};
    int64_t start = world_monotonic(world_real());
    for (long done = 0; done < jobs; done += batch) {
        execute(c, "BEGIN IMMEDIATE");
        for (long i = 0; i < batch; i++)
            insert_one(c, &arena);
        execute(c, "COMMIT");
        arena_reset(&arena);
    }
    arena_end(&arena);
    return (double)jobs / ((double)(world_monotonic(world_real()) - start) / 1e6);
}

double control_inserts_per_s(const char *directory, long jobs, long batch, struct str payload)
{
    struct control c = { .payload = payload };
    SCOPED(arena) struct arena arena = {0};
    const char *path = str_cstr(&arena, str_format(&arena, "%s/control.db", directory));
    must(&c, sqlite3_open_v2(path, &c.connection,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                             NULL));
    execute(&c, set_up);
    must(&c, sqlite3_prepare_v2(c.connection, insert, -1, &c.insert, NULL));
    run(&c, ROWS_MIN / batch * batch, batch);  // warms up and makes the log as long as it gets
    double per_s = run(&c, jobs > ROWS_MIN ? jobs : ROWS_MIN / batch * batch, batch);
    sqlite3_finalize(c.insert);
    sqlite3_close(c.connection);
    unlink(path);
    return per_s;
}
