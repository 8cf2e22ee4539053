// An execution: one attempt to run a job, held by one worker until its lease expires.
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "model/failure.h"
#include "model/state.h"
#include "model/verdict.h"

enum { ERROR_MESSAGE_BYTES_MAX = 4096, ERROR_DETAIL_BYTES_MAX = 65536, PROGRESS_BYTES_MAX = 512 };

struct execution {
    struct id id;
    struct id job;
    int64_t attempt;
    enum execution_status status;
    struct str lease_owner;
    int64_t lease_us;             // how far a heartbeat extends the lease
    pawl_time lease_expires_at;   // never past deadline_at: a lease does not outlive its run
    pawl_time leased_at;
    pawl_time started_at;         // 0: not started
    pawl_time deadline_at;        // 0: not started
    pawl_time committed_at;       // 0: not committed
    pawl_time finished_at;        // 0: live
    pawl_time cancel_requested_at;
    enum end_reason end_reason;
    enum error_class error_class;
    struct str error_message;
    struct str error_detail;
    int64_t progress_percent;     // -1: none reported
    struct str progress_message;
    struct tally tally;           // the job's history when this attempt was leased, itself counted
    bool finish;                  // a commit phase follows COMMITTED
    int64_t finish_failures;      // failed tries of that phase
    pawl_time finish_at;          // nobody holds it: may be leased for finishing from then on; or 0
    struct str serial_key;
    // The store's own keys.
    int64_t org, worker, policy, type, queue;
};

// Moves the execution by the table of states (EXEC-2). Its callers have looked at the status and
// refused what is not allowed, with a reason of their own: another move is our own bug.
void execution_move(struct execution *execution, enum execution_status to);

// The job's history once an execution has ended: a released one does not count, a crash lengthens
// the row of crashes, and `retried` says that another attempt follows.
struct tally tally_after(const struct tally *tally, enum end_reason reason,
                         enum error_class class, bool retried);

// Of an execution whose lease is over: whether it had its whole time. A lease ends with the run's
// deadline at the latest. One that ended there was renewed to the last: the run took too long. One
// that ended before was not renewed: its worker is gone.
bool execution_took_too_long(const struct execution *execution);

// What must hold in the execution's status: NULL, or what does not.
const char *execution_problem(const struct execution *execution);

// The fields of the execution object of the interface, into an object that is open.
void execution_put(struct buf *out, const struct execution *execution);
// The whole object as a value, for who looks into it. The caller owns it; NULL: no memory.
json_t *execution_json(struct arena *arena, const struct execution *execution);
