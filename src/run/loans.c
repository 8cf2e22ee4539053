// Whose turn it is, the connection that is lent, and the watchdog that takes back what is overdue.
//
// The store has one writer at a time, so within a process borrowers wait here for their turn, and
// one connection does for all who end in time. The watchdog begins with the first loan. It picks a
// loan under the mutex and takes it back without it, since that waits for the borrower's current
// call; meanwhile `recalling` keeps the borrower from freeing what is looked at. The loans outlive
// the handle until the last borrower has ended.
#include "run/loan.h"

#include <errno.h>
#include <stdlib.h>

#include "run/handle.h"
#include "store/guest.h"

#define TURN_US_MAX SECONDS(10)  // as long as one process waits for another

struct loans {
    struct pawl *pawl;

    pthread_mutex_t mutex;  // guards all that follows
    pthread_cond_t news;    // another loan, one looked at, or closing
    pthread_cond_t turn;    // nobody has it any more
    bool taken;             // somebody has the turn
    struct pawl_tx *outstanding;
    struct pawl_tx *recalling;  // being looked at: must not be freed
    struct db *idle;            // waits for the next loan; NULL: none does
    int64_t wakes_at;           // the watchdog, unless it is told; 0: it is awake
    bool watched, closing;
    bool closed;  // the handle is gone: the last borrower frees this
    pthread_t watchdog;
};

static _Thread_local int loans_of_thread;  // in all stores

// ----- turns

static bool wait_until(struct loans *loans, pthread_cond_t *for_what, int64_t monotonic)
{
    struct timespec end = { monotonic / SECONDS(1), (long)(monotonic % SECONDS(1)) * 1000 };
    return pthread_cond_timedwait(for_what, &loans->mutex, &end) != ETIMEDOUT;
}

static bool take_turn(struct pawl_tx *loan, struct pawl_error *err)
{
    struct loans *loans = loan->loans;
    int64_t end = world_monotonic(world_real()) + TURN_US_MAX;
    pthread_mutex_lock(&loans->mutex);
    while (loans->taken && wait_until(loans, &loans->turn, end)) {}
    loan->has_turn = !loans->taken;
    loans->taken = true;
    if (loan->has_turn) {
        loan->db = loans->idle;
        loans->idle = NULL;
    }
    pthread_mutex_unlock(&loans->mutex);
    return loan->has_turn
        || fail(err, PAWL_BUSY, "other threads have had the store for %lld ms: try again",
                (long long)(TURN_US_MAX / 1000));
}

// With the mutex held.
static void give_turn(struct loans *loans, struct pawl_tx *loan)
{
    if (!loan->has_turn)
        return;
    loan->has_turn = loans->taken = false;
    pthread_cond_signal(&loans->turn);
}

// Loans checkpoint after their commits: a program may write by no other way.
bool loans_borrow(struct pawl_tx *loan, struct pawl_error *err)
{
    struct db_options options = {
        .url = str_of(loan->pawl->options.store),
        .world = loan->pawl->world,
        .busy_us = loan->pawl->options.busy_us,
        .must_exist = true,
        .shared = true,
        .observers = &loan->pawl->observers,
        .faults = handle_faults(loan->pawl),
    };
    return take_turn(loan, err) && (loan->db || db_open(&loan->db, &options, err));
}

// ----- the watchdog

static bool is_watched(const struct pawl_tx *loan)
{
    return loan->db && !loan->noticed;
}

static struct pawl_tx *next_due(struct loans *loans)
{
    struct pawl_tx *next = NULL;
    for (struct pawl_tx *loan = loans->outstanding; loan; loan = loan->next)
        if (is_watched(loan) && (!next || loan->until < next->until))
            next = loan;
    return next;
}

static void tell_over(struct pawl *pawl, const struct pawl_tx *loan)
{
    journal_write(&pawl->journal, LOAN_OVER, &(struct journal_subject){0},
                  "a transaction that was lent for %lld ms was not ended: it is taken back",
                  (long long)(loan->allowed_us / 1000));
}

// With the mutex held; gives it up in between.
static void recall(struct loans *loans, struct pawl_tx *loan)
{
    loan->noticed = true;
    loans->recalling = loan;
    pthread_mutex_unlock(&loans->mutex);
    db_hold(loan->db);
    bool taken = loan_take_back(loan);
    db_release(loan->db);
    if (taken)
        tell_over(loans->pawl, loan);
    pthread_mutex_lock(&loans->mutex);
    loans->recalling = NULL;
    give_turn(loans, loan);
    pthread_cond_broadcast(&loans->news);
}

static void sleep_until(struct loans *loans, int64_t monotonic)
{
    loans->wakes_at = monotonic;
    if (monotonic == INT64_MAX)
        pthread_cond_wait(&loans->news, &loans->mutex);
    else
        (void)wait_until(loans, &loans->news, monotonic);  // in any case it looks again
    loans->wakes_at = 0;
}

static void *watch(void *self)
{
    struct loans *loans = self;
    pthread_mutex_lock(&loans->mutex);
    while (!loans->closing) {
        struct pawl_tx *loan = next_due(loans);
        if (loan && world_monotonic(loans->pawl->world) >= loan->until)
            recall(loans, loan);
        else
            sleep_until(loans, loan ? loan->until : INT64_MAX);
    }
    pthread_mutex_unlock(&loans->mutex);
    return NULL;
}

// With the mutex held. In virtual time there are no threads: a loan that is over notices it itself.
static bool begin_to_watch(struct loans *loans)
{
    if (!loans->watched && !loans->pawl->options.virtual_time)
        loans->watched = pthread_create(&loans->watchdog, NULL, watch, loans) == 0;
    return loans->watched || loans->pawl->options.virtual_time;
}

// ----- borrowers

bool loans_enlist(struct pawl_tx *loan, struct pawl_error *err)
{
    struct loans *loans = loan->loans;
    pthread_mutex_lock(&loans->mutex);
    bool watched = !loan->db || begin_to_watch(loans);
    if (watched) {
        loan->thread = pthread_self();
        loan->next = loans->outstanding;
        loans->outstanding = loan;
        loans_of_thread++;
        if (is_watched(loan) && loan->until < loans->wakes_at)
            pthread_cond_broadcast(&loans->news);
    }
    pthread_mutex_unlock(&loans->mutex);
    return watched || fail(err, PAWL_NO_MEMORY, "no thread to watch over a loan with");
}

static void unlink_loan(struct loans *loans, const struct pawl_tx *loan)
{
    for (struct pawl_tx **at = &loans->outstanding; *at; at = &(*at)->next)
        if (*at == loan) {
            *at = loan->next;
            loans_of_thread--;
            return;
        }
}

static void free_loans(struct loans *loans)
{
    pthread_cond_destroy(&loans->news);
    pthread_cond_destroy(&loans->turn);
    pthread_mutex_destroy(&loans->mutex);
    free(loans);
}

void loans_dismiss(struct pawl_tx *loan, bool keep)
{
    struct loans *loans = loan->loans;
    pthread_mutex_lock(&loans->mutex);
    while (loans->recalling == loan)
        pthread_cond_wait(&loans->news, &loans->mutex);
    unlink_loan(loans, loan);
    give_turn(loans, loan);
    if (keep && !loans->closing && !loans->idle) {
        loans->idle = loan->db;
        loan->db = NULL;
    }
    bool last = loans->closed && !loans->outstanding;
    pthread_mutex_unlock(&loans->mutex);
    db_close(loan->db);
    loan->db = NULL;
    if (last)
        free_loans(loans);
}

bool loan_none_here(struct pawl *pawl, struct pawl_error *err)
{
    if (loans_of_thread == 0)
        return true;
    struct loans *loans = pawl->loans;
    bool here = false;
    pthread_mutex_lock(&loans->mutex);
    for (struct pawl_tx *loan = loans->outstanding; loan; loan = loan->next)
        here = here || pthread_equal(loan->thread, pthread_self());
    pthread_mutex_unlock(&loans->mutex);
    return !here
        || fail(err, PAWL_USAGE, "this thread has a transaction of the store: use it (pawl_tx_...) "
                                 "or end it first");
}

// ----- with the handle

bool loans_open(struct loans **loans, struct pawl *pawl, struct pawl_error *err)
{
    struct loans *l = *loans = calloc(1, sizeof *l);
    if (!l)
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);  // which is world_monotonic's
    pthread_cond_init(&l->news, &attributes);
    pthread_cond_init(&l->turn, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&l->mutex, NULL);
    l->pawl = pawl;
    return true;
}

static void stop_watching(struct loans *loans)
{
    pthread_mutex_lock(&loans->mutex);
    loans->closing = true;
    pthread_cond_broadcast(&loans->news);
    pthread_mutex_unlock(&loans->mutex);
    if (loans->watched)
        pthread_join(loans->watchdog, NULL);
}

void loans_close(struct loans *loans)
{
    if (!loans)
        return;
    stop_watching(loans);
    pthread_mutex_lock(&loans->mutex);
    for (struct pawl_tx *loan; (loan = next_due(loans));)
        recall(loans, loan);
    loans->closed = true;
    bool last = !loans->outstanding;
    struct db *idle = loans->idle;
    pthread_mutex_unlock(&loans->mutex);
    db_close(idle);
    if (last)
        free_loans(loans);
}
