// The SQLite driver's own page: what its files share. Nothing outside them sees it.
//
// sqlite_open.c opens a file and sets it up; db_sqlite.c runs transactions and statements on it;
// sqlite_log.c copies its log back; sqlite_gather.c writes it in large pieces; sqlite_guest.c keeps
// the application's SQL away from what is Pawl's; sqlite_copy.c copies files.
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include "store/driver.h"
#include "store/lock.h"
#include "store/reserve.h"

enum { ARGUMENTS_MAX = 40, PAGE_BYTES = 4096 };

struct statement {
    sqlite3_stmt *handle;
    sqlite3 *connection;
    int index[ARGUMENTS_MAX];  // where SQLite put $1, $2, …
    bool busy;
};

// Whose SQL is being prepared and run; see guest.h.
struct guest {
    bool in;
    bool executing;         // by guest_execute
    bool stopped;           // a statement was, because its time was over
    bool spoilt;            // half of something is in the transaction
    bool schema_changed;
    int statements_before;  // on the connection and not Pawl's, when it came in
    int64_t allowed_us, until;  // the latter by the monotonic clock
    char refusal[192];      // of the last statement that was
};

struct sqlite {
    struct db db;
    sqlite3 *connection;
    struct lock lock;
    struct reserve reserve;  // in the lock's file
    bool writing;  // holds the lock
    bool read_only;
    bool fleeting;
    bool shared;       // by threads: SQLite guards each of its calls with a mutex
    bool committing;   // Pawl itself is: nobody else may
    bool application;  // a text for tx_execute is being prepared
    struct guest guest;
    bool checkpoint_by_hand;
    int frames;             // in the log after the last commit
    bool copied;            // all of them are in the file as well
    int64_t start_over_at;  // once the log is so long, the writer waits for those that read from it
    int64_t changes_before;    // rows that the connection had changed when the transaction began
    int64_t changes_fleeting;  // since then, by statements that are marked so
    bool uncounted;            // and by SQL that is not one of the named queries
    int prepared_again;  // the statement that begins every write, because the schema had changed
    bool overwriting;  // what this transaction deletes: SQLite's secure_delete is on
    bool log_to_empty;  // it has what was overwritten in the file
    int64_t wal_bytes_max;
    char *path;
    dev_t device;  // what the path led to when it was opened ...
    ino_t inode;   // ... and must lead to when it is written
    sqlite3_stmt *rollback;  // prepared when it was opened: it must not need memory
    int prepared;  // of that and the following
    struct statement statements[QUERIES];
    sqlite3_stmt *many[QUERIES];  // the same for ROWS_AT_ONCE rows ...
    struct value *bound[QUERIES];  // ... and what was bound to their parameters last
};

static inline struct sqlite *sqlite_of(struct db *db)
{
    return (struct sqlite *)db;
}

extern const struct db_driver sqlite_driver;
extern const struct guest_driver sqlite_guests;

// Fills `err` from the connection's last error and answers false.
CHECKED bool sqlite_failed(struct sqlite *sqlite, const char *what, struct pawl_error *err);
#define sqlite_failed(...) REFUSES((sqlite_failed)(__VA_ARGS__))

// A statement can end its transaction: `INSERT OR ROLLBACK` does, and so may a full disk. What came
// after it would then be committed one by one, and could not be taken back.
CHECKED bool sqlite_still_inside(struct sqlite *sqlite, struct pawl_error *err);

// Ends the transaction if there is one: whoever began one and cannot go on does. Where there is no
// memory even for that, it ends before the next one begins.
CHECKED bool sqlite_prepare_rollback(struct sqlite *sqlite, struct pawl_error *err);
void sqlite_roll_back(struct sqlite *sqlite);

// Runs Pawl's own SQL that answers no rows.
CHECKED bool sqlite_execute(struct db *db, const char *sql, struct pawl_error *err);

// What is kept for a full disk is given back if the result says that it is full.
void sqlite_notice_full_disk(struct sqlite *sqlite, int result);

// Learns how long the log is, now and after every commit. The caller holds the lock.
CHECKED bool sqlite_watch_log(struct sqlite *sqlite, struct pawl_error *err);

// Copies the log back into the file. The caller holds the lock. Done is done: what could not be
// copied because somebody reads it is tried again after a later commit. True when the log is all
// copied; with SQLITE_CHECKPOINT_RESTART, when the next commit also starts it over.
bool sqlite_log_copy(struct sqlite *sqlite, int mode);
bool sqlite_log_maintain(struct db *db, bool whole);
bool sqlite_log_empty(struct sqlite *sqlite, int wait_ms);
void sqlite_log_close(struct sqlite *sqlite);

int64_t sqlite_log_bytes(const struct db *db);  // that are to be copied back
bool sqlite_log_is_long(const struct sqlite *sqlite);
CHECKED bool sqlite_log_has_room(struct sqlite *sqlite, struct pawl_error *err);

// The name of a file system that gathers what is written to the log until that is synced, over the
// one that is SQLite's default now: only for a connection that syncs at every commit. NULL: no
// memory.
const char *sqlite_gather(void);
// Whether syncs are left out: whatever is written meanwhile comes to the disk with a later one.
void sqlite_gather_relax(sqlite3 *connection, bool relaxed);
// The transaction is over: all that was gathered is written, or what is left of it is forgotten.
void sqlite_gather_done(sqlite3 *connection);
void sqlite_gather_drop(sqlite3 *connection);

// Puts the guards of guest.h on a connection, and takes them off before it is closed.
void sqlite_guard(struct sqlite *sqlite);
void sqlite_unguard(struct sqlite *sqlite);
CHECKED bool sqlite_execute_application(struct db *db, const char *sql, struct pawl_error *err);

struct copy_watch;
CHECKED bool sqlite_copy(struct db *db, const char *path, const struct copy_watch *watch,
                         struct pawl_error *err);
