// SQLite's own account, by b-tree (`dbstat`), largest first.
#include "sizes.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static const char by_tree[] =
    "SELECT name, sum(pgsize), sum(unused), sum(ncell) FROM dbstat GROUP BY name"
    " HAVING sum(pgsize) > 65536 ORDER BY 2 DESC";

void sizes_print(const char *path, long jobs)
{
    sqlite3 *connection = NULL;
    sqlite3_stmt *rows = NULL;
    if (sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK
        || sqlite3_prepare_v2(connection, by_tree, -1, &rows, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(connection));
        exit(1);
    }
    double all = 0;
    printf("%-28s %9s %9s %11s\n", "", "MiB", "% used", "bytes/job");
    while (sqlite3_step(rows) == SQLITE_ROW) {
        double bytes = (double)sqlite3_column_int64(rows, 1);
        double unused = (double)sqlite3_column_int64(rows, 2);
        all += bytes;
        printf("%-28s %9.1f %9.0f %11.1f\n", (const char *)sqlite3_column_text(rows, 0),
               bytes / (1 << 20), 100 * (1 - unused / bytes), bytes / (double)jobs);
    }
    printf("%-28s %9.1f %9s %11.1f\n", "all", all / (1 << 20), "", all / (double)jobs);
    sqlite3_finalize(rows);
    sqlite3_close(connection);
}
