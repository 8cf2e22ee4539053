// SQLite's half, and which half it is.
#include "outside.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "outside_postgres.h"

enum { COLUMNS_MAX = 64 };

bool on_postgres(void)
{
    const char *store = getenv("PAWL_TEST_STORE");
    return store && strcmp(store, "postgres") == 0;
}

struct str outside_make(const char *directory)
{
    return on_postgres() ? postgres_make(directory)
                         : str_format(test_arena(), "sqlite:%s/pawl.db", directory);
}

void outside_remove(struct str url)
{
    if (on_postgres())
        postgres_remove(url);
}

static sqlite3 *open_file(struct str url)
{
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(str_cstr(test_arena(), url) + strlen("sqlite:"), &connection)
           == SQLITE_OK);
    sqlite3_busy_timeout(connection, 30000);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return connection;
}

static void tell_row(sqlite3_stmt *row, outside_row tell, void *self)
{
    struct str texts[COLUMNS_MAX];
    int count = sqlite3_column_count(row);
    EXPECT(count <= COLUMNS_MAX);
    for (int i = 0; i < count; i++) {
        const char *text = (const char *)sqlite3_column_text(row, i);
        texts[i] = text ? (struct str){ text, (size_t)sqlite3_column_bytes(row, i) }
                        : (struct str){0};
    }
    if (tell)
        tell(self, texts, (size_t)count);
}

// One statement. Gives where the next begins; NULL: this one was refused.
static const char *run_one(sqlite3 *connection, const char *sql, outside_row tell, void *self)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    if (sqlite3_prepare_v2(connection, sql, -1, &statement, &rest) != SQLITE_OK)
        return NULL;
    while (statement && sqlite3_step(statement) == SQLITE_ROW)
        tell_row(statement, tell, self);
    return sqlite3_finalize(statement) == SQLITE_OK ? rest : NULL;
}

bool outside_run(struct str url, const char *sql, outside_row tell, void *self)
{
    if (on_postgres())
        return postgres_run(url, sql, tell, self);
    sqlite3 *connection = open_file(url);
    const char *at = sql;
    while (at && *at)
        at = run_one(connection, at, tell, self);
    if (!at)
        print_error("%s: %s\n", sql, sqlite3_errmsg(connection));
    sqlite3_close(connection);
    return at != NULL;
}

const char *outside_tables(void)
{
    return on_postgres() ? "SELECT tablename FROM pg_tables WHERE schemaname IN ('pawl', 'public')"
                           " ORDER BY tablename"
                         : "SELECT name FROM sqlite_schema WHERE type = 'table'"
                           " AND name NOT LIKE 'sqlite_%' ORDER BY name";
}
