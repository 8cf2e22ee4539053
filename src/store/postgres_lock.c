// An advisory lock of the session: the server gives it back when the connection is gone.
#include "store/server_lock.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "store/postgres.h"

struct server_lock {
    PGconn *connection;
    struct arena arena;
    struct server_url url;
};

static bool told(const struct server_lock *lock, bool done, struct pawl_error *err)
{
    return done
        || fail(err, PAWL_BUSY, "%s: %s", lock->url.shown, pq.errorMessage(lock->connection));
}

// The server looks for a client that has gone without a word.
static bool watch_for_death(struct server_lock *lock, struct pawl_error *err)
{
    PGresult *result = pq.exec(lock->connection,
                              "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
                              "SET tcp_keepalives_count = 3");
    bool done = pq.resultStatus(result) == PGRES_COMMAND_OK;
    pq.clear(result);
    return told(lock, done, err);
}

bool server_lock_open(struct server_lock **lock, struct str store_url, struct pawl_error *err)
{
    struct server_lock *s = calloc(1, sizeof *s);
    *lock = NULL;
    if (!s)
        return fail(err, PAWL_NO_MEMORY, "no memory for a session");
    if (server_url_parse(&s->arena, store_url, &s->url, err))
        s->connection = postgres_connect(&s->url, err);
    if (!s->connection || !watch_for_death(s, err)) {
        server_lock_close(s);
        return false;
    }
    *lock = s;
    return true;
}

bool server_lock_lives(struct server_lock *lock)
{
    PGresult *result = pq.exec(lock->connection, "SELECT 1");
    bool answered = pq.resultStatus(result) == PGRES_TUPLES_OK;
    pq.clear(result);
    return answered;
}

bool server_lock_reopen(struct server_lock *lock, struct pawl_error *err)
{
    if (lock->connection)
        pq.finish(lock->connection);
    lock->connection = postgres_connect(&lock->url, err);
    return lock->connection && watch_for_death(lock, err);
}

void server_lock_close(struct server_lock *lock)
{
    if (lock->connection)
        pq.finish(lock->connection);
    arena_end(&lock->arena);
    free(lock);
}

// Stores are schemas of one database, and so share its locks.
bool server_lock_take(struct server_lock *lock, int64_t number, bool *taken, struct pawl_error *err)
{
    char sql[128];
    struct str parts[] = { S("instance"), str_of(lock->url.schema) };
    static const uint8_t everybodys[HASH_SECRET_BYTES];
    snprintf(sql, sizeof sql, "SELECT pg_try_advisory_lock(%lld)",
             (long long)(number ^ hash_short(everybodys, parts, countof(parts))));
    PGresult *result = pq.exec(lock->connection, sql);
    bool answered = pq.resultStatus(result) == PGRES_TUPLES_OK;
    *taken = answered && *pq.getvalue(result, 0, 0) == 't';
    pq.clear(result);
    return told(lock, answered, err);
}
