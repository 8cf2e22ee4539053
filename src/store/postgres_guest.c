// The application's SQL runs inside a block of PL/pgSQL, in which transactions cannot be ended.
//
// The server stops a statement that runs past the guest's time. While a guest is in, names are
// looked for where the application's are; whatever Pawl does meanwhile has its own path again, and
// the session is set up anew, whatever the guest has set. The server would let it change Pawl's
// tables, whose owner it is: so what the server has counted for them, and what their catalogue
// looks like, is compared before and after, and a statement that made a difference is taken back.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "store/guest.h"
#include "store/postgres.h"

enum { TERMS_BYTES = 4096,
       VIRTUAL_MS = 300000 };

// ----- text that cannot end its transaction

// The text as a literal, in a block whose mark the text does not have.
static struct str block_of(struct postgres *postgres, struct arena *arena, const char *sql)
{
    char mark[32];
    do
        snprintf(mark, sizeof mark, "$pawl%016llx$",
                 (unsigned long long)world_random(postgres->db.world));
    while (strstr(sql, mark));
    char *literal = pq.escapeLiteral(postgres->connection, sql, strlen(sql));
    if (!literal)
        return (struct str){0};
    struct str block = str_format(arena, "DO %s BEGIN EXECUTE %s; END %s", mark, literal, mark);
    pq.freemem(literal);
    return block;
}

bool postgres_execute_application(struct db *db, const char *sql, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct str block = block_of(postgres_of(db), &arena, sql);
    if (arena.failed)
        return fail(err, PAWL_NO_MEMORY, "no memory for a statement");
    if (!block.s)
        return fail(err, PAWL_USAGE, "statement refused: %s",
                    pq.errorMessage(postgres_of(db)->connection));
    return postgres_execute(db, block.s, err);
}

// ----- Pawl's tables

// A line for each table, index and view: its name, then its row in the catalogue, the rows of it
// that this transaction has changed, and its triggers.
static const char look_at_ours[] =
    ";SELECT coalesce(string_agg(concat_ws(' ', c.relname, c.xmin,"
    " pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid)"
    " + pg_stat_get_xact_tuples_deleted(c.oid),"
    " (SELECT sum(hashtext(t.xmin::text || t.tgname)) FROM pg_trigger t WHERE t.tgrelid = c.oid)),"
    " E'\\n' ORDER BY c.relname COLLATE \"C\"), '')"
    " FROM pg_class c WHERE c.relnamespace = to_regnamespace('";

// Runs what sets the terms of the session, and then looks, in one round trip.
static bool set_and_look(struct postgres *postgres, const char *terms, struct arena *arena,
                         struct str *ours, struct pawl_error *err)
{
    char sql[TERMS_BYTES];
    int n = snprintf(sql, sizeof sql, "%s%s%s')", terms, look_at_ours, postgres->url.schema);
    assert(n < TERMS_BYTES);
    PGresult *result = postgres_ask(postgres, sql, "cannot set up a session", err);
    if (!result)
        return false;
    *ours = str_dup(arena, str_of(pq.getvalue(result, 0, 0)));
    pq.clear(result);
    return !arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to look at Pawl's tables");
}

// Of two lines in the order of their names.
static struct str first_of(struct str a, struct str b)
{
    if (a.n == 0 || b.n == 0)
        return a.n ? a : b;
    return memcmp(a.s, b.s, a.n < b.n ? a.n : b.n) <= 0 ? a : b;
}

static bool are_as_before(struct str before, struct str after, struct pawl_error *err)
{
    while (before.n || after.n) {
        struct str was, is, name, rest;
        str_cut(before, '\n', &was, &before);
        str_cut(after, '\n', &is, &after);
        if (str_eq(was, is))
            continue;
        str_cut(first_of(was, is), ' ', &name, &rest);
        return fail(err, PAWL_FORBIDDEN, "statement refused: it changes %.*s, which belongs to "
                                         "Pawl",
                    STR(name));
    }
    return true;
}

// ----- coming and going

// Rounded up: what the server stops is late by our clock too, and called that. In virtual time none
// goes by while the server works.
static int64_t left_ms(const struct postgres *postgres)
{
    int64_t left_us = postgres->guest.until - world_monotonic(postgres->db.world);
    if (postgres->db.world != world_real())
        return VIRTUAL_MS;
    return left_us > 0 ? (left_us + 999) / 1000 : 1;
}

static bool let_in(struct postgres *postgres, struct arena *arena, struct str *ours,
                   struct pawl_error *err)
{
    char terms[GUEST_PATH_BYTES + 128];
    snprintf(terms, sizeof terms, "SET LOCAL search_path = %s; SET LOCAL statement_timeout = %lld",
             postgres->guest_path, (long long)left_ms(postgres));
    return set_and_look(postgres, terms, arena, ours, err);
}

static bool put_out(struct postgres *postgres, struct arena *arena, struct str *ours,
                    struct pawl_error *err)
{
    return set_and_look(postgres, postgres->afresh, arena, ours, err);
}

static bool is_late(const struct postgres *postgres)
{
    return world_monotonic(postgres->db.world) >= postgres->guest.until;
}

static int64_t enter(struct tx *tx, int64_t allowed_us)
{
    struct postgres *postgres = postgres_of(tx->db);
    postgres->guest.in = true;
    postgres->guest.allowed_us = allowed_us;
    postgres->guest.until = world_monotonic(tx->db->world) + allowed_us;
    return postgres->guest.until;
}

static bool came_late(struct postgres *postgres, struct pawl_error *err)
{
    return fail(err, PAWL_FENCED, "the transaction took longer than %lld ms: nothing was stored",
                (long long)(postgres->guest.allowed_us / 1000));
}
#define came_late(...) REFUSES(came_late(__VA_ARGS__))

// A deferred reference that leads nowhere would refuse the commit, and with it everybody's.
static bool left_no_broken_reference(struct postgres *postgres, struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (postgres_execute(&postgres->db, "SET CONSTRAINTS ALL IMMEDIATE;"
                                        "SET CONSTRAINTS ALL DEFERRED",
                         &why))
        return true;
    return fail(err, postgres->db.lost ? PAWL_STORE : PAWL_CONFLICT, "%s", why.message);
}

// A reference to one of Pawl's tables would make Pawl's own deletes look into the application's
// table, and fail when it finds something there.
static bool refers_to_nothing_of_ours(struct tx *tx, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_REFERENCES_ALL, err))
        return false;
    if (rows_next(&rows)) {
        struct str from = row_text(&rows), to = row_text(&rows);
        return fail(err, PAWL_FORBIDDEN,
                    "table %.*s refers to %.*s, which belongs to Pawl: keep the id of a job as a "
                    "text without a reference",
                    STR(from), STR(to));
    }
    return rows_ok(&rows, err);
}

static bool leave(struct tx *tx, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(tx->db);
    postgres->guest.in = false;
    return (!is_late(postgres) || came_late(postgres, err))
        && left_no_broken_reference(postgres, err) && refers_to_nothing_of_ours(tx, err);
}

static void evict(struct tx *tx)
{
    postgres_of(tx->db)->guest.in = false;
    tx_end(tx);
}

// Between its statements the path is Pawl's.
static void stay(struct tx *tx)
{
    (void)tx;
}

// ----- its statements

static bool run(struct tx *tx, const char *sql, struct pawl_error *err)
{
    struct postgres *postgres = postgres_of(tx->db);
    struct pawl_error why = {0};
    struct str before, after;
    SCOPED(arena) struct arena arena = {0};
    if (let_in(postgres, &arena, &before, &why) && postgres_execute_application(tx->db, sql, &why)
        && put_out(postgres, &arena, &after, &why))
        return are_as_before(before, after, err);
    if (is_late(postgres))
        return came_late(postgres, err);
    return fail(err, why.code == PAWL_STORE ? PAWL_CONFLICT : why.code, "%s", why.message);
}

// All of them or none: what a statement that failed had done is taken back, and with it what was
// set for it.
static bool execute(struct tx *tx, const char *sql, struct pawl_error *err)
{
    if (!tx_mark(tx, err))
        return false;
    if (run(tx, sql, err))
        return tx_keep(tx, err);
    struct pawl_error unseen;
    bool back = tx_take_back(tx, &unseen);
    (void)back;  // if not, the server has given the transaction up: it cannot commit
    return false;
}

static void *no_connection(struct db *db)
{
    (void)db;
    return NULL;
}

static void hold(struct db *db)
{
    struct postgres *postgres = postgres_of(db);
    while (postgres->shared && sem_wait(&postgres->guard) != 0) {}  // a signal came in between
}

static void release(struct db *db)
{
    if (postgres_of(db)->shared)
        sem_post(&postgres_of(db)->guard);
}

const struct guest_driver postgres_guests = {
    .enter = enter,
    .leave = leave,
    .evict = evict,
    .execute = execute,
    .pause = stay,
    .resume = stay,
    .connection = no_connection,
    .hold = hold,
    .release = release,
};
