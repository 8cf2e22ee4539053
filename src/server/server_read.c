// Read-only connections: a few are kept open, each is used by one thread at a time.
#include "engine/job.h"
#include "server/exchange.h"
#include "server/route.h"
#include "server/server.h"

static struct db *reader_take(struct server *s)
{
    pthread_mutex_lock(&s->reading);
    struct db *db = s->reader_count > 0 ? s->readers[--s->reader_count] : NULL;
    pthread_mutex_unlock(&s->reading);
    return db;
}

static void reader_give_back(struct server *s, struct db *db)
{
    pthread_mutex_lock(&s->reading);
    bool kept = s->reader_count < READERS_MAX;
    if (kept)
        s->readers[s->reader_count++] = db;
    pthread_mutex_unlock(&s->reading);
    if (!kept)
        db_close(db);
}

bool server_begin_read(struct server *s, struct reading *reading, struct arena *arena,
                       struct pawl_error *err)
{
    struct db_options options = {
        .url = str_of(s->pawl->options.store),
        .world = s->pawl->world,
        .read_only = true,
    };
    *reading = (struct reading){ .db = reader_take(s) };
    if (db_begin_read(&reading->db, &options, arena, &reading->tx, err)) {
        reading->tx.queue_terms = atomic_load(&s->terms);
        return true;
    }
    db_close(reading->db);
    return false;
}

void server_end_read(struct server *s, struct reading *reading)
{
    tx_end(&reading->tx);
    reader_give_back(s, reading->db);
}

bool server_read(struct server *s, struct exchange *x, struct pawl_error *err)
{
    struct reading reading;
    if (!server_begin_read(s, &reading, &x->found, err))
        return false;
    reading.tx.caller = &x->caller;
    bool done = (x->route->whole_store || caller_wall(&reading.tx, err))
             && exchange_act(x, &reading.tx, err);
    server_end_read(s, &reading);
    return done;
}

// Every change leaves an event.
bool server_changed(struct server *s, int64_t *newest)
{
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err;
    struct reading reading;
    int64_t now = *newest;
    if (!server_begin_read(s, &reading, &arena, &err))
        return false;
    SCOPED(rows) struct rows rows = {0};
    if (sql_ask_plain(&reading.tx, &rows, Q_AUDIT_NEWEST, &err) && rows_next(&rows))
        now = row_int(&rows);
    rows_end(&rows);
    server_end_read(s, &reading);
    bool changed = now != *newest;
    *newest = now;
    return changed;
}
