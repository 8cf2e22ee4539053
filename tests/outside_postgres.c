// A database for each store, copied from the template of tests/postgres/run.
//
// Connections are kept: one to the server, and one to the store that was asked last. Databases are
// kept too, for a while: one whose sessions have just been closed takes a tenth of a second to
// drop, because they are still ending.
#include "outside_postgres.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_url.h"

enum { COLUMNS_MAX = 64,
       BOOLEAN_TYPE = 16,
       DONE_MAX = 8 };

static PGconn *server;
static struct {
    PGconn *connection;
    char url[512];
} kept;

static struct str database_url(const char *database)
{
    const char *form = getenv("PAWL_TEST_SERVER");
    EXPECT(form && strstr(form, "%s"));  // or tests/postgres/run did not start this
    struct str before, after;
    str_cut(str_of(form), '%', &before, &after);
    return str_format(test_arena(), "%.*s%s%.*s", STR(before), database, (int)after.n - 1,
                      after.s + 1);
}

// How a store is reached through a pooler, if there is one.
static const char *pooler(void)
{
    const char *options = getenv("PAWL_TEST_POOLER");
    return options ? options : "";
}

// Whoever looks from outside goes to the server itself: it sets up a session, and keeps it.
static const char *without_pooler(struct str url)
{
    const char *options = *pooler() ? strstr(str_cstr(test_arena(), url), pooler()) : NULL;
    return options ? str_cstr(test_arena(), (struct str){ url.s, url.n - strlen(options) - 1 })
                   : str_cstr(test_arena(), url);
}

static void hear_nothing(void *self, const char *message)
{
    (void)self;
    (void)message;
}

// A server that crashed is back within seconds.
static PGconn *connect_to(const char *url)
{
    PGconn *connection = PQconnectdb(url);
    for (int i = 0; i < 600 && PQstatus(connection) != CONNECTION_OK; i++) {
        usleep(50000);
        PQreset(connection);
    }
    if (PQstatus(connection) != CONNECTION_OK)
        print_error("%s", PQerrorMessage(connection));
    EXPECT(PQstatus(connection) == CONNECTION_OK);
    PQsetNoticeProcessor(connection, hear_nothing, NULL);
    return connection;
}

static void on_server(const char *sql)
{
    if (PQstatus(server) != CONNECTION_OK) {
        PQfinish(server);
        server = connect_to(database_url("postgres").s);
    }
    PGresult *result = PQexec(server, sql);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!done)
        print_error("%s: %s", sql, PQresultErrorMessage(result));
    PQclear(result);
    EXPECT(done);
}

struct str postgres_make(const char *directory)
{
    static int number;
    char name[64], sql[160];
    snprintf(name, sizeof name, "t%d_%d", (int)getpid(), ++number);
    snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE pawl_template STRATEGY file_copy",
             name);
    on_server(sql);
    return str_format(test_arena(), "%.*s&files=%s/pawl.db.artifacts%s%s", STR(database_url(name)),
                      directory, *pooler() ? "&" : "", pooler());
}

static void forget_kept(void)
{
    PQfinish(kept.connection);
    kept.connection = NULL;
}

void postgres_remove(struct str url)
{
    static char done[DONE_MAX][64];
    static int next;
    char sql[160];
    struct str place, options, rest, name = {0};
    str_cut(url, '?', &place, &options);
    for (rest = place; str_cut(rest, '/', &name, &rest);) {}
    forget_kept();
    snprintf(sql, sizeof sql, "DROP DATABASE %s WITH (FORCE)", done[next]);
    if (*done[next])
        on_server(sql);
    snprintf(done[next], sizeof done[next], "%.*s", STR(name));
    next = (next + 1) % DONE_MAX;
}

// ----- statements

static void keep(struct str url)
{
    if (kept.connection && str_eq(url, str_of(kept.url))
        && PQstatus(kept.connection) == CONNECTION_OK)
        return;
    struct server_url parts;
    struct pawl_error err = {0};
    forget_kept();
    MUST(server_url_parse(test_arena(), str_of(without_pooler(url)), &parts, &err));
    snprintf(kept.url, sizeof kept.url, "%.*s", STR(url));
    kept.connection = connect_to(parts.connect);
    PQclear(PQexec(kept.connection, "SET search_path = pawl, public"));
}

// As SQLite says it: true is 1.
static struct str text_of(const PGresult *result, int row, int column)
{
    const char *text = PQgetvalue(result, row, column);
    if (PQgetisnull(result, row, column))
        return (struct str){0};
    if (PQftype(result, column) == BOOLEAN_TYPE)
        return *text == 't' ? S("1") : S("0");
    return (struct str){ text, (size_t)PQgetlength(result, row, column) };
}

static void tell_rows(const PGresult *result, outside_row tell, void *self)
{
    struct str texts[COLUMNS_MAX];
    int count = PQnfields(result);
    EXPECT(count <= COLUMNS_MAX);
    for (int row = 0; row < PQntuples(result); row++) {
        for (int i = 0; i < count; i++)
            texts[i] = text_of(result, row, i);
        tell(self, texts, (size_t)count);
    }
}

// Every statement's rows, in one round trip.
static bool run_once(struct str url, const char *sql, outside_row tell, void *self)
{
    keep(url);
    if (!PQsendQuery(kept.connection, sql))
        return false;
    bool done = true;
    for (PGresult *result; (result = PQgetResult(kept.connection));) {
        bool fine = PQresultStatus(result) == PGRES_COMMAND_OK
            || PQresultStatus(result) == PGRES_TUPLES_OK
            || PQresultStatus(result) == PGRES_EMPTY_QUERY;
        if (!fine)
            print_error("%s: %s", sql, PQresultErrorMessage(result));
        else if (tell)
            tell_rows(result, tell, self);
        done = done && fine;
        PQclear(result);
    }
    return done;
}

// A server that was restarted meanwhile has cut the connection that was kept.
bool postgres_run(struct str url, const char *sql, outside_row tell, void *self)
{
    return run_once(url, sql, tell, self)
        || (PQstatus(kept.connection) != CONNECTION_OK && run_once(url, sql, tell, self));
}
