// An independent judge of a run with many processes.
//
// It uses nothing of the engine: it reads what the processes wrote down about their calls
// (tests/programs/actor.h), the application's own table `effects` and the public views, copies them
// into a database in memory and counts what must not be. Each fault it looks for shares a row with
// a statement that plants it, so that a test can show that it is seen.
#pragma once

#include <sqlite3.h>

#include "test.h"

struct check {
    const char *name;
    const char *sql;      // counts
    const char *planted;  // makes the count rise; NULL: not a fault, only reported
};

extern const struct check checks[];
extern const size_t checks_count;

// Reads a store and the logs beside it: every file in `directory` whose name ends in `.log`.
sqlite3 *checker_open(const char *directory);
void checker_close(sqlite3 *facts);

int64_t checker_count(sqlite3 *facts, const char *name);  // by the name of a check

// How many of the situations that are only reported never came up: `totals` has one for each check.
int64_t checks_not_met(const int64_t *totals);
void checker_run(sqlite3 *facts, const char *sql);
