// A thin layer: it only makes sure that no statement is left open and no error unread.
#include "sql.h"

#include <stdio.h>
#include <string.h>

enum { BUSY_MS = 5000 };

static bool failed(sqlite3 *db, const char *what, struct pawl_error *err)
{
    err->code = PAWL_STORE;
    snprintf(err->message, sizeof(err->message), "%s: %.300s",
             db ? sqlite3_errmsg(db) : "no memory", what);
    return false;
}

static bool bind(sqlite3_stmt *statement, int at, const struct sql_value *value)
{
    if (value->kind == SQL_NUMBER)
        return sqlite3_bind_int64(statement, at, value->number) == SQLITE_OK;
    return sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC) == SQLITE_OK;
}

sqlite3_stmt *sql_ask(sqlite3 *db, const char *sql, const struct sql_value *values,
                      struct pawl_error *err)
{
    sqlite3_stmt *statement = NULL;
    bool good = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK;
    for (int i = 0; good && values[i].kind != SQL_END; i++)
        good = bind(statement, i + 1, &values[i]);
    if (good)
        return statement;
    failed(db, sql, err);
    sqlite3_finalize(statement);
    return NULL;
}

bool sql_next(sqlite3_stmt *rows)
{
    return rows && sqlite3_step(rows) == SQLITE_ROW;
}

bool sql_end(sqlite3_stmt *rows, struct pawl_error *err)
{
    if (!rows)
        return false;  // sql_ask has said why
    sqlite3 *db = sqlite3_db_handle(rows);
    char sql[300];
    snprintf(sql, sizeof(sql), "%s", sqlite3_sql(rows));
    return sqlite3_finalize(rows) == SQLITE_OK || failed(db, sql, err);
}

bool sql_run(sqlite3 *db, const char *sql, const struct sql_value *values, struct pawl_error *err)
{
    sqlite3_stmt *statement = sql_ask(db, sql, values, err);
    sql_next(statement);  // its error is seen by sql_end
    return sql_end(statement, err);
}

const char *sql_text(sqlite3_stmt *rows, int column)
{
    const char *text = (const char *)sqlite3_column_text(rows, column);
    return text ? text : "";
}

sqlite3 *sql_open_reader(const char *store, struct pawl_error *err)
{
    const char *path = strncmp(store, "sqlite:", 7) == 0 ? store + 7 : store;
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK
        && sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK)
        return db;
    failed(db, path, err);
    sqlite3_close(db);
    return NULL;
}
