// A job as the rest of the program sees it: its contract, where it is, and what became of it.
//
// The state is not stored. It follows from where the job is and what is on record about it, by
// job_phase_of, so it cannot disagree with the records (EXEC-8).
#pragma once

#include "model/contract.h"
#include "model/failure.h"
#include "model/state.h"

// The durable records a job's state follows from.
struct job_facts {
    bool ready;                          // a row in `ready`
    bool parked;                         // a row in `parked` ...
    enum job_phase parked_as;            // ... held, delayed, blocked or backoff
    bool has_execution;
    enum execution_status newest;        // the status of the newest execution
    bool committed;                      // the outcome's commit
    bool ended;                          // the outcome's end ...
    enum job_state outcome;              // ... and how
};

// The one place the job is in. False, with `problem` saying what is wrong, when the records
// contradict each other: in no place, in two, or in one its history does not allow.
bool job_phase_of(const struct job_facts *facts, enum job_phase *phase, const char **problem);

struct job {
    struct id id;
    struct contract contract;
    pawl_time created_at;
    pawl_time updated_at;
    enum job_phase phase;
    enum job_state state;
    struct str queue;             // where it is now: changed, or q:deadletter
    struct str dead_in;           // where a dead letter was when it ended; empty: it is none
    int64_t priority;
    pawl_time run_at;             // when it is or was due
    int64_t attempt;              // executions so far
    int64_t attempts_used;
    int64_t retry_count;
    pawl_time started_at;         // first start; 0: never
    pawl_time completed_at;       // 0: not ended
    struct str last_error;
    enum error_class error_class;
    enum failure_type failure_type;
    pawl_time cancel_requested_at;
    int64_t progress_percent;     // -1: none reported
    struct str progress_message;
    struct str result;            // JSON; empty: none
    struct str dead_letter;       // open, replayed, fixed, discarded; empty: not a dead letter
    int64_t waits_for;            // jobs that must succeed first and have not
    struct str after;             // those, and the ones that have: JSON; empty: none
    struct id batch;              // that it is in; {0}: none
    struct {
        int64_t org, type, queue, policy;
    } keys;                       // the store's own keys
};

// Moves the job by the table of states, or refuses and says what is allowed (JOB-1). `why` is
// FAILURE_NONE unless the job ends badly.
CHECKED bool job_move(struct job *job, enum job_state to, enum failure_type why,
                      struct pawl_error *err);

// The same by who has looked at the job and knows that it may: another move is our own bug.
void job_must_move(struct job *job, enum job_state to, enum failure_type why);

// Puts a job that became a dead letter into q:deadletter; it keeps where it was (OPS-8).
void job_bury(struct job *job);

// What must hold in the job's state: NULL, or what does not. Called on every job read and written.
const char *job_problem(const struct job *job);

// The fields of the job object of the interface, into an object that is open.
void job_put(struct buf *out, const struct job *job);
// The whole object; empty when there is no memory.
struct str job_text(struct arena *arena, const struct job *job);
// The same as a value, for who looks into it. The caller owns it; NULL: no memory.
json_t *job_json(struct arena *arena, const struct job *job);
