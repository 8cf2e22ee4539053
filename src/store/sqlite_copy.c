// Copying an SQLite file page by page inside one read transaction of the source.
//
// The transaction is what makes the copy one moment of the store: a copy in steps starts over
// whenever somebody writes, unless its connection holds on to its snapshot, and then it never does.
// The copy itself is nobody's yet: it needs no journal, and one sync at the end.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "store/copy.h"
#include "store/sqlite.h"

enum { STEP_PAGES = 1024 };

static void connection_end(sqlite3 **connection)
{
    sqlite3_close(*connection);
}

static bool copy_failed(sqlite3 *connection, const char *path, struct pawl_error *err)
{
    static const struct {
        int primary;
        enum pawl_code code;
    } codes[] = {
        { SQLITE_FULL, PAWL_DISK_FULL },  { SQLITE_BUSY, PAWL_BUSY },
        { SQLITE_CORRUPT, PAWL_DAMAGED }, { SQLITE_NOTADB, PAWL_DAMAGED },
    };
    enum pawl_code code = PAWL_STORE;
    for (size_t i = 0; i < countof(codes); i++)
        if ((sqlite3_extended_errcode(connection) & 0xff) == codes[i].primary)
            code = codes[i].code;
    return fail(err, code, "%s: %s", path, sqlite3_errmsg(connection));
}
#define copy_failed(...) REFUSES(copy_failed(__VA_ARGS__))

static bool open_raw(const char *path, sqlite3 **connection, struct pawl_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    return sqlite3_open_v2(path, connection, flags, NULL) == SQLITE_OK
        || copy_failed(*connection, path, err);
}

static bool run_raw(sqlite3 *connection, const char *path, const char *sql, struct pawl_error *err)
{
    return sqlite3_exec(connection, sql, NULL, NULL, NULL) == SQLITE_OK
        || copy_failed(connection, path, err);
}

static bool copy_pages(struct sqlite *sqlite, sqlite3 *to, const struct copy_watch *watch)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", sqlite->connection, "main");
    int result = backup ? SQLITE_OK : SQLITE_ERROR;
    while (result == SQLITE_OK) {
        result = sqlite3_backup_step(backup, STEP_PAGES);
        int64_t total = sqlite3_backup_pagecount(backup);
        if (watch->progress)
            watch->progress(watch->self, (total - sqlite3_backup_remaining(backup)) * PAGE_BYTES,
                            total * PAGE_BYTES);
    }
    return sqlite3_backup_finish(backup) == SQLITE_OK && result == SQLITE_DONE;
}

// The pages say that they have a write-ahead log: here they have none.
static bool without_log(const char *path, struct pawl_error *err)
{
    SCOPED(connection) sqlite3 *connection = NULL;
    return open_raw(path, &connection, err)
        && run_raw(connection, path, "PRAGMA journal_mode=DELETE", err);
}

static bool copy_into(struct sqlite *sqlite, const char *path, const struct copy_watch *watch,
                      struct pawl_error *err)
{
    SCOPED(connection) sqlite3 *to = NULL;
    return open_raw(path, &to, err)
        && run_raw(to, path, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", err)
        && (copy_pages(sqlite, to, watch) || copy_failed(to, path, err));
}

bool sqlite_copy(struct db *db, const char *path, const struct copy_watch *watch,
                 struct pawl_error *err)
{
    struct sqlite *sqlite = sqlite_of(db);
    // The snapshot is taken by the first look, not by BEGIN.
    bool copied = sqlite_execute(db, "BEGIN; SELECT count(*) FROM sqlite_schema", err)
               && copy_into(sqlite, path, watch, err);
    sqlite_roll_back(sqlite);
    return copied && without_log(path, err) && file_sync(path, err);
}

bool store_settle(const char *path, struct pawl_error *err)
{
    SCOPED(connection) sqlite3 *connection = NULL;
    return open_raw(path, &connection, err)
        && run_raw(connection, path, "PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE", err)
        && file_sync(path, err);
}
