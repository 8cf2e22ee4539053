// What the application's SQL may do inside a transaction of Pawl's.
#include "store/sqlite.h"

// Asked for each part of a statement when it is prepared. Its parameters are dictated by SQLite.
static int authorize(void *self, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)a, (void)b, (void)c, (void)d;
    bool ends_it = action == SQLITE_TRANSACTION && ((struct sqlite *)self)->application;
    return ends_it ? SQLITE_DENY : SQLITE_OK;
}

// The application's SQL may do what it likes inside the transaction, but not begin or end one.
bool sqlite_execute_application(struct db *db, const char *sql, struct pawl_error *err)
{
    sqlite_of(db)->application = true;
    bool done = sqlite_execute(db, sql, err);
    sqlite_of(db)->application = false;
    return done && sqlite_still_inside(sqlite_of(db), err);
}

void sqlite_guard(struct sqlite *sqlite)
{
    sqlite3_set_authorizer(sqlite->connection, authorize, sqlite);
}
