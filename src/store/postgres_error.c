// Codes of SQL (SQLSTATE) in Pawl's words.
//
// What refuses a statement spoils the transaction it is in, so none of these is a refusal that a
// transaction survives (error.h).
#include <string.h>
#include <sys/socket.h>

#include "store/postgres.h"

static const struct row {
    const char *state;  // its first characters; the first row that fits counts
    enum pawl_code code;
    bool lost;           // the session is no good any more: another may be
    const char *advice;  // NULL: what the server says is enough
} rows[] = {
    { "55P03", PAWL_BUSY, .lost = false, NULL },  // lock_not_available: lock_timeout is over
    { "40001", PAWL_BUSY, .lost = false, NULL },  // serialization_failure
    { "40P01", PAWL_BUSY, .lost = false, NULL },  // deadlock_detected
    { "57014", PAWL_BUSY, .lost = false, NULL },  // query_canceled: statement_timeout is over
    { "25006", PAWL_BUSY, .lost = true,           // read_only_sql_transaction
      "the server has become read only, a standby perhaps: name all its hosts in the URL" },
    { "25P03", PAWL_BUSY, .lost = true, NULL },  // idle_in_transaction_session_timeout is over
    { "25P04", PAWL_BUSY, .lost = true, NULL },  // transaction_timeout is
    { "53100", PAWL_DISK_FULL, .lost = false, "the server's disk is full: make room there" },
    { "53200", PAWL_NO_MEMORY, .lost = false, NULL },
    { "53", PAWL_BUSY, .lost = false, NULL },    // other resources
    { "57P", PAWL_BUSY, .lost = true, NULL },    // the server is shutting down, or starting
    { "08", PAWL_BUSY, .lost = true, NULL },     // the connection
    { "26000", PAWL_BUSY, .lost = true, POSTGRES_POOLER_ADVICE },  // invalid_sql_statement_name
    { "42P05", PAWL_BUSY, .lost = true, POSTGRES_POOLER_ADVICE },  // duplicate_prepared_statement
};

static const struct row *row_of(const char *state)
{
    static const struct row other = { "", PAWL_STORE, .lost = false, NULL };
    for (size_t i = 0; state && i < countof(rows); i++)
        if (strncmp(state, rows[i].state, strlen(rows[i].state)) == 0)
            return &rows[i];
    return &other;
}

// A connection that is gone says so itself, or the server has ended it; and what libpq says on its
// own, without a code of SQL, is about the connection.
bool(postgres_failed)(struct postgres *postgres, PGresult *result, const char *what,
                      struct pawl_error *err)
{
    PGconn *connection = postgres->connection;
    const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE),
               *said = pq.resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct row *row = row_of(state);
    if (state && strcmp(state, "55P03") == 0) {
        pq.clear(result);
        return fail(err, row->code, "%s: others have had the store for %lld ms: try again",
                    postgres->url.shown, (long long)(postgres->busy_us / 1000));
    }
    // defensive: a server that ends a session does so with one of the codes above
    bool lost = row->lost || !state || pq.status(connection) == CONNECTION_BAD;
    postgres->db.lost |= lost;
    if (lost)
        what = "the connection to the database is lost";
    bool failed = fail(err, lost ? PAWL_BUSY : row->code, "%s: %s: %s", postgres->url.shown,
                       row->advice ? row->advice : what,
                       said ? said : pq.errorMessage(connection));
    pq.clear(result);
    return failed;
}

void postgres_hang_up(struct postgres *postgres)
{
    postgres->db.lost = true;
    shutdown(pq.socket(postgres->connection), SHUT_RDWR);
}
