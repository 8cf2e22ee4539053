// One execution of a job in this process: from the moment a worker takes it until its end is on
// disk.
//
// The worker's thread owns it while the handler runs, the pipeline while its end is written. What
// other threads may look at meanwhile is atomic or guarded by the runner's mutex, and said so.
#pragma once

#include <stdatomic.h>

#include "base/list.h"
#include "engine/execution.h"
#include "run/journal.h"
#include "run/pipeline.h"

// What is written about a run when its handler has answered.
enum run_end {
    RUN_END_COMMIT,   // the effect; done with it, unless a commit phase follows
    RUN_END_DONE,     // the commit phase is done
    RUN_END_FAIL,
    RUN_END_RELEASE,
    RUN_END_NOTHING,  // the lease is over: somebody else has it by now
};

struct pawl_run {
    struct pawl *pawl;
    struct runner *runner;
    const struct pawl_handler *handler;
    struct arena arena;              // all texts of the run; emptied when it is used again
    struct journal_subject subject;  // job_id, job_type, ... as texts that end in NUL
    const char *exec_id, *payload, *traceparent, *key;
    struct contract contract;        // what follow-ups inherit: org, project, correlation
    struct lease lease;
    struct execution execution;      // as the claim answered it; IN_PROGRESS: the claim started it
    int64_t timeout_us, lease_us, step_attempts;
    pawl_time leased_at;             // by the store's clock
    bool finishing;                  // only the commit phase is left; written under the mutex
    bool started;                    // IN_PROGRESS in the store
    bool has_inputs;                 // its payload may name artifacts: see run_inputs
    int64_t began;                   // monotonic, when the handler began

    // What the handler said.
    struct str result;
    bool failed;
    enum error_class class;
    struct str message;
    int64_t retry_after_us;
    struct list follow_ups;   // of struct contract
    struct list annotations;  // of struct str
    struct list artifacts;    // of struct id
    int64_t rows;             // -1: it did not say
    bool in_step;
    bool in_commit;           // its commit is being called
    struct str step_result;

    struct str commit_spoilt;  // why its commit ended the transaction it was in: see loan_commit.c

    // What becomes of it.
    enum run_end end;
    bool committed;
    enum pawl_code ended_with;  // the store's answer
    struct operation operation;

    _Atomic int stop;         // enum pawl_stop, set by the runner, read by the handler
    _Atomic bool written_off; // its handler is not waited for any more: every call is refused

    // Guarded by the runner's mutex.
    bool has_stop_bell;
    int stop_bell;        // an eventfd of the handler's: see run_ring_on_stop
    struct pawl_run *next, *previous;
    int64_t counts_from;  // monotonic; when its time began to count
    int64_t deadline;     // monotonic; a handler that runs past it is told, then written off
    int64_t lease_until;  // monotonic; when the lease is over unless it is renewed
    bool ending;          // the handler has answered, the store has not
    bool awaits_verdict;  // it passed its deadline: the sweep ends it
    bool unwritten;       // the store failed when its end was to be written: tried again
    bool overdue;
    bool replaced;        // another thread took the place of the one its handler does not leave
    int64_t progress_next;  // monotonic; not before this is progress written again
    bool progress_waits;
    int64_t percent;
    char progress[PROGRESS_BYTES_MAX + 1];
};

// Fills a run from what was claimed. False when there is no memory; the lease then runs out.
CHECKED bool run_fill(struct pawl_run *run, const struct claimed *claimed,
                      const struct worker *worker);

// Says why the run fails, unless that was said before: the first reason is the reason.
void run_failed(struct pawl_run *run, enum error_class class, const char *format, ...)
    PRINTF(3, 4);

// For a handler that waits for descriptors: rings an eventfd of its own whenever the run is told to
// stop. One that was told before is not rung: ask pawl_stopped. -1 ends it, before it is closed.
void run_ring_on_stop(struct pawl_run *run, int eventfd);

// Whether the handler may say something now, which ends with prepare; else the run has failed.
bool run_may_say(struct pawl_run *run, const char *what);

// The inputs of the job's payload (model/input.h), each with its file, which was read and has its
// checksum. False: the run has failed.
struct run_input {
    struct id id;
    const char *path;
};
CHECKED bool run_inputs(struct pawl_run *run, struct run_input **inputs, size_t *count);

// As pawl_artifact, under another name and with a limit; 0: none.
struct run_file {
    const char *path, *name, *content_type;
    int64_t bytes_max;
};
CHECKED bool run_artifact(struct pawl_run *run, const struct run_file *file);

// Does everything a worker does with a run, on the calling thread, and hands its end over: the run
// is somebody else's then. True when the thread has to leave, see runner_ending.
CHECKED bool run_perform(struct pawl_run *run);

// Writes what the handler said last about its progress, if that waits to be written.
CHECKED bool progress_write_last(struct tx *tx, struct pawl_run *run, struct pawl_error *err);

// Whether the calling thread is inside a handler of this store.
bool run_here(const struct pawl *pawl);

// Hands the end over, or once more after the store had failed.
void run_submit_end(struct pawl_run *run);

// One operation in the name of the run, waiting for the answer. PAWL_FENCED when the run may not
// write any more: written off, or the store is being closed.
CHECKED bool run_do(struct pawl_run *run, struct operation *operation, struct pawl_error *err);

// The same without waiting, and refused when the pipeline is full. Until it is answered the
// operation is the pipeline's, and the run may end before that.
CHECKED bool run_submit(struct pawl_run *run, struct operation *operation,
                        struct pawl_error *err);
