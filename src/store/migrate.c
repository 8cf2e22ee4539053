// Forward-only migrations: each runs once, in order, all in one transaction under the write lock.
#include "store/driver.h"

static int newest(void)
{
    int version = 0;
    for (const struct migration_row *row = migrations; row->version; row++)
        version = row->version;
    return version;
}

// Version 0 is a store in which nothing was ever migrated.
static bool version_of(struct tx *tx, int64_t *version, struct pawl_error *err)
{
    SCOPED(rows) struct rows tables = {0};
    *version = 0;
    if (!sql_ask_plain(tx, &tables, Q_MIGRATION_TABLE, err))
        return false;
    if (!rows_next(&tables))
        return rows_ok(&tables, err);
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_MIGRATION_NEWEST, err))
        return false;
    if (rows_next(&rows))
        *version = row_int(&rows);
    return rows_ok(&rows, err);
}

static const struct migration_row *migration_of(int64_t version)
{
    const struct migration_row *row = migrations;
    while (row->version && row->version != version)
        row++;
    return row->version ? row : NULL;
}

// A table that another build made otherwise would be misread.
static bool made_alike(struct tx *tx, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_MIGRATIONS_APPLIED, err))
        return false;
    while (rows_next(&rows)) {
        int64_t version = row_int(&rows);
        struct str name = row_text(&rows);
        const struct migration_row *ours = migration_of(version);
        const char *our_name = ours ? ours->in[tx->db->driver->dialect].name : NULL;
        if (ours && !str_eq(name, str_of(our_name)))
            return fail(err, PAWL_STORE, "the store was made by another build of Pawl: its schema "
                                         "version %lld is `%.*s`, this one's is `%s`. Use the pawl "
                                         "that made it",
                        (long long)version, STR(name), our_name);
    }
    return rows_ok(&rows, err);
}

// Whether this program can work with a store of that version: one it knows, or one to which only
// migrations have led that leave it as it was.
static bool fits(struct tx *tx, int64_t version, bool *fits, struct pawl_error *err)
{
    int64_t strange = 0;
    *fits = true;
    if (version <= newest())
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_MIGRATION_STRANGE, err, INT(newest()))
        || !rows_number(&rows, &strange, err))
        return false;
    *fits = strange == 0;
    return true;
}

static bool not_newer(struct tx *tx, int64_t version, struct pawl_error *err)
{
    bool fit = false;
    if (!fits(tx, version, &fit, err))
        return false;
    if (version == SCHEMA_OF_A_COPY)
        return fail(err, PAWL_CONFLICT, "the store is a copy that is not done: run the same `pawl "
                                        "copy` again");
    return fit
        || fail(err, PAWL_OUTDATED, "the store has schema version %lld and this pawl knows %d: "
                                    "use a newer pawl",
                (long long)version, newest());
}

// The secret that keys the hashes of idempotency keys is made with the store and never changes.
static bool make_secret(struct tx *tx, struct pawl_error *err)
{
    const struct world *world = tx->db->world;
    struct str hex = str_format(tx->arena, "%016llx%016llx",
                                (unsigned long long)world_random(world),
                                (unsigned long long)world_random(world));
    return sql_run(tx, Q_STORE_INSERT, err, TEXT(hex), INT(tx->now));
}

// A migration may change nothing but rows. Processes that have the store open look at its version
// when its schema changes, so it does.
static bool announce(struct tx *tx, struct pawl_error *err)
{
    return tx_execute(tx, "CREATE TABLE pawl_migrated (x INTEGER); DROP TABLE pawl_migrated", err);
}

bool schema_still_known(struct tx *tx, struct pawl_error *err)
{
    int64_t version = 0;
    bool fit = false;
    if (!version_of(tx, &version, err) || !fits(tx, version, &fit, err))
        return false;
    return fit
        || fail(err, PAWL_OUTDATED, "the store was brought to schema version %lld by a newer pawl "
                                    "while this process, which knows %d, had it open: end it and "
                                    "start the newer one. Nothing more is written",
                (long long)version, newest());
}

static bool apply(struct tx *tx, const struct migration_row *row, struct pawl_error *err)
{
    enum dialect dialect = tx->db->driver->dialect;
    return tx_execute(tx, row->in[dialect].text, err)
        && sql_run(tx, Q_MIGRATION_INSERT, err, INT(row->version),
                   TEXT(str_of(row->in[dialect].name)), INT(tx->now))
        && (row->since == 0
            || sql_run(tx, Q_MIGRATION_COMPATIBLE, err, INT(row->version), INT(row->since)));
}

static bool apply_from(struct tx *tx, int64_t version, struct pawl_error *err)
{
    if (version >= newest())
        return true;  // somebody else was quicker
    for (const struct migration_row *row = migrations; row->version; row++)
        if (row->version > version && !apply(tx, row, err))
            return false;
    return version > 0 ? announce(tx, err) : make_secret(tx, err);
}

bool schema_version(struct db *db, int64_t *version, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return tx_begin(db, TX_READ, &arena, &tx, err) && version_of(&tx, version, err);
}

static bool known_version(struct db *db, int64_t *version, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    return tx_begin(db, TX_READ, &arena, &tx, err) && version_of(&tx, version, err)
        && not_newer(&tx, *version, err) && (*version == 0 || made_alike(&tx, err));
}

int schema_version_known(void)
{
    return newest();
}

bool migrate(struct db *db, bool read_only, struct pawl_error *err)
{
    int64_t version = 0;
    if (!known_version(db, &version, err))
        return false;
    if (version >= newest())
        return true;
    if (read_only)
        return fail(err, PAWL_STORE, "the store has schema version %lld and needs %d: run "
                                     "`pawl migrate`",
                    (long long)version, newest());
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    // Another process may have migrated since: look again under the lock.
    return tx_begin(db, TX_WRITE, &arena, &tx, err) && version_of(&tx, &version, err)
        && not_newer(&tx, version, err) && apply_from(&tx, version, err) && tx_commit(&tx, err);
}
