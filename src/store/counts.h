// How many jobs are in which place of which queue, for each org: exact, and never by counting rows.
// With them goes how many came and ended of late (store/flows.h).
//
// An operation says what it changed with tx_count. The transaction gathers that in memory and
// appends one row with all of it before it commits, so that a thousand jobs, of a thousand orgs
// even, cost one small insert, and writers on PostgreSQL do not queue for one counter. Whoever
// appends the 64th row folds them all into `queue_counts`: a reader never has more than these to
// add up, whether or not a sweep runs. The row is part of the transaction: a rollback, a part that
// is taken back and a kill -9 leave the numbers right.
#pragma once

#include "store/flows.h"

enum queue_place {
    PLACE_READY,
    PLACE_DELAYED,
    PLACE_BLOCKED,
    PLACE_HELD,
    PLACE_BACKOFF,
    PLACE_RUNNING,
    PLACES
};

const char *queue_place_name(enum queue_place place);

struct counts;
struct counts *counts_new(void);  // NULL: no memory
void counts_free(struct counts *counts);  // NULL is fine

// So many more jobs of the org are in this place of the queue, or fewer. Without memory the
// transaction cannot commit.
void tx_count(struct tx *tx, int64_t org, int64_t queue, enum queue_place place, int64_t change);

// One more job came into the queue, or ended in it.
void tx_flow(struct tx *tx, int64_t org, int64_t queue, enum queue_flow flow);

// Writes down what was gathered: before the commit, and before a part that may be taken back.
CHECKED bool counts_settle(struct tx *tx, struct pawl_error *err);

// The same in steps, so that nobody waits in between: appends the row, reads its number, and adds
// all rows up if it is the one after which that is due, now or in a later transaction.
CHECKED bool counts_append(struct tx *tx, struct rows *appended, struct pawl_error *err);
CHECKED bool counts_appended(struct tx *tx, struct rows *appended, struct pawl_error *err);
CHECKED bool counts_fold_due(struct tx *tx, struct pawl_error *err);
void counts_drop(struct counts *counts);  // the transaction is over, or its last part is taken back

struct queue_count {
    int64_t queue;
    int64_t at[PLACES];
    int64_t a_minute[FLOWS];  // in the last one
};

// The numbers of an org, or of all together (org 0), by queue: of each it ever used, also when
// nothing is in it now. What this transaction changed is among them.
CHECKED bool counts_of_org(struct tx *tx, int64_t org, struct queue_count **counts, size_t *count,
                           struct pawl_error *err);

// How many jobs of all orgs wait in a queue, in whatever place. Cheap to ask again and again.
CHECKED bool count_waiting(struct tx *tx, int64_t queue, int64_t *waiting, struct pawl_error *err);
