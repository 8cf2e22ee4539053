// The sweep: what time does to jobs. And the boot: what a process owes to the one before it.
//
// Both are bounded: they take at most `limit` rows of each kind in one transaction and say whether
// there is more, so that they never hold the write lock for long.
#pragma once

#include "engine/execution.h"

struct swept {
    size_t expired;    // leases that ran out
    size_t timed_out;  // runs past their deadline
    size_t finished;   // committed, and now done or free to be finished
    size_t due;        // retries and delayed jobs whose time has come
    size_t gave_up;    // waited longer than their max_wait
    size_t keys;       // records of idempotency keys whose time is over, removed
    size_t posted;     // enqueued in SQL, taken in
    size_t damaged;    // left as they are, because their records contradict each other: see verify
    bool more;         // the limit was reached: sweep again
    pawl_time next;    // when there will be something to sweep or to finish; 0: nothing is known
};

// Without a caller it acts in the name of Pawl itself.
CHECKED bool sweep(struct tx *tx, size_t limit, struct swept *swept, struct pawl_error *err);

// ----- boot

#define ALIVE_US SECONDS(15)

struct instance {
    struct str name;     // stable across restarts
    struct str boot_id;  // random at each start
};

// Takes the instance for this boot. Who holds its name (hold.h) knows that another process which
// held it is dead. Of any other only the row tells: PAWL_CONFLICT until its time is over.
CHECKED bool instance_enter(struct tx *tx, const struct instance *instance, bool held,
                            struct pawl_error *err);
CHECKED bool instance_alive(struct tx *tx, const struct instance *instance,
                            struct pawl_error *err);
CHECKED bool instance_leave(struct tx *tx, const struct instance *instance,
                            struct pawl_error *err);

struct recovered {
    size_t ended;     // runs of an earlier boot, given their verdict
    size_t finished;  // committed runs of an earlier boot, finished
    size_t slots;     // rows of slots that an earlier boot left open, closed (SLOT-6)
    size_t damaged;   // left to the operator: see verify
    bool more;
};

// Ends the runs of earlier boots of this instance with PROCESS_TERMINATED and their policy's
// `on_crash` (RUN-5). Runs of other and unknown instances wait for their leases. PAWL_FENCED when
// another boot has entered the instance meanwhile: its runs live.
CHECKED bool boot_recover(struct tx *tx, const struct instance *instance, size_t limit,
                          struct recovered *recovered, struct pawl_error *err);
