// The application's part of a commit: the handler's `commit`, inside the transaction that marks its
// job COMMITTED, on the pipeline's connection.
//
// A savepoint isolates it from its neighbours in the transaction. A statement that ends the
// transaction itself (`INSERT OR ROLLBACK`, a write that had to be stopped) takes the neighbours
// with it, so they are run once more without it: the handler is not called a second time, its
// attempt has failed.
#include "run/loan.h"

#include "run/handle.h"
#include "run/run.h"
#include "store/guest.h"

// The transaction is gone with all that was in it.
static bool spoil(struct pawl_run *run, const struct pawl_error *why, struct pawl_error *err)
{
    run->commit_spoilt = str_format(&run->arena, "%s", why->message);
    return fail(err, why->code, "%s", why->message);
}

static bool refuse(struct pawl_run *run, enum error_class class, const char *why,
                   struct pawl_error *err)
{
    run_failed(run, class, "%s", why);
    return fail(err, PAWL_CONFLICT, "%s", why);
}

static bool settle(struct pawl_tx *loan, struct pawl_run *run, bool answer, struct pawl_error *err)
{
    struct pawl_error why = {0};
    bool fine = guest_leave(loan->tx, &why);
    if (why.code == PAWL_STORE)
        return spoil(run, &why, err);
    if (loan->spoilt.code != PAWL_OK)  // the store failed, not the handler: let it be tried again
        return fail(err, loan->spoilt.code, "%s", loan->spoilt.message);
    if (fine && answer)
        return tx_keep(loan->tx, err);
    if (!tx_take_back(loan->tx, err))
        return false;
    if (!fine)
        return refuse(run, why.code == PAWL_FENCED ? ERROR_TIMEOUT : ERROR_TRANSIENT, why.message,
                      err);
    return refuse(run, ERROR_TRANSIENT, "the handler's commit did not say why it failed", err);
}

bool loan_within(struct pawl *pawl, struct tx *tx, struct pawl_run *run, struct pawl_error *err)
{
    struct pawl_tx loan = {
        .pawl = pawl,
        .loans = pawl->loans,
        .tx = tx,
        .allowed_us = pawl->options.commit_us,
    };
    if (run->commit_spoilt.n)
        return refuse(run, ERROR_TRANSIENT, run->commit_spoilt.s, err);
    if (!tx_mark(tx, err) || !loans_enlist(&loan, err))
        return false;
    loan.until = guest_enter(tx, loan.allowed_us);
    run->in_commit = true;
    bool answer = run->handler->commit(run, &loan, run->handler->context) && !run->failed;
    run->in_commit = false;
    loans_dismiss(&loan, false);
    return settle(&loan, run, answer, err);
}
