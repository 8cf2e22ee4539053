// A request on its way to the engine and its answer on the way back.
#pragma once

#include "reference.h"

struct actor;
struct request;
struct sim;

enum { GIVEN_MAX = 4 };

// A lease that a claim gave.
struct given {
    struct lease lease;
    size_t job;  // of the model
    bool started, finish;
    int64_t lease_us;
    struct str org;  // in whose name it was claimed
};

// One row for each operation of the engine: does it on the store and on the model.
struct call {
    const char *name;
    void (*run)(struct sim *sim, struct request *request);
};

struct request {
    const struct call *call;
    struct actor *from;     // NULL: nobody waits for an answer
    uint64_t number;        // of the actor's: a duplicate has the same
    int process;
    struct str org;         // in whose name; empty: of Pawl itself
    // What is asked, as far as the call has it.
    struct contract contract;
    struct batch_request batch;
    struct id id;
    struct lease lease;
    struct claim claim;
    struct commit commit;
    struct work_error error;
    struct job_change change;
    struct str text;        // a queue, a step, a result, a reason
    size_t limit;
    bool flag;
    // The answer.
    enum pawl_code code;
    bool unavailable;       // the store failed: it has not happened
    struct id job;
    struct given given[GIVEN_MAX];
    size_t given_count;
    bool cancel_requested;
};

extern const struct call call_enqueue, call_batch, call_submit, call_cancel, call_change,
    call_retry, call_finish_end, call_replay, call_discard, call_pause, call_resume, call_purge,
    call_claim, call_start, call_heartbeat, call_step, call_commit, call_done, call_fail,
    call_release, call_sweep, call_boot, call_tick, call_trigger;

// The request is the actor's own: a copy travels. Lost, late or twice, as the seed says.
void request_send(struct sim *sim, const struct request *request);
void request_answer(struct sim *sim, struct request *request);
