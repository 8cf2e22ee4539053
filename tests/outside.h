// The store as somebody sees it who is not Pawl: by a connection of its own, in plain SQL.
//
// Tests run on the store that PAWL_TEST_STORE names: SQLite, or `postgres`, whose server
// tests/postgres/run has started.
#pragma once

#include "test.h"

bool on_postgres(void);

// A new store, empty: a file that is yet to be made, or a copy of a database. `directory` is where
// its files are. Gives its URL, in test_arena().
struct str outside_make(const char *directory);
void outside_remove(struct str url);  // what of it is not in the directory

typedef void (*outside_row)(void *self, const struct str *texts, size_t count);

// Runs statements on the store; each row of an answer is told, NULL as a text without bytes at a
// NULL pointer. False when it is refused: the reason is printed.
bool outside_run(struct str url, const char *sql, outside_row tell, void *self);

// A statement that names all tables that are Pawl's or the application's.
const char *outside_tables(void);
