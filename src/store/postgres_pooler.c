// Whether a session is one: a pooler between here and the server may give it to somebody else.
//
// A pooler tells its clients a number of its own where the server tells that of its process. That
// is no harm while it keeps a session for one client. One that does not gives a second client the
// very process that the first has used last, unless others are quicker: then it is noticed later,
// by statements that nobody has prepared (postgres_error.c).
#include <poll.h>
#include <stdlib.h>

#include "store/postgres.h"

static const char who_is_it[] = "SELECT pg_backend_pid()";
enum { PATIENCE_MS = 2000 };  // one that keeps sessions may have none left for another client

static int64_t process_of(const PGresult *result)
{
    bool known = pq.resultStatus(result) == PGRES_TUPLES_OK;
    return known ? strtoll(pq.getvalue(result, 0, 0), NULL, 10) : 0;
}

static bool is_answered(PGconn *connection)
{
    struct pollfd fd = { .fd = pq.socket(connection), .events = POLLIN };
    return pq.sendQuery(connection, who_is_it) && poll(&fd, 1, PATIENCE_MS) > 0;
}

static int64_t process_of_another(struct postgres *postgres)
{
    struct pawl_error unseen;
    int64_t process = 0;
    PGconn *second = postgres_connect(&postgres->url, &unseen);
    if (second && is_answered(second)) {
        PGresult *result = pq.getResult(second);
        process = process_of(result);
        pq.clear(result);
    }
    if (second)
        pq.finish(second);
    return process;
}

bool postgres_session_is_ours(struct postgres *postgres, struct pawl_error *err)
{
    if (postgres->url.pooled)
        return true;
    PGresult *result = postgres_ask(postgres, who_is_it, "cannot look at the session", err);
    if (!result)
        return false;
    int64_t process = process_of(result);
    pq.clear(result);
    return process == pq.backendPID(postgres->connection)
        || process != process_of_another(postgres)
        || fail(err, PAWL_STORE, "%s: " POSTGRES_POOLER_ADVICE, postgres->url.shown);
}
