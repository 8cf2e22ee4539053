// The PostgreSQL driver's own page: what its files share. Nothing outside them sees it.
//
// postgres_open.c connects and sets a session up, postgres_pooler.c looks whether it is one;
// db_postgres.c runs transactions and statements,
// postgres_many.c those for many rows, postgres_wire.c carries them; postgres_guest.c runs the
// application's SQL;
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
#define POSTGRES_POOLER_ADVICE \
    "a pooler gives its sessions to others after each transaction: add pooler=transaction to the " \
    "URL, or name the server itself"

// One answer, whole: other statements can run while it is being read.
struct answer {
    PGresult *result;  // NULL: there is none yet, or none any more
    int row, rows;
    struct postgres *asked;  // of whom, and nothing is read yet; NULL: of nobody
    bool failed;       // it was not done, because one before it failed or itself
};

// A statement whose answer was not read yet.
struct sent {
    const char *what;       // its name, which outlives it
    struct answer *answer;  // where its rows go; NULL: nobody looks at them
    int64_t changes;        // rows that it must change, or ANY_ROWS
    bool *prepared;         // of one that prepares another: false when it was not done
    bool let_go;            // nobody cares whether it was done
    bool synced;            // a transaction ends with it
};
enum { ANY_ROWS = -1,
       SENT_MAX = 64 };

// The driver's own statements.
enum phrases { PHRASE_BEGIN_READ,
               PHRASE_BEGIN_WRITE,
               PHRASE_LOCK,
               PHRASE_CLOCK,
               PHRASE_VERSION,
               PHRASE_COMMIT,
               PHRASE_RING,
               PHRASES };

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
    const char *begin_read, *begin_write;  // texts, the latter with ...
    const char *lock;       // ... that of the statement that waits for it
    const char *afresh;     // what sets the session up, or a transaction after a guest
    int64_t version;        // of the schema, as the last write transaction found it; 0: not yet
    int64_t changed;        // rows, by the last statement whose answer was read
    int64_t begun;          // when the transaction was, by the monotonic clock
    struct sent sent[SENT_MAX];
    size_t sent_count;
    const char *refused;    // the name of what the server refused last; NULL: nothing ...
    bool by_constraint;     // ... and whether it was a rule of a table
    bool prepared[QUERIES], prepared_many[QUERIES], prepared_own[PHRASES];
    const char *names_for_many[QUERIES], *texts_for_many[QUERIES];  // NULL: not made yet
    uint64_t texts_of_many[QUERIES];  // a bit per parameter: the others are numbers
    struct answer answers[QUERIES];
    struct answer clock, schema_version;  // of the transaction
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

// Whether what is left in the session is there in the next transaction, where that is needed.
CHECKED bool postgres_session_is_ours(struct postgres *postgres, struct pawl_error *err);

// Fills `err` from a result that is not what it should be, frees it and answers false.
CHECKED bool postgres_failed(struct postgres *postgres, PGresult *result, const char *what,
                             struct pawl_error *err);
#define postgres_failed(...) REFUSES((postgres_failed)(__VA_ARGS__))

// The connection is lost from here on, if it is not yet: one that could not be asked to answer
// would be waited for without end.
void postgres_hang_up(struct postgres *postgres);

// Runs text that is the driver's own, one or more statements, and gives the last answer, which is
// the caller's to clear. NULL after filling `err`.
PGresult *postgres_ask(struct postgres *postgres, const char *sql, const char *what,
                       struct pawl_error *err);

CHECKED bool postgres_execute(struct db *db, const char *sql, struct pawl_error *err);

// Runs text that is not the driver's own: it cannot begin or end a transaction.
CHECKED bool postgres_execute_application(struct db *db, const char *sql, struct pawl_error *err);
