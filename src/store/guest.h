// A guest: the application's own SQL, on a connection and inside a transaction of Pawl's.
//
// While a guest is in, statements on the connection may read everything and change what is not
// Pawl's. They cannot begin or end the transaction, touch Pawl's tables (not even by a trigger),
// make temporary tables, attach files or change settings, and they are stopped when the guest's
// time is over. What the application commits by accident, because a statement of its own has ended
// the transaction, is taken back.
//
// On PostgreSQL a guest's statements find the application's tables by the search path that the
// database or the role has, and Pawl's behind them. There is no connection to be had: statements go
// through guest_execute, which takes back what has changed something of Pawl's.
#pragma once

#include "store/db.h"

// Lets a guest in for this long. Answers until when that is, by the world's monotonic clock.
int64_t guest_enter(struct tx *tx, int64_t allowed_us);

// Shows the guest out. True when what it did may be kept; false when it came late, left a statement
// or a broken reference behind, or made a table that refers to one of Pawl's. With PAWL_STORE the
// transaction itself is gone; with any other code it can go on or be taken back.
CHECKED bool guest_leave(struct tx *tx, struct pawl_error *err);

// Puts the guest out and rolls back. From now on the connection can read and no more, also by
// statements the guest has prepared: close it.
void guest_evict(struct tx *tx);

// Runs statements of the guest's that answer no rows: all of them or none.
CHECKED bool guest_execute(struct tx *tx, const char *sql, struct pawl_error *err);

// Between these two the connection is Pawl's, for an operation on the guest's behalf.
void guest_pause(struct tx *tx);
void guest_resume(struct tx *tx);

// The connection, a `struct sqlite3 *`; NULL on PostgreSQL.
void *guest_connection(struct db *db);

// Keeps other threads off a connection that was opened `shared`, as SQLite does during each of its
// calls. A thread may hold it several times.
void db_hold(struct db *db);
void db_release(struct db *db);

// Whether Pawl has a table, a view, an index or a trigger of this name, or keeps the name for one.
bool schema_owns(const char *name);
