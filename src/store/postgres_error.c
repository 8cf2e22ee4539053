// Codes of SQL (SQLSTATE) in Pawl's words.
//
// What refuses a statement spoils the transaction it is in, so none of these is a refusal that a
// transaction survives (error.h).
#include <string.h>

#include "store/postgres.h"

static const struct {
    const char *state;  // its first characters; the first row that fits counts
    enum pawl_code code;
} codes[] = {
    { "55P03", PAWL_BUSY },       // lock_not_available: lock_timeout is over
    { "40001", PAWL_BUSY },       // serialization_failure
    { "40P01", PAWL_BUSY },       // deadlock_detected
    { "57014", PAWL_BUSY },       // query_canceled: statement_timeout is over
    { "25006", PAWL_BUSY },       // read_only_sql_transaction: this server has become a standby
    { "53100", PAWL_DISK_FULL },
    { "53200", PAWL_NO_MEMORY },
    { "53", PAWL_BUSY },          // too_many_connections and other resources
    { "57P", PAWL_BUSY },         // the server is shutting down, or starting
    { "08", PAWL_BUSY },          // the connection
};

static enum pawl_code code_of(const PGresult *result)
{
    const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
    for (size_t i = 0; state && i < countof(codes); i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return PAWL_STORE;
}

// A connection that is gone says so itself, or the server has ended it; and what libpq says on its
// own, without a code of SQL, is about the connection.
static bool is_lost(const PGconn *connection, const PGresult *result)
{
    const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
    return pq.status(connection) == CONNECTION_BAD || !state || strncmp(state, "57P", 3) == 0
        || strncmp(state, "08", 2) == 0;
}

bool postgres_failed(struct postgres *postgres, PGresult *result, const char *what,
                     struct pawl_error *err)
{
    PGconn *connection = postgres->connection;
    enum pawl_code code = code_of(result);
    const char *said = pq.resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!said)
        said = pq.errorMessage(connection);
    bool lost = is_lost(connection, result);
    postgres->db.lost |= lost;
    bool failed = fail(err, lost ? PAWL_BUSY : code, "%s: %s: %s", postgres->url.shown,
                       lost ? "the connection to the database is lost" : what, said);
    pq.clear(result);
    return failed;
}
