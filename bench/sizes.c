// SQLite's own account, by b-tree (`dbstat`), and the pages that wait to be used again.
#include "bench/sizes.h"

#include <sqlite3.h>

static const char by_part[] =
    "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
    " UNION ALL SELECT '(free pages)', freelist_count * page_size"
    "  FROM pragma_freelist_count, pragma_page_size";

static bool add_rows(sqlite3_stmt *rows, struct list *sizes)
{
    while (sqlite3_step(rows) == SQLITE_ROW) {
        struct size *size = list_add(sizes);
        if (!size)
            return false;
        size->name = str_dup(sizes->arena, str_of((const char *)sqlite3_column_text(rows, 0)));
        size->bytes = (double)sqlite3_column_int64(rows, 1);
    }
    return true;
}

bool sizes_read(const char *path, struct list *sizes, struct pawl_error *err)
{
    sqlite3 *connection = NULL;
    sqlite3_stmt *rows = NULL;
    bool fine = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK
        && sqlite3_prepare_v2(connection, by_part, -1, &rows, NULL) == SQLITE_OK
        && add_rows(rows, sizes) && sqlite3_reset(rows) == SQLITE_OK;
    if (!fine)
        fine = fail(err, PAWL_STORE, "cannot say what %s is made of: %s", path,
                    sqlite3_errmsg(connection));
    sqlite3_finalize(rows);
    sqlite3_close(connection);
    return fine;
}
