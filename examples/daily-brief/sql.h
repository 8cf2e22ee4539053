// Statements on a connection: values in, rows out, an error in words.
//
//     sql_run(db, "UPDATE feeds SET error = ? WHERE id = ?", WITH(TEXT(why), NUMBER(id)), err)
#pragma once

#include <pawl.h>
#include <sqlite3.h>

struct sql_value {
    enum { SQL_END, SQL_TEXT, SQL_NUMBER } kind;
    const char *text;  // NULL is NULL
    int64_t number;
};

#define TEXT(value) ((struct sql_value){ .kind = SQL_TEXT, .text = (value) })
#define NUMBER(value) ((struct sql_value){ .kind = SQL_NUMBER, .number = (value) })
#define WITH(...) ((const struct sql_value[]){ __VA_ARGS__, { .kind = SQL_END } })
#define WITH_NOTHING ((const struct sql_value[]){ { .kind = SQL_END } })

// Runs a statement that answers no rows; sqlite3_changes tells how many it changed.
bool sql_run(sqlite3 *db, const char *sql, const struct sql_value *values, struct pawl_error *err);

// Begins a question; NULL when it cannot be asked. The texts must live until it is ended. Then
// sql_next says whether there is another row, and sql_end whether every row was seen.
sqlite3_stmt *sql_ask(sqlite3 *db, const char *sql, const struct sql_value *values,
                      struct pawl_error *err);
bool sql_next(sqlite3_stmt *rows);
bool sql_end(sqlite3_stmt *rows, struct pawl_error *err);

const char *sql_text(sqlite3_stmt *rows, int column);  // "" for NULL; until the next row

// Opens the store's file for reading, and for nothing else. `store` is as Pawl takes it:
// "sqlite:PATH". Close it with sqlite3_close; that of NULL is fine.
sqlite3 *sql_open_reader(const char *store, struct pawl_error *err);
