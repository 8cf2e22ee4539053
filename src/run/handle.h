// What `struct pawl` is made of. The parts are opened by pawl.c and used by the files of this
// folder; nothing here is public.
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "model/trace.h"
#include "run/journal.h"
#include "run/pipeline.h"
#include "run/registry.h"
#include "store/bell.h"
#include "store/observe.h"

struct loans;
struct runner;

// What a test has asked for; see pawl_test_fault. All zero: nothing.
struct fault_plan {
    struct faults faults;  // passed to every connection that writes
    enum pawl_fault fault;
    int64_t commits;       // until then; 0: it has happened, or none was asked for
    enum pawl_fault due;   // of the commit at hand
    bool blind;            // the next look at what became of a commit fails
    bool dead;             // the process is: it writes nothing any more
};

struct pawl {
    _Atomic int users;            // see handle_keep
    pid_t process;                // that opened it: a forked child has none of the threads
    struct pawl_options options;  // defaults filled in; texts live in `arena`
    struct arena arena;           // lives as long as the handle
    struct virtual_world virtual_world;
    const struct world *world;
    struct caller caller;         // in whose name; each request gets its own request_id
    struct journal journal;
    struct registry registry;
    struct contract_rules rules;  // for jobs that came in SQL: the policies of the registry
    bool keeps_time;              // may start without handlers: sweeps, and claims nothing
    int64_t traces_per_million;   // see model/trace.h, or TRACE_OFF; set before anything runs
    _Atomic bool schedules;       // its runner takes part in scheduling
    // A newer program has migrated the store. Called once, by a thread of the runner's, which takes
    // no more jobs; must not wait for it. NULL: nobody is told. Set before anything runs.
    void (*outdated)(void *self);
    void *outdated_self;
    struct observers observers;   // of every commit of this handle
    struct pipeline *pipeline;    // the writer, whose commits ...
    char ringer[BELL_NAME_BYTES];  // ... ring under this name: its own runner knows of them

    pthread_mutex_t reading;      // guards the reader
    struct db *reader;            // NULL until it is needed

    pthread_mutex_t starting;     // one start, drain or stop at a time
    pthread_mutex_t looking;      // guards what follows; held for a moment only
    struct runner *runner;        // NULL until pawl_start, or until a test runs jobs by hand
    struct pawl_figures figures;  // of the last runner
    struct loans *loans;
    struct fault_plan fault_plan;
};

// Whether this process may use the handle. PAWL_USAGE when it is NULL, or was opened before a fork:
// a call would wait for threads that only the parent has.
CHECKED bool handle_usable(const struct pawl *pawl, struct pawl_error *err);

// Begins a transaction on the connection for looking. With `reading` held, until it has ended.
CHECKED bool handle_read(struct pawl *pawl, struct arena *arena, struct tx *tx,
                         struct pawl_error *err);

// Tells `tell` what each commit of this handle did, from the next transaction on and until the
// handle is closed: `self` must outlive it. See store/observe.h for what it may do. At most
// OBSERVERS_MAX, from one thread at a time.
void pawl_observe(struct pawl *pawl, observer tell, void *self);

// These handlers instead of those there are, also while the runner works: for jobs that are claimed
// from now on. What was claimed before goes on with the handler it was claimed for, so all that the
// earlier ones point to must outlive the handle too. On false nothing has changed.
CHECKED bool handle_replace(struct pawl *pawl, const struct pawl_handler *handlers, size_t count,
                            struct pawl_error *err);

// What the connections of a handle are to be opened with: NULL unless it is one of a test.
const struct faults *handle_faults(struct pawl *pawl);

// Opens what is between the handle and the store anew; see pawl_test_restart.
CHECKED bool handle_reopen(struct pawl *pawl, struct pawl_error *err);

// The handle is used by the program and by handlers that never returned; the last one frees it.
void handle_keep(struct pawl *pawl);
void handle_release(struct pawl *pawl);

// A job was cancelled while it runs: if it runs here, its handler hears of it at once; elsewhere at
// the next tick.
void handle_cancelled(struct pawl *pawl, const char *job_id);
