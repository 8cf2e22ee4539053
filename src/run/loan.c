// What a borrower can do: its own SQL, jobs of Pawl's, and the end.
//
// Every call looks first whether the loan's time is over, so that it also ends where no watchdog
// watches: in virtual time, and in a handler's commit.
#include "run/loan.h"

#include <stdlib.h>

#include "engine/job.h"
#include "run/handle.h"
#include "run/request.h"
#include "store/guest.h"

// ----- alive or over

bool loan_take_back(struct pawl_tx *loan)
{
    if (loan->over)
        return false;
    loan->over = true;
    guest_evict(&loan->own);
    return true;
}

// With db_hold.
static bool alive(struct pawl_tx *loan, struct pawl_error *err)
{
    bool late = !loan->over && world_monotonic(loan->pawl->world) >= loan->until;
    if (late && loan->db)
        loan_take_back(loan);
    return (!late && !loan->over)
        || fail(err, PAWL_FENCED, "the loan of %lld ms is over: nothing was stored",
                (long long)(loan->allowed_us / 1000));
}

// An operation that the store failed half-way must not be committed, whoever overlooks its error.
static bool unspoilt(const struct pawl_tx *loan, struct pawl_error *err)
{
    return loan->spoilt.code == PAWL_OK
        || fail(err, loan->spoilt.code, "an operation in this transaction has failed: %s",
                loan->spoilt.message);
}

// ----- begin and end

static bool begin(struct pawl_tx *loan, struct pawl_error *err)
{
    struct pawl *pawl = loan->pawl;
    if (!loans_borrow(loan, err)
        || !tx_begin(loan->db, TX_WRITE, &loan->arena, &loan->own, err))
        return false;
    loan->tx = &loan->own;
    loan->own.caller = &pawl->caller;
    loan->allowed_us = pawl->options.loan_us;
    loan->until = guest_enter(loan->tx, loan->allowed_us);
    return loans_enlist(loan, err);
}

static void discard(struct pawl_tx *loan)
{
    tx_end(&loan->own);
    loans_dismiss(loan, false);
    arena_end(&loan->arena);
    free(loan);
}

bool pawl_begin(struct pawl *pawl, struct pawl_tx **tx, struct pawl_error *err)
{
    if (!tx)
        return fail(err, PAWL_USAGE, "there is no place for the transaction: it is NULL");
    *tx = NULL;
    if (!handle_usable(pawl, err) || !loan_none_here(pawl, err))
        return false;
    struct pawl_tx *loan = calloc(1, sizeof *loan);
    if (!loan)
        return fail(err, PAWL_NO_MEMORY, "no memory for a transaction");
    loan->pawl = pawl;
    loan->loans = pawl->loans;
    if (!begin(loan, err)) {
        discard(loan);
        return false;
    }
    *tx = loan;
    return true;
}

static bool commit(struct pawl_tx *loan, bool *keep, struct pawl_error *err)
{
    *keep = alive(loan, err) && unspoilt(loan, err) && guest_leave(&loan->own, err);
    if (!*keep) {
        loan_take_back(loan);
        return false;
    }
    loan->over = true;
    struct pawl_error why = {0};
    bool done = tx_commit(&loan->own, &why);
    tx_end(&loan->own);
    *keep = why.code != PAWL_IN_DOUBT;
    return done || fail(err, why.code, "%s", why.message);
}

static void end(struct pawl_tx *loan, bool keep)
{
    loans_dismiss(loan, keep);
    arena_end(&loan->arena);
    free(loan);
}

static bool has_an_end(const struct pawl_tx *loan, struct pawl_error *err)
{
    return (loan && loan->db)
        || fail(err, PAWL_USAGE, "there is no transaction to end: that of a handler's commit ends "
                                 "with it");
}

bool pawl_commit(struct pawl_tx *loan, struct pawl_error *err)
{
    if (!has_an_end(loan, err))
        return false;
    bool keep = false;
    db_hold(loan->db);
    bool done = commit(loan, &keep, err);
    db_release(loan->db);
    end(loan, keep);
    return done;
}

void pawl_rollback(struct pawl_tx *loan)
{
    if (!has_an_end(loan, NULL))
        return;
    db_hold(loan->db);
    bool keep = !loan->over && guest_leave(&loan->own, NULL);
    if (!keep)
        loan_take_back(loan);
    loan->over = true;
    tx_end(&loan->own);
    db_release(loan->db);
    end(loan, keep);
}

// ----- in between

bool pawl_tx_execute(struct pawl_tx *loan, const char *sql, struct pawl_error *err)
{
    if (!loan || !sql)
        return fail(err, PAWL_USAGE, "pawl_tx_execute needs a transaction and a statement");
    db_hold(loan->tx->db);
    bool done = alive(loan, err) && guest_execute(loan->tx, sql, err);
    db_release(loan->tx->db);
    return done;
}

static bool store_job(struct pawl_tx *loan, const struct contract *contract, struct job *job,
                      bool *deduplicated, struct pawl_error *err)
{
    struct tx *tx = loan->tx;
    const struct caller *before = tx->caller;
    struct caller caller = {
        .org_id = contract->org_id,
        .actor_type = contract->actor_type,
        .actor_id = contract->actor_id,
        .request_id = contract->request_id,
        .correlation_id = contract->correlation_id,
    };
    guest_pause(tx);
    tx->caller = &caller;
    bool done = job_enqueue(tx, contract, job, deduplicated, err)
             && tx_settle(tx, err);  // the guest may look at it next
    tx->caller = before;
    guest_resume(tx);
    return done;
}

// With db_hold.
static bool enqueue(struct pawl_tx *loan, const struct pawl_job *job, struct pawl_ticket *ticket,
                    struct pawl_error *err)
{
    struct problems problems = { .arena = loan->tx->arena };
    struct contract contract;
    struct job stored;
    struct pawl_ticket unseen;
    struct pawl_ticket *answer = ticket ? ticket : &unseen;
    if (!alive(loan, err) || !unspoilt(loan, err))
        return false;
    if (!request_contract(loan->pawl, job, "", &contract, &problems))
        return problems_none(&problems, err);
    if (store_job(loan, &contract, &stored, &answer->deduplicated, err)) {
        id_format(stored.id, answer->job_id);
        return true;
    }
    if (!pawl_code(err->code)->refusal)
        loan->spoilt = *err;
    return false;
}

bool pawl_tx_enqueue(struct pawl_tx *loan, const struct pawl_job *job, struct pawl_ticket *ticket,
                     struct pawl_error *err)
{
    struct pawl_error unseen = {0};
    if (!loan || !job)
        return fail(err, PAWL_USAGE, "pawl_tx_enqueue needs a transaction and a job");
    db_hold(loan->tx->db);
    bool done = enqueue(loan, job, ticket, err ? err : &unseen);
    db_release(loan->tx->db);
    return done;
}

struct sqlite3 *pawl_tx_sqlite(struct pawl_tx *loan)
{
    return loan ? guest_connection(loan->tx->db) : NULL;
}

bool pawl_tx_owns(const char *table)
{
    return schema_owns(table);
}
