// What a committed transaction did, told to the process that committed it.
//
// Operations note what they do in the transaction's memory. After the commit whoever observes is
// told once, on the thread that committed: metrics count, and those who wait for a job or for work
// wake up. What is taken back, alone or with its transaction, is never told; other processes'
// commits are not either (the bell tells of those). Nobody observes: one branch per event.
#pragma once

#include "base/id.h"
#include "model/alert.h"
#include "model/failure.h"
#include "model/limit.h"
#include "model/state.h"
#include "store/db.h"

enum {
    OBSERVERS_MAX = 4,
    OBSERVED_READY_MAX = 32,       // kinds of claimable jobs told of one transaction
    OBSERVED_EVENTS_MAX = 1 << 15  // events told of one transaction: about 5 MB
};

// One audit event.
struct observation {
    int event;                 // enum event of engine/event.h
    enum job_state state;      // the job's, after it; JOB_STATES: the one it had
    int64_t org, type, queue;  // the store's own numbers; `queue` is where the job was put, and
                               // never q:deadletter
    struct str org_id, job_type, queue_name;
    struct id job;
    int64_t attempt;           // 0: it never ran
    int64_t attempts;          // that counted so far: a released one does not
    pawl_time started_at;      // of the execution it is about; 0: of none, or it had not started
    enum end_reason end_reason;
    enum error_class error_class;
    enum alert_kind alert;     // what of it must be told to somebody, and then of the job ...
    struct str project_id, request_id, correlation_id;
};

// Jobs that a claim may take now.
struct observed_ready {
    int64_t org, type, queue;
    struct str org_id, job_type, queue_name;
};

struct observed {
    pawl_time at;                 // the transaction's `now`
    const struct observation *events;
    size_t count;
    const struct observed_ready *ready;
    size_t ready_count;
    bool ready_many;              // there are more kinds of ready jobs than these
    bool incomplete;              // more may have happened than is told: whoever waits must look
    bool limit_free;              // what a limit kept from being claimed may be claimable now
    size_t limited[LIMIT_SCOPES][LIMIT_WAYS];  // claims that a limit kept from taking a job
    size_t operations;            // the commit pipeline's, in this transaction; 0: another commit
    int64_t commit_us;            // how long the commit took; -1: its outcome is unknown
};

// Must be short, must not use the store and may be called from two threads at once: a program's own
// transactions (pawl_begin) commit on its threads. Everything told lives during the call.
typedef void (*observer)(void *self, const struct observed *observed);

// Who observes. It outlives the connections that have it in their options.
struct observers {
    struct {
        observer tell;
        void *self;
    } all[OBSERVERS_MAX];
    _Atomic size_t count;
};

// From one thread at a time. It is told of transactions that begin later, as long as connections
// are open: `self` must outlive them.
void observers_add(struct observers *observers, observer tell, void *self);

// ----- for operations; they are nothing when nobody observes

// Of a transaction that is observed. Texts are filled in before it is told.
void observe_event(struct tx *tx, const struct observation *observation);
// Says that jobs of this kind became claimable: rings when the transaction commits, and is told.
void observe_ready(struct tx *tx, int64_t org, int64_t type, int64_t queue);

// Says that a limit has room again, or is another: whoever waits for work must look.
void observe_limit_free(struct tx *tx);
// Says that a limit kept a claim from taking a job.
void observe_limited(struct tx *tx, enum limit_scope scope, enum limit_way way);

// ----- for the port

struct observations *observations_new(void);  // NULL: no memory
void observations_free(struct observations *observations);

void observe_begin(struct tx *tx, const struct observers *observers);
void observe_mark(struct tx *tx);
void observe_keep(struct tx *tx);
void observe_take_back(struct tx *tx);
void observe_settle(struct tx *tx);  // before the commit: reads the names
void observe_tell(struct tx *tx, int64_t commit_us);
void observe_doubt(struct tx *tx);   // the outcome of the commit is unknown
