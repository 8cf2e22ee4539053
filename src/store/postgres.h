// The PostgreSQL driver's own page: what its files share. Nothing outside them sees it.
//
// postgres_open.c connects and sets a session up; db_postgres.c runs transactions and statements,
// postgres_many.c those for many rows; postgres_guest.c runs the application's SQL;
// postgres_error.c says what went wrong; postgres_lock.c holds locks for hold.c; postgres_bell.c
// listens for bell.c; postgres_library.c loads libpq.
#pragma once

#include <semaphore.h>

#include "store/driver.h"
#include "store/postgres_library.h"
#include "store/store_url.h"

enum { POSTGRES_LOCKS = 0x5061776c,  // "Pawl": the first half of the keys of advisory locks
       GUEST_PATH_BYTES = 512,
       SETTINGS_BYTES = 2048 };

#define POSTGRES_CHANNEL "pawl_news"

// One answer, whole: other statements can run while it is being read.
struct answer {
    PGresult *result;  // NULL: nobody reads one
    int row, rows;
};

enum { PARAMETERS_MAX = 64,
       NUMBER_BYTES = 24 };

// What libpq wants to know of the parameters of a statement.
struct binding {
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX];
    int formats[PARAMETERS_MAX];
    char numbers[PARAMETERS_MAX][NUMBER_BYTES];
};

struct postgres {
    struct db db;
    PGconn *connection;
    struct arena arena;     // of the URL
    struct server_url url;
    int64_t busy_us;
    bool read_only;
    bool fleeting;
    bool writing;           // in a write transaction
    char begin_write[192];
    char settings[SETTINGS_BYTES];  // of the session
    int64_t version;        // of the schema, as the last write transaction found it; 0: not yet
    bool moved;             // it was another than before
    int64_t changed;        // rows, by the last statement
    bool prepared[QUERIES], prepared_many[QUERIES];
    uint64_t texts_of_many[QUERIES];  // a bit per parameter: the others are numbers
    struct answer answers[QUERIES];
    struct {
        bool in;
        int64_t allowed_us, until;  // the latter by the monotonic clock
    } guest;
    char guest_path[GUEST_PATH_BYTES];  // where the application's SQL finds its tables
    bool shared;            // by threads, which take turns at ...
    sem_t guard;
    struct binding binding;  // of the statement that is being run
};

static inline struct postgres *postgres_of(struct db *db)
{
    return (struct postgres *)db;
}

extern const struct db_driver postgres_driver;
extern const struct guest_driver postgres_guests;

// A connection as all of ours are. NULL after filling `err`.
PGconn *postgres_connect(const struct server_url *url, struct pawl_error *err);

// The same, only begun: libpq must have been loaded. NULL: no memory.
PGconn *postgres_connect_start(const struct server_url *url);

// Fills `err` from a result that is not what it should be, frees it and answers false.
CHECKED bool postgres_failed(struct postgres *postgres, PGresult *result, const char *what,
                             struct pawl_error *err);

CHECKED bool postgres_prepare(struct postgres *postgres, const char *name, const char *sql,
                              struct pawl_error *err);

// Runs text that is the driver's own, one or more statements, and gives the last answer, which is
// the caller's to clear. NULL after filling `err`.
PGresult *postgres_ask(struct postgres *postgres, const char *sql, const char *what,
                       struct pawl_error *err);

CHECKED bool postgres_execute(struct db *db, const char *sql, struct pawl_error *err);

// Runs text that is not the driver's own: it cannot begin or end a transaction.
CHECKED bool postgres_execute_application(struct db *db, const char *sql, struct pawl_error *err);
