// Three guards around the application's SQL, each for what the others cannot see.
//
// The authorizer is asked for every part of a statement when it is prepared, triggers included, and
// refuses by the table below. It is installed once, because changing it would expire every prepared
// statement; a flag says whose SQL is being prepared. The progress handler stops a statement that
// runs past the guest's time. The commit hook refuses every commit that is not Pawl's: after an
// `INSERT OR ROLLBACK` the application's next statement would commit itself.
#include "store/guest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "store/sqlite.h"

enum { STEPS_PER_LOOK = 1000 };  // of SQLite's virtual machine: some 10 us

static struct sqlite *sqlite_in(struct tx *tx)
{
    assert(tx->db->driver->dialect == DIALECT_SQLITE);
    return sqlite_of(tx->db);
}

// ----- names

static const struct schema_name *name_of_ours(const char *name)
{
    for (const struct schema_name *row = schema_names; row->name; row++)
        if (strcasecmp(row->name, name) == 0)
            return row;
    return NULL;
}

static bool name_is_kept(const char *name)
{
    return strncasecmp(name, "pawl_", strlen("pawl_")) == 0;
}

bool schema_owns(const char *name)
{
    return name && (name_is_kept(name) || name_of_ours(name));
}

// ----- the authorizer

// What SQLite tells about an action: its first text names a thing, and for some its second names
// the table that thing belongs to.
enum part { FIRST = 1,
            SECOND = 2,
            NEVER = 4,        // whatever it names
            SCHEMA = 8 };     // changes which tables there are

static const struct rule {
    int parts;          // that must not be Pawl's
    const char *never;  // why it is refused in any case
} rules[] = {
    [SQLITE_CREATE_INDEX] = { FIRST | SECOND, NULL },
    [SQLITE_CREATE_TABLE] = { FIRST | SCHEMA, NULL },
    [SQLITE_CREATE_TRIGGER] = { FIRST | SECOND, NULL },
    [SQLITE_CREATE_VIEW] = { FIRST, NULL },
    [SQLITE_CREATE_VTABLE] = { FIRST | SCHEMA, NULL },
    [SQLITE_CREATE_TEMP_INDEX] = { NEVER, "temporary indexes would outlive the transaction" },
    [SQLITE_CREATE_TEMP_TABLE] = { NEVER, "temporary tables would outlive the transaction" },
    [SQLITE_CREATE_TEMP_TRIGGER] = { NEVER, "temporary triggers would outlive the transaction" },
    [SQLITE_CREATE_TEMP_VIEW] = { NEVER, "temporary views would outlive the transaction" },
    [SQLITE_DROP_INDEX] = { FIRST | SECOND, NULL },
    [SQLITE_DROP_TABLE] = { FIRST, NULL },
    [SQLITE_DROP_TRIGGER] = { FIRST | SECOND, NULL },
    [SQLITE_DROP_VIEW] = { FIRST, NULL },
    [SQLITE_DROP_VTABLE] = { FIRST, NULL },
    [SQLITE_INSERT] = { FIRST, NULL },
    [SQLITE_UPDATE] = { FIRST, NULL },
    [SQLITE_DELETE] = { FIRST, NULL },
    [SQLITE_ALTER_TABLE] = { SECOND | SCHEMA, NULL },  // its first is the database
    [SQLITE_REINDEX] = { FIRST, NULL },
    [SQLITE_ANALYZE] = { NEVER, "ANALYZE would change how Pawl's own statements are run" },
    [SQLITE_ATTACH] = { NEVER, "a transaction over two files is not atomic: attach nothing" },
    [SQLITE_DETACH] = { NEVER, "the files of the connection are Pawl's" },
    [SQLITE_TRANSACTION] = { NEVER, "the transaction is Pawl's to begin and to end: use "
                                    "pawl_commit or pawl_rollback" },
};

// What may be asked and not set.
static bool pragma_only_asks(const char *name, const char *value)
{
    static const char *const with_value[] = {
        "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
        "foreign_key_list", "foreign_key_check", "quick_check", "integrity_check",
    };
    static const char *const without[] = {
        "application_id", "collation_list", "compile_options", "data_version", "database_list",
        "encoding", "foreign_keys", "freelist_count", "function_list", "journal_mode",
        "module_list", "page_count", "page_size", "pragma_list", "query_only", "schema_version",
        "synchronous", "user_version",
    };
    for (size_t i = 0; i < countof(with_value); i++)
        if (strcasecmp(name, with_value[i]) == 0)
            return true;
    for (size_t i = 0; i < countof(without); i++)
        if (!value && strcasecmp(name, without[i]) == 0)
            return true;
    return false;
}

PRINTF(2, 3)
static int refuse(struct guest *guest, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(guest->refusal, sizeof guest->refusal, format, args);
    va_end(args);
    return SQLITE_DENY;
}

static int refuse_ours(struct guest *guest, const char *name)
{
    const struct schema_name *ours = name_of_ours(name);
    if (!ours)
        return refuse(guest, "names that begin with pawl_ are kept for Pawl: call %s otherwise",
                      name);
    return refuse(guest, "%s %s belongs to Pawl: use pawl_tx_enqueue or the functions of pawl.h",
                  ours->kind, name);
}

// A savepoint inside the transaction is the application's affair, unless it is one of ours.
static int authorize_savepoint(struct guest *guest, const char *name)
{
    if (guest->executing)
        return refuse(guest, "these statements are done together or not at all as it is: set "
                             "savepoints on the connection (pawl_tx_sqlite)");
    // defensive: SQLite's grammar has no savepoint without a name
    return name && name_is_kept(name) ? refuse_ours(guest, name) : SQLITE_OK;
}

static int authorize_guest(struct guest *guest, int action, const char *first, const char *second)
{
    if (action == SQLITE_SAVEPOINT)
        return authorize_savepoint(guest, second);
    if (action == SQLITE_PRAGMA && !pragma_only_asks(first, second))
        return refuse(guest, "PRAGMA %s: the settings of the connection are Pawl's", first);
    // defensive: SQLite tells the name of every function
    if (action == SQLITE_FUNCTION && second && strcasecmp(second, "load_extension") == 0)
        return refuse(guest, "extensions cannot be loaded here");
    if ((size_t)action >= countof(rules))
        return SQLITE_OK;
    const struct rule *rule = &rules[action];
    if (rule->parts & NEVER)
        return refuse(guest, "%s", rule->never);
    if ((rule->parts & FIRST) && schema_owns(first))
        return refuse_ours(guest, first);
    if ((rule->parts & SECOND) && schema_owns(second))
        return refuse_ours(guest, second);
    guest->schema_changed |= (rule->parts & SCHEMA) != 0;
    return SQLITE_OK;
}

// Pawl's own SQL may do everything, but text handed to tx_execute may not end the transaction. Its
// parameters are dictated by SQLite.
static int authorize(void *self, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    struct sqlite *sqlite = self;
    (void)database, (void)trigger;  // a trigger's statements are asked for like any other
    if (sqlite->guest.in)
        return authorize_guest(&sqlite->guest, action, first, second);
    return action == SQLITE_TRANSACTION && sqlite->application ? SQLITE_DENY : SQLITE_OK;
}

// ----- time, and commits

static bool is_late(const struct sqlite *sqlite)
{
    return world_monotonic(sqlite->db.world) >= sqlite->guest.until;
}

static int stop_late(void *self)
{
    struct sqlite *sqlite = self;
    if (!sqlite->guest.in || !is_late(sqlite))
        return 0;
    sqlite->guest.stopped = true;
    return 1;
}

static int refuse_commit(void *self)
{
    return !((struct sqlite *)self)->committing;
}

void sqlite_guard(struct sqlite *sqlite)
{
    sqlite3_set_authorizer(sqlite->connection, authorize, sqlite);
    sqlite3_commit_hook(sqlite->connection, refuse_commit, sqlite);
    // Not even by way of raw pages or the text of the schema.
    sqlite3_db_config(sqlite->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
}

// A statement the application has not finalized keeps the connection alive: it must not find its
// way back here.
void sqlite_unguard(struct sqlite *sqlite)
{
    sqlite3_set_authorizer(sqlite->connection, NULL, NULL);
    sqlite3_commit_hook(sqlite->connection, NULL, NULL);
    sqlite3_progress_handler(sqlite->connection, 0, NULL, NULL);
    sqlite3_wal_hook(sqlite->connection, NULL, NULL);
}

// ----- coming and going

// Statements on the connection that are not Pawl's own.
static int statements_of_others(struct sqlite *sqlite)
{
    int count = 0;
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(sqlite->connection, s));)
        count++;
    return count - sqlite->prepared;
}

// Of those that are in the middle of their rows: one that writes many never is.
static bool is_own(const struct sqlite *sqlite, const sqlite3_stmt *handle)
{
    for (size_t i = 0; i < countof(sqlite->statements); i++)
        if (sqlite->statements[i].handle == handle)
            return true;
    return false;
}

// What is in the middle of its rows would keep a savepoint, or the log, from being given up.
static void reset_others(struct sqlite *sqlite)
{
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(sqlite->connection, s));)
        if (sqlite3_stmt_busy(s) && !is_own(sqlite, s))
            sqlite3_reset(s);  // its error, if any, was the application's to see
}

static int64_t enter(struct tx *tx, int64_t allowed_us)
{
    struct sqlite *sqlite = sqlite_in(tx);
    sqlite->uncounted = true;
    sqlite->guest = (struct guest){
        .in = true,
        .allowed_us = allowed_us,
        .until = world_monotonic(sqlite->db.world) + allowed_us,
        .statements_before = statements_of_others(sqlite),
    };
    sqlite3_progress_handler(sqlite->connection, STEPS_PER_LOOK, stop_late, sqlite);
    return sqlite->guest.until;
}

static void show_out(struct sqlite *sqlite)
{
    sqlite->guest.in = false;
    sqlite3_progress_handler(sqlite->connection, 0, NULL, NULL);
}

static bool came_late(struct sqlite *sqlite, enum pawl_code code, struct pawl_error *err)
{
    return fail(err, code, "the transaction took longer than %lld ms: nothing was stored",
                (long long)(sqlite->guest.allowed_us / 1000));
}
#define came_late(...) REFUSES(came_late(__VA_ARGS__))

static bool transaction_lives(struct sqlite *sqlite, struct pawl_error *err)
{
    if (sqlite->guest.stopped && sqlite3_get_autocommit(sqlite->connection))
        return came_late(sqlite, PAWL_STORE, err);
    if (sqlite->guest.spoilt)
        return fail(err, PAWL_STORE, "what a failed statement had done could not be taken back");
    return sqlite_still_inside(sqlite, err);
}

static bool left_no_statement(struct sqlite *sqlite, struct pawl_error *err)
{
    if (statements_of_others(sqlite) <= sqlite->guest.statements_before)
        return true;
    reset_others(sqlite);
    return fail(err, PAWL_USAGE, "a statement was not finalized before the transaction ended: "
                                 "nothing was stored");
}

// A deferred reference that leads nowhere would refuse the commit, and with it everybody's.
static bool left_no_broken_reference(struct sqlite *sqlite, struct pawl_error *err)
{
    int broken = 0, highest = 0;
    sqlite3_db_status(sqlite->connection, SQLITE_DBSTATUS_DEFERRED_FKS, &broken, &highest, 0);
    return !broken || fail(err, PAWL_CONFLICT, "a foreign key leads nowhere: nothing was stored");
}

// A reference to one of Pawl's tables would make Pawl's own deletes look into the application's
// table, and fail when it finds something there.
static bool refers_to_nothing_of_ours(struct tx *tx, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sqlite_in(tx)->guest.schema_changed)
        return true;
    if (!sql_ask_plain(tx, &rows, Q_REFERENCES_ALL, err))
        return false;
    while (rows_next(&rows)) {
        struct str from = row_text(&rows), to = row_text(&rows);
        if (from.n && to.n && !schema_owns(from.s) && schema_owns(to.s))
            return fail(err, PAWL_FORBIDDEN,
                        "table %s refers to %s, which belongs to Pawl: keep the id of a job as a "
                        "text without a reference",
                        from.s, to.s);
    }
    return rows_ok(&rows, err);
}

static bool leave(struct tx *tx, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_in(tx);
    show_out(sqlite);
    return transaction_lives(sqlite, err) && left_no_statement(sqlite, err)
        && (!is_late(sqlite) || came_late(sqlite, PAWL_FENCED, err))
        && left_no_broken_reference(sqlite, err) && refers_to_nothing_of_ours(tx, err);
}

static void evict(struct tx *tx)
{
    struct sqlite *sqlite = sqlite_in(tx);
    show_out(sqlite);
    reset_others(sqlite);
    tx_end(tx);
    // Asked when a statement runs, so it stops also those that were prepared before.
    sqlite3_exec(sqlite->connection, "PRAGMA query_only=ON", NULL, NULL, NULL);
    sqlite->guest.in = true;  // what it still prepares is a guest's
}

static void pause_guest(struct tx *tx)
{
    sqlite_in(tx)->guest.in = false;
}

static void resume_guest(struct tx *tx)
{
    sqlite_in(tx)->guest.in = true;
}

// ----- its statements

static bool guest_failed(struct sqlite *sqlite, struct pawl_error *err)
{
    static const struct {
        int primary;
        enum pawl_code code;
    } codes[] = {
        { SQLITE_ERROR, PAWL_USAGE },
        { SQLITE_CONSTRAINT, PAWL_CONFLICT },
        { SQLITE_MISMATCH, PAWL_CONFLICT },
        { SQLITE_RANGE, PAWL_USAGE },
    };
    int primary = sqlite3_errcode(sqlite->connection) & 0xff;
    if (sqlite->guest.refusal[0])
        return fail(err, PAWL_FORBIDDEN, "%s", sqlite->guest.refusal);
    if (primary == SQLITE_INTERRUPT && sqlite->guest.stopped)
        return came_late(sqlite, PAWL_FENCED, err);
    for (size_t i = 0; i < countof(codes); i++)
        if (primary == codes[i].primary)
            return fail(err, codes[i].code, "statement refused: %s",
                        sqlite3_errmsg(sqlite->connection));
    return sqlite_failed(sqlite, "statement refused", err);
}
#define guest_failed(...) REFUSES(guest_failed(__VA_ARGS__))

static bool guest_run(struct sqlite *sqlite, const char *sql, struct pawl_error *err)
{
    sqlite->guest.refusal[0] = '\0';
    sqlite->guest.executing = true;
    int result = sqlite3_exec(sqlite->connection, sql, NULL, NULL, NULL);
    sqlite->guest.executing = false;
    return result == SQLITE_OK || guest_failed(sqlite, err);
}

// Ends the part of the transaction that the statements were. Whoever ended the whole transaction
// has been told by SQLite; the mark is gone with it.
static bool settle_part(struct tx *tx, bool done, struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_in(tx);
    if (!sqlite_still_inside(sqlite, done ? err : NULL))
        return false;
    if (done && tx_keep(tx, err))
        return true;
    sqlite->guest.spoilt |= !tx_take_back(tx, NULL);  // the first error is the one to tell
    return false;
}

// A statement in the middle of its writing would keep a savepoint from being given up. None of
// Pawl's is: it does not let a guest in between.
static bool no_write_is_unfinished(struct sqlite *sqlite, struct pawl_error *err)
{
    if (statements_of_others(sqlite) <= sqlite->guest.statements_before)
        return true;
    for (sqlite3_stmt *s = NULL; (s = sqlite3_next_stmt(sqlite->connection, s));)
        if (sqlite3_stmt_busy(s) && !sqlite3_stmt_readonly(s))
            return fail(err, PAWL_USAGE, "a statement that writes has not come to its end: step it "
                                         "until it is done, or reset it, before the next");
    return true;
}

static bool execute(struct tx *tx, const char *sql, struct pawl_error *err)
{
    if (!no_write_is_unfinished(sqlite_in(tx), err))
        return false;
    pause_guest(tx);
    bool marked = tx_mark(tx, err);
    resume_guest(tx);
    if (!marked)
        return false;
    bool done = guest_run(sqlite_in(tx), sql, err);
    pause_guest(tx);
    done = settle_part(tx, done, err);
    resume_guest(tx);
    return done;
}

// The text of migrations and tests: it may do what it likes inside the transaction, but not begin
// or end one.
bool sqlite_execute_application(struct db *db, const char *sql, struct pawl_error *err)
{
    sqlite_of(db)->application = sqlite_of(db)->uncounted = true;
    bool done = sqlite_execute(db, sql, err);
    sqlite_of(db)->application = false;
    // defensive: no statement may end it (`authorize`), and SQLite tells what a conflict has ended
    return done && sqlite_still_inside(sqlite_of(db), err);
}

static void *connection_of(struct db *db)
{
    return sqlite_of(db)->connection;
}

static void hold(struct db *db)
{
    sqlite3_mutex_enter(sqlite3_db_mutex(sqlite_of(db)->connection));
}

static void release(struct db *db)
{
    sqlite3_mutex_leave(sqlite3_db_mutex(sqlite_of(db)->connection));
}

const struct guest_driver sqlite_guests = {
    .enter = enter,
    .leave = leave,
    .evict = evict,
    .execute = execute,
    .pause = pause_guest,
    .resume = resume_guest,
    .connection = connection_of,
    .hold = hold,
    .release = release,
};
