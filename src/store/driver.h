// What a database driver provides to db.c. Nothing above the store sees this.
#pragma once

#include "store/db.h"

struct copy_watch;

// See guest.h.
struct guest_driver {
    int64_t (*enter)(struct tx *tx, int64_t allowed_us);
    bool (*leave)(struct tx *tx, struct pawl_error *err);
    void (*evict)(struct tx *tx);
    bool (*execute)(struct tx *tx, const char *sql, struct pawl_error *err);
    void (*pause)(struct tx *tx);
    void (*resume)(struct tx *tx);
    void *(*connection)(struct db *db);
    void (*hold)(struct db *db);
    void (*release)(struct db *db);
};

struct db_driver {
    enum dialect dialect;
    bool distant;  // see db_is_distant
    bool walls;  // see tx_wall
    bool (*begin)(struct db *db, enum tx_mode mode, struct pawl_error *err);
    // What was sent so far is to be done now, though nobody reads its answers yet. Of connections
    // that hurry.
    void (*hurry)(struct db *db);
    bool (*commit)(struct db *db, struct pawl_error *err);
    void (*rollback)(struct db *db);
    // The calendar's time for a transaction that has begun, and the time by the monotonic clock
    // just before that; the world's come in. NULL: they are the world's.
    void (*read_clock)(struct db *db, pawl_time *now, int64_t *monotonic);
    bool (*execute)(struct db *db, const char *sql, struct pawl_error *err);
    bool (*execute_application)(struct db *db, const char *sql, struct pawl_error *err);
    bool (*start)(struct db *db, enum query query, const struct value *values, size_t count,
                  void **statement, struct pawl_error *err);
    bool (*next)(struct db *db, void *statement, bool *row, struct pawl_error *err);
    void (*finish)(void *statement);
    // Runs a statement of later.h for so many rows of values, at most `rows_at_once`, and counts
    // what they changed together.
    size_t rows_at_once;
    bool (*run_many)(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err);
    // Runs a statement whose answer nobody looks at. If it fails, `settle` says so, or whoever
    // looks at an answer next, or the commit; as it may be with `run_many`. NULL: it is started.
    bool (*send)(struct db *db, enum query query, const struct value *values, size_t count,
                 struct pawl_error *err);
    // What ran last must have changed so many rows: else it has failed. NULL: see tx_hopes.
    void (*expect)(struct db *db, int64_t rows);
    bool (*settle)(struct db *db, struct pawl_error *err);  // NULL: what fails does so at once
    int64_t (*changed)(struct db *db);
    int64_t (*column_int)(void *statement, int column);
    struct str (*column_text)(void *statement, int column);  // until the next row
    bool (*column_null)(void *statement, int column);
    int64_t (*wal_bytes)(const struct db *db);
    bool (*checkpoint)(struct db *db, bool whole);  // see db_checkpoint and db_harden
    bool (*log_to_empty)(const struct db *db);
    bool (*overwrite)(struct db *db, struct pawl_error *err);  // see tx_overwrite
    bool (*scrub)(struct db *db, bool compact, struct pawl_error *err);  // see db_scrub
    void (*ring)(struct db *db);  // other processes
    bool (*copy)(struct db *db, const char *path, const struct copy_watch *watch,
                 struct pawl_error *err);
    // Whether anybody has changed the schema since this was asked last, or since it was opened.
    // Costs nothing: what the newest statement noticed.
    bool (*schema_moved)(struct db *db);
    const struct guest_driver *guests;
    void (*look_for_space)(struct db *db);  // sets is_short. NULL: a server has its own
    void (*close)(struct db *db);
};

struct db {
    const struct db_driver *driver;
    const struct world *world;
    pawl_time last_now;       // of the last transaction ...
    int64_t last_monotonic;   // ... and when that was; see tx_begin
    // What the last transaction left. As long as its newest event is the store's, nobody has stored
    // a job, a key or an execution since: each comes with an event.
    struct {
        int64_t event;  // 0: it is not known
        int64_t job, execution;
        struct key_newest keys;
    } left;
    uint64_t dice[32];        // random numbers for the next ids ...
    size_t dice_left;         // ... and how many are not used yet
    bool has_schema;
    bool outdated;  // a newer program has changed its tables: nothing is written
    bool broken;  // a commit is in doubt: only closing is left
    bool lost;    // the connection to the database is: only closing is left
    bool refused; // a statement that was on its way was, when the transaction was to be committed
    bool is_short;  // of space: see reserve.h
    bool gave_way;  // the reserve was given back just now
    int64_t look_for_space_at;  // by the monotonic clock
    struct bell *bell;    // of this process; NULL: none
    const char *ringer;   // what other processes hear who rings; empty: nobody in particular
    struct names *names;  // interned names this connection has seen; see names.h
    struct key_index *key_index;  // filters over idempotency keys; see key_index.h
    struct counts *counts;  // what the transaction changes about them; see counts.h
    bool hurries;         // what is sent need not be waited for
    bool has_company;     // others wrote between the last two transactions
    bool ahead;           // a write transaction has begun, and is nobody's yet: db_begin_ahead
    struct rows look;     // what a write asks first
    struct rows appended, newest;  // what a transaction asks last: see tx_wrap_up
    struct later *later;  // rows that are inserted together; see later.h
    char *files;          // see db_files
    const struct observers *observers;   // NULL: none; see observe.h
    struct observations *observations;  // of the current transaction
    const struct faults *faults;        // NULL: none
};

bool sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err);
bool postgres_open(struct db **db, const struct db_options *options, struct pawl_error *err);
bool migrate(struct db *db, bool read_only, struct pawl_error *err);

// Refuses a store that a newer program has migrated while this one had it open.
bool schema_still_known(struct tx *tx, struct pawl_error *err);
