// The store's port: transactions and named statements, the same for every database.
//
// The port is the statement, not the operation: every operation of the engine is written once, over
// this page, and a driver knows nothing of jobs. A `struct db` is one connection with one owner.
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/world.h"
#include "store/query.h"

struct bell;
struct caller;
struct db;
struct observations;
struct observers;
struct queue_terms;
struct contract_rules;

// For tests: asked at these points of every transaction of a connection. On false it fails there,
// with what was answered; with PAWL_IN_DOUBT the connection is broken, as it is in earnest.
enum fault_point { FAULT_BEGIN,
                   FAULT_BEFORE_COMMIT,
                   FAULT_AFTER_COMMIT };
struct faults {
    void *self;
    bool (*pass)(void *self, enum fault_point point, struct pawl_error *err);
};

struct db_options {
    struct str url;             // `sqlite:path` or `postgres://…`; see store_url.h
    const struct world *world;  // NULL: the real one
    bool read_only;             // a reader: never writes, never checkpoints, sees a snapshot
    bool must_exist;            // refuse to create a new store
    bool any_version;           // take its schema as it is: whoever opens it looks at its version
    int64_t busy_us;            // how long to wait for another process; 0: ten seconds
    int64_t wal_bytes_max;      // refuse to write past this; 0: 1 GiB
    bool shared;                // other threads may look in: see db_hold
    bool fleeting;              // for tests: outlives the process, not the machine
    bool checkpoint_by_hand;    // commits do not copy the log back: db_checkpoint does
    bool listen;                // commits of other processes ring the bells of this one; see bell.h
    struct bell *bell;          // rung by commits of this connection; must outlive it; NULL: none
    const char *ringer;         // whose commits they are: see bell_open_named; NULL: anybody's
    int64_t generation_keys;    // see key_index.h; 0: as many as is good
    const struct observers *observers;  // told what commits of this connection did; see observe.h
    const struct faults *faults;        // for tests; must outlive it; NULL: nothing is made to fail
};

// Opens a store, creating it and bringing its schema up to date unless told otherwise. Refuses a
// store that is newer than this program.
CHECKED bool db_open(struct db **db, const struct db_options *options, struct pawl_error *err);
void db_close(struct db *db);  // NULL is fine
uint64_t db_random(struct db *db);  // of its world, which is asked for many numbers at a time
int64_t db_wal_bytes(const struct db *db);
const char *db_files(const struct db *db);  // the directory of blob.h, which may not be there yet
bool db_log_to_empty(const struct db *db);  // the next db_checkpoint is to: see tx_overwrite
bool db_is_short(const struct db *db);  // of space on its disk: no new jobs; see reserve.h
bool db_refused(const struct db *db);  // the commit that failed did so for what was before it
bool db_gave_way(struct db *db);  // what found the disk full may be tried again; asked once
bool db_is_distant(const struct db *db);  // at the end of a wire: a transaction is dear
bool db_lost(const struct db *db);  // the database is out of reach: close it, and open it again

// Copies the log back into the file if it has grown long enough. True when it did; a log that is
// short, or held back by a reader, is left for another time.
bool db_checkpoint(struct db *db);

// Copies the whole log back and syncs it, waiting for readers. After a sync has failed, what can be
// read may be in memory only: nothing may be answered from it, or built on it, before this is done.
// From then on a commit that cannot be seen has not happened and never will have.
CHECKED bool db_harden(struct db *db, struct pawl_error *err);

// Leaves nothing of what tx_overwrite was for outside the records: empties the log, waiting for
// readers, and with `compact` writes the whole file anew, free space left out. PAWL_BUSY when a
// reader holds on to the log.
CHECKED bool db_scrub(struct db *db, bool compact, struct pawl_error *err);

// Rings, as a commit with news does: in this process and in all others that listen.
void db_ring(struct db *db);

// Forgets the rows it remembers because they never change: the next look-up reads the store.
void db_forget(struct db *db);

CHECKED bool schema_version(struct db *db, int64_t *version, struct pawl_error *err);
int schema_version_known(void);  // the newest this program can make
enum { SCHEMA_OF_A_COPY = 1000000 };  // not done yet, so that every program refuses it

// The newest generation of idempotency keys as a transaction has it; see key_index.h.
struct key_newest {
    int64_t generation;  // 0: not read yet
    int64_t keys;
    pawl_time expires_at;
    bool grown;       // and not written down yet
    bool put;         // keys were, written down or not
    bool hoped;       // that a key is new, which nobody looked for
    bool rearranged;  // a generation was sealed, or records were removed from a sealed one
};

// An event of the audit trail that a transaction adds, by which a commit in doubt is found out: see
// run/reach.h. It stands behind the event that was the newest when the transaction began.
struct witness {
    int64_t behind;
    int64_t job, event, attempt, at;
};

// One transaction. `now` is read once and is the only time its operations know. It never goes back,
// whoever wrote last: when the calendar has been set back, the store's time goes on from the latest
// time it holds, at half speed until the calendar has caught up. What is read lives in `arena`.
struct tx {
    struct db *db;
    struct arena *arena;
    pawl_time now;
    int64_t monotonic;            // of this process, just before `now`: what ends in the store ends
                                  // no earlier than what is counted from it here
    const struct caller *caller;  // in whose name the current operation runs
    int64_t newest_event;         // of the store when it began
    int64_t last_event;           // when it was committed; 0: not known
    bool wrapped_up;              // see tx_wrap_up
    bool has_witness, had_witness;  // events were added; before the part that may be taken back
    struct witness witness, earlier_witness;
    int64_t last_id[4];           // newest job, execution, batch and artifact; see id_make
    const struct queue_terms *queue_terms;  // weights and limits of queues; NULL: as built in
    const struct contract_rules *rules;     // for jobs that came in SQL; NULL: a bare store's
    bool open;
    bool interned;                // made rows of names.h, which a rollback takes back
    bool news;                    // made something that a claim may take now: its commit rings
    int64_t news_type;            // the one type of job it is about; NEWS_ANY: of several, or all
    struct key_newest keys;
    struct observations *observed;  // what it did so far; NULL: nobody observes
    size_t operations;              // of the commit pipeline, in it; told to whoever observes
    bool has_links;                 // jobs of the store may be linked to others: engine/links.h
    bool has_limits;                // engine/limit.h has something to say
    size_t told;                    // jobs that were told of the end of others: engine/links.h
    bool telling;                   // they are being told
    bool hopeful;                   // whoever runs it runs it again if that was wrong: tx_hopes
    bool hoped;                     // and somebody did
};

enum { NEWS_ANY = -1 };
// Says that jobs of a type (a number of names.h), or NEWS_ANY, may be claimed that could not be.
void tx_has_news(struct tx *tx, int64_t type);

enum tx_mode { TX_READ, TX_WRITE };

// TX_WRITE takes the one write lock at once, across processes (RUN-4); PAWL_BUSY when it cannot be
// had in time, PAWL_FULL when the log has reached its maximum.
CHECKED bool tx_begin(struct db *db, enum tx_mode mode, struct arena *arena, struct tx *tx,
                      struct pawl_error *err);

// Begins the next write on this connection and waits for no answer: tx_begin takes it up. It is for
// who is about to write, since others that write wait for the lock meanwhile; who does not after
// all takes it back. Where nothing is gained by it nothing is done, nor while others do write.
void db_begin_ahead(struct db *db);
void db_begin_back(struct db *db);  // also when nothing was begun

// Begins to read on a connection that is kept: opens it when there is none yet, and again when its
// database was out of reach meanwhile.
CHECKED bool db_begin_read(struct db **db, const struct db_options *options, struct arena *arena,
                           struct tx *tx, struct pawl_error *err);

// An event was added, the newest so far.
void tx_witness(struct tx *tx, int64_t job, int64_t event, int64_t attempt);

// Does all that is left to do before the commit, which comes next. Where the database is at the end
// of a wire nobody waits for it: the commit is on its way behind it, and fails if it does.
CHECKED bool tx_wrap_up(struct tx *tx, struct pawl_error *err);

// On true everything is on disk, and if there is news, whoever waits for it has been rung. On false
// nothing is, except with PAWL_IN_DOUBT: the outcome is unknown, the connection refuses all further
// work and must be opened again to look.
CHECKED bool tx_commit(struct tx *tx, struct pawl_error *err);
void tx_end(struct tx *tx);  // rolls back what was not committed; for SCOPED(tx)

// From here on what the transaction deletes or replaces is overwritten in the file. The log, which
// has earlier copies of it, is emptied by the next db_checkpoint that finds no reader in its way.
CHECKED bool tx_overwrite(struct tx *tx, struct pawl_error *err);

// From here on a transaction that reads sees no rows of other orgs, whatever it asks: a second wall
// besides the org in its statements. Only PostgreSQL has it; -1 is an org without rows.
CHECKED bool tx_wall(struct tx *tx, int64_t org, struct pawl_error *err);

// A part of a transaction that can be taken back alone. Not for hot paths.
CHECKED bool tx_mark(struct tx *tx, struct pawl_error *err);
CHECKED bool tx_keep(struct tx *tx, struct pawl_error *err);
CHECKED bool tx_take_back(struct tx *tx, struct pawl_error *err);

// A value for a statement.
struct value {
    enum { VALUE_NONE, VALUE_INT, VALUE_TEXT } kind;
    int64_t number;
    struct str text;
};
#define INT(n) ((struct value){ .kind = VALUE_INT, .number = (n) })
#define TEXT(t) ((struct value){ .kind = VALUE_TEXT, .text = (t) })
#define NONE ((struct value){ .kind = VALUE_NONE })
// Zero and the empty text stand for "not given" in our structs and for NULL in the store.
static inline struct value INT_OR_NONE(int64_t n) {
    return n ? INT(n) : NONE;
} static inline struct value TEXT_OR_NONE(struct str t) {
    return t.n ? TEXT(t) : NONE;
}

#define VALUES(...) ((const struct value[]){ __VA_ARGS__ })
#define VALUE_COUNT(...) (sizeof(VALUES(__VA_ARGS__)) / sizeof(struct value))

// Runs a statement that answers no rows: sql_run(tx, Q_NAME, err, INT(1), TEXT(key)).
#define sql_run(tx, query, err, ...) \
    db_run((tx), (query), VALUES(__VA_ARGS__), VALUE_COUNT(__VA_ARGS__), NULL, (err))
#define sql_run_plain(tx, query, err) db_run((tx), (query), NULL, 0, NULL, (err))
// The same, and says how many rows it changed.
#define sql_run_counting(tx, query, changed, err, ...) \
    db_run((tx), (query), VALUES(__VA_ARGS__), VALUE_COUNT(__VA_ARGS__), (changed), (err))
CHECKED bool
db_run(struct tx *tx, enum query query, const struct value *values, size_t count,
       int64_t *changed, struct pawl_error *err);

// Whether to hope: a statement that will change its row unless somebody else was faster may be held
// back with sql_later and taken as done. If the hope fails so does the transaction, and all of it
// is run again without any. Where the database is at the end of a wire that is well worth it.
bool tx_hopes(struct tx *tx);

// For the statements of store/later.h: runs with others of its kind, before the transaction ends or
// another statement could miss it. What the database refuses is refused then.
#define sql_later(tx, query, err, ...) \
    db_later((tx), (query), VALUES(__VA_ARGS__), VALUE_COUNT(__VA_ARGS__), (err))
CHECKED bool db_later(struct tx *tx, enum query query, const struct value *values, size_t count,
                      struct pawl_error *err);

// Runs `INSERT … VALUES ($1, $2, …)` for so many rows of values, now.
CHECKED bool db_run_rows(struct tx *tx, enum query query, const struct value *values, size_t rows,
                         struct pawl_error *err);

// Runs everything sql_later has held back: before SQL looks that is not one of the named queries.
// What the database refuses is refused here at the latest.
CHECKED bool tx_settle(struct tx *tx, struct pawl_error *err);

// Rows of an answer:
//     SCOPED(rows) struct rows rows = {0};
//     if (!sql_ask(tx, &rows, Q_NAME, err, INT(1)))
//         return false;
//     while (rows_next(&rows))
//         use(row_int(&rows), row_text(&rows));    // columns in their order
//     return rows_ok(&rows, err);
struct rows {
    struct tx *tx;
    void *statement;
    int column;
    bool failed;
    struct pawl_error error;
};

#define sql_ask(tx, rows, query, err, ...) \
    db_ask((tx), (rows), (query), VALUES(__VA_ARGS__), VALUE_COUNT(__VA_ARGS__), (err))
#define sql_ask_plain(tx, rows, query, err) db_ask((tx), (rows), (query), NULL, 0, (err))
CHECKED bool db_ask(struct tx *tx, struct rows *rows, enum query query, const struct value *values,
                    size_t count, struct pawl_error *err);
bool rows_next(struct rows *rows);
CHECKED bool rows_ok(const struct rows *rows, struct pawl_error *err);
void rows_end(struct rows *rows);

// The next column of the row: NULL reads as 0 and as the empty text. Texts live in the arena.
int64_t row_int(struct rows *rows);
struct str row_text(struct rows *rows);
bool row_is_null(struct rows *rows);  // looks, does not go on to the next column

// The whole answer of a statement with one column of numbers.
struct keys {
    int64_t *at;
    size_t count;
};
CHECKED bool rows_keys(struct rows *rows, struct keys *keys, struct pawl_error *err);

// The one number of an answer; 0 when there is no row.
CHECKED bool rows_number(struct rows *rows, int64_t *number, struct pawl_error *err);

// The text of migrations, and of tests: it may change everything inside the transaction, but not
// begin or end it. For the application's SQL see guest.h.
CHECKED bool tx_execute(struct tx *tx, const char *sql, struct pawl_error *err);
