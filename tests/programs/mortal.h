// A program that dies by kill -9 at a statement that is named by how it begins.
#pragma once

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *mortal_point;  // NULL: it lives
static long mortal_times;         // left

static int mortal_at_statement(unsigned kind, void *self, void *statement, void *text)
{
    (void)kind, (void)self, (void)text;
    const char *sql = sqlite3_sql(statement);
    if (mortal_point && sql && strncmp(sql, mortal_point, strlen(mortal_point)) == 0
        && --mortal_times == 0)
        kill(getpid(), SIGKILL);
    return 0;
}

static int mortal_watch(sqlite3 *db, const char **error, const void *api)
{
    (void)error, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, mortal_at_statement, NULL);
}

// From now on, on every connection. `words` are the beginning of the statement and how many times
// it is begun; NULL or none: never.
static void mortal_begin(char **words)
{
    if (words && words[0] && words[1]) {
        mortal_point = words[0];
        mortal_times = strtol(words[1], NULL, 10);
    }
    sqlite3_auto_extension((void (*)(void))mortal_watch);
}
