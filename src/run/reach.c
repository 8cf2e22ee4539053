// Tries that come less and less often, and one look after a commit in doubt.
#include "run/reach.h"

#include "store/store_url.h"

#define TRY_US MILLISECONDS(50)   // between two tries to reach a database; doubles ...
#define TRY_US_MAX SECONDS(2)     // ... up to this
#define DOUBT_US_MAX SECONDS(10)  // a commit in doubt is worth waiting for

void reach_close(struct reach *store)
{
    db_close(store->db);
    store->db = NULL;
    store->was_closed = true;
}

static int64_t next_pause(int64_t pause)
{
    if (pause == 0)
        return TRY_US;
    return 2 * pause < TRY_US_MAX ? 2 * pause : TRY_US_MAX;
}

static bool try_again(struct reach *store, struct pawl_error *err)
{
    struct pawl_error why = {0};
    int64_t now = world_monotonic(store->world);
    if (store->pause && now < store->next)
        return fail(err, PAWL_BUSY, "the database is out of reach: try again");
    bool opened = db_open(&store->db, store->options, &why);
    bool out_of_reach = !opened && store->was_closed && why.code == PAWL_BUSY;
    store->pause = out_of_reach ? next_pause(store->pause) : 0;
    store->next = now + store->pause;
    return opened || fail(err, why.code, "%s", why.message);
}

// While it was closed nobody listened, and a commit in doubt did not come to ring.
bool reach_open(struct reach *store, struct pawl_error *err)
{
    if (store->db && db_lost(store->db))
        reach_close(store);
    if (store->db)
        return true;
    if (!try_again(store, err))
        return false;
    if (store->was_closed && !db_harden(store->db, err)) {
        reach_close(store);
        return false;
    }
    if (store->was_closed)
        db_ring(store->db);
    store->was_closed = false;
    return true;
}

// A server that crashed comes back within seconds.
static bool open_in_time(struct reach *store, struct pawl_error *err)
{
    struct pawl_error why = {0};
    int64_t end = world_monotonic(store->world) + DOUBT_US_MAX;
    while (!reach_open(store, &why)) {
        if (!store->pause || world_monotonic(store->world) + store->pause > end)
            return fail(err, why.code, "%s", why.message);
        world_sleep(store->world, store->pause);
    }
    return true;
}

static bool witness_lives(struct tx *tx, const struct witness *witness, bool *lives,
                          struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_AUDIT_WITNESS, err, INT(witness->behind), INT(witness->job),
                 INT(witness->event), INT(witness->attempt), INT(witness->at)))
        return false;
    *lives = rows_next(&rows);
    return rows_ok(&rows, err);
}

// A server may still be busy with a commit whose caller it has lost. That one has the lock of the
// store: who has the lock sees how it ended.
bool reach_look_up(struct reach *store, const struct witness *witness, bool *committed,
                   struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    enum tx_mode mode = url_names_server(store->options->url) ? TX_WRITE : TX_READ;
    reach_close(store);
    return open_in_time(store, err) && tx_begin(store->db, mode, &arena, &tx, err)
        && witness_lives(&tx, witness, committed, err);
}
