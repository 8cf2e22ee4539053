// Loans: the application's own rows in a transaction of Pawl's (pawl_begin, a handler's commit).
//
// A loan has a connection of its own, so the borrower takes the store's write lock, works and
// commits on its own thread, and nothing is handed between threads. It is bounded: when its time
// is over a watchdog rolls it back, gives the lock to the next, and leaves the borrower a
// connection that only reads. A handler's commit works on the pipeline's connection instead, inside
// the transaction that marks its job COMMITTED.
//
// What both threads touch, the loan and its connection, is guarded by db_hold: the mutex that
// SQLite itself takes in each of its calls, so the application's own calls are in the same order.
#pragma once

#include <pthread.h>

#include "store/db.h"

struct pawl_run;

struct pawl_tx {
    struct pawl *pawl;   // of a loan that is over: may be closed
    struct loans *loans;
    struct tx *tx;       // `own`, or the pipeline's in a handler's commit
    int64_t allowed_us;
    int64_t until;       // monotonic

    // Guarded by db_hold.
    bool over;                 // ended, or taken back
    struct pawl_error spoilt;  // half of an operation of Pawl's is in the transaction

    // Of a loan with a connection of its own; else empty.
    struct db *db;
    struct tx own;
    struct arena arena;

    // Guarded by the mutex of the loans.
    pthread_t thread;
    bool has_turn;  // no other loan of this process may begin
    bool noticed;   // that its time was over
    struct pawl_tx *next;
};

CHECKED bool loans_open(struct loans **loans, struct pawl *pawl, struct pawl_error *err);

// After the pipeline, whose last commits may lend. Takes back what is lent; a borrower may, and
// must, still end its transaction, and is told that the loan is over. NULL is fine.
void loans_close(struct loans *loans);

// PAWL_USAGE when this thread has a transaction on the store: waiting for the writer would be
// waiting for itself.
CHECKED bool loan_none_here(struct pawl *pawl, struct pawl_error *err);

// The application's part of a commit, inside `tx`: calls the handler's `commit`. What it wrote is
// taken back when it answers false, comes late or leaves something behind; the error is then a
// refusal, the run says why it failed, and `tx` can go on. With any other error `tx` is spoilt.
CHECKED bool loan_within(struct pawl *pawl, struct tx *tx, struct pawl_run *run,
                         struct pawl_error *err);

// ----- between loan.c and loans.c

// Waits for the turn among this process's borrowers, and gives the loan a connection.
CHECKED bool loans_borrow(struct pawl_tx *loan, struct pawl_error *err);

// From here on the loan is known by its thread and, if it has a connection, watched.
CHECKED bool loans_enlist(struct pawl_tx *loan, struct pawl_error *err);

// Forgets the loan: the next one has its turn, and its connection or a new one.
void loans_dismiss(struct pawl_tx *loan, bool keep);

// With db_hold: rolls back, unless the loan is over already. True when it did.
bool loan_take_back(struct pawl_tx *loan);
