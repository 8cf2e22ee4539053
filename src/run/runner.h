// The runner: takes jobs of the types that have handlers and runs them in a pool of threads.
//
// One thread, the dispatcher, watches the clock: each second (the tick) or when something comes due
// it has the store swept, leases renewed and the instance kept alive, and it tells handlers that
// should stop. Claims ride along with whatever is committed (pipeline_set_more), so that a job is
// taken in the transaction that enqueued it; the dispatcher claims by itself only after a bell from
// elsewhere. Workers take what was claimed and hand the end of each run over without waiting.
//
// With `virtual_time` there are no threads: runner_run_until_idle does all of it, in a fixed order.
#pragma once

#include "run/boot.h"
#include "run/handle.h"
#include "run/run.h"
#include "run/scheduler.h"
#include "run/sealer.h"
#include "store/bell.h"
#include "store/hold.h"

// Leases that were claimed together and wait for a worker.
struct batch {
    struct operation operation;
    struct runner *runner;
    struct arena arena;
    const struct handlers *handlers;  // whose jobs are claimed, and who runs them
    struct claimed *claimed;
    size_t count, taken;
    size_t start, ahead;  // how many to start at once, and to lease ahead
    bool start_ahead;     // those too are started: it will not be long
    int64_t at;           // monotonic, when it was claimed
    int64_t more_at;      // monotonic, when a limit that was reached opens by itself; 0: none does
    uint64_t news;        // what was known when it was claimed
    struct batch *next;
};

// What is done once a second, in one transaction.
struct tick {
    struct operation operation;
    struct runner *runner;
    struct arena arena;
    bool renew;                // extend the leases, not only look at them
    bool alive;                // say that the instance lives
    struct tick_progress {
        struct lease lease;
        struct progress progress;
    } * progress;
    size_t progress_count;
    int64_t at;                // monotonic, when it was submitted
    // The answer.
    pawl_time now;
    struct swept swept;
    struct holding *holdings;
    size_t holding_count;
};

enum runner_mode { RUNNER_STOPPED, RUNNER_WORKING, RUNNER_DRAINING };

struct runner {
    struct pawl *pawl;
    const struct world *world;
    struct instance instance;
    struct worker worker;
    struct hold hold;
    struct bell *bell;  // NULL in virtual time
    struct sealer *sealer;  // NULL in virtual time
    pthread_t dispatcher;
    bool has_threads, has_dispatcher;

    pthread_mutex_t mutex;    // guards everything below
    pthread_cond_t work;      // for workers: something to take, or time to leave
    pthread_cond_t quiet;     // for whoever waits for runs to end, for a tick, or for a stop
    enum runner_mode mode;
    bool closing;             // the dispatcher and the workers leave
    bool closed;              // the store is gone: only handlers that never returned are left
    struct batch *batches, **batches_end, *spare_batch;
    size_t prefetched;        // in all batches, not taken
    struct pawl_run *runs;    // taken and not ended
    struct pawl_run *ended;   // on disk, to be logged and used again
    struct pawl_run *spare_runs;
    size_t spare_run_count;
    size_t idle, threads, running;
    size_t burying;           // workers that log ended runs just now
    size_t calls;             // of handlers that wait for the store, of threads that wait here
    bool claiming;            // a claim is on its way
    size_t giving;            // batches that are on their way back
    bool maybe_more;          // a claim may find something
    uint64_t news;            // counts what might be claimed
    int64_t more_at;          // monotonic, when a limit opens by itself; 0: none does
    struct turns turns;       // of queues; the claim that is on its way has it
    int64_t handler_us;       // how long handlers take, on average of late ...
    int64_t payload_bytes;    // ... and how large payloads are
    struct tick tick;
    bool ticking, tick_answered;
    struct scheduler scheduler;
    struct pawl_error trouble;  // of the last claim or tick that failed ...
    bool trouble_is_new;        // ... which was not logged yet
    uint64_t troubles;
    bool outdated;              // it was told that the store is for newer programs
    int64_t tick_next, renew_next, alive_next;  // monotonic
    uint64_t ticks;
    struct pawl_figures figures;
};

// Makes the runner: takes the instance's name and recovers what a dead process left.
CHECKED bool runner_open(struct pawl *pawl, struct pawl_error *err);
CHECKED bool runner_boot(struct runner *runner, struct pawl_error *err);  // ... the latter two
CHECKED bool runner_start_threads(struct runner *runner, struct pawl_error *err);
void runner_resume(struct runner *runner);

// There will be other handlers: makes sure that there are workers. And: there are, so look whether
// they have jobs.
CHECKED bool runner_expect_handlers(struct runner *runner, struct pawl_error *err);
void runner_has_handlers(struct runner *runner);
CHECKED bool runner_drain(struct runner *runner, int64_t wait_us, struct pawl_error *err);
void runner_stop(struct runner *runner, int64_t wait_us);

// After runner_stop: ends the threads and gives the instance's name back. Handlers that never
// returned keep the runner and the handle until the last of them does.
void runner_close(struct runner *runner);
void runner_free(struct runner *runner);
void runner_free_last(struct runner *runner);  // ... by that last one

// Works by hand until nothing is left to do.
CHECKED bool runner_run_until_idle(struct runner *runner, struct pawl_error *err);
// By hand: how long until something happens by itself, at most `limit`.
int64_t runner_next_event(const struct runner *runner, int64_t limit);
// By hand: time goes by, and what comes due happens. Within a handler only the clock moves.
CHECKED bool runner_advance(struct runner *runner, int64_t microseconds, struct pawl_error *err);
// Waits until the threads have nothing left to do. The runner is not freed between runner_visit and
// the end of this.
void runner_visit(struct runner *runner);
CHECKED bool runner_wait_idle(struct runner *runner, struct pawl_error *err);
void runner_cancel(struct runner *runner, const char *job_id);
struct pawl_figures runner_figures(struct runner *runner);

// ----- claims (claims.c)

// A claim to add to the group that is about to be committed, or NULL. Parameters as pipeline_more.
struct operation *claims_more(void *runner, struct tx *tx);

// With the mutex held: claims if somebody could work and there may be something. Gives it up in
// between.
void claims_go_on(struct runner *runner);

// With the mutex held: if a limit has opened by itself, a claim may find something.
void claims_look_at_limits(struct runner *runner);

// With the mutex held: the next run, NULL when there is none or no memory for it.
struct pawl_run *claims_take(struct runner *runner);

// With the mutex held: gives back what was claimed and not taken, without waiting until it is on
// disk (claims_pending): the dispatcher has deadlines to watch. Gives the mutex up in between.
void claims_give_back(struct runner *runner);

// With the mutex held: a job that is leased and not begun is to be cancelled.
void claims_cancel(struct runner *runner, const char *job_id);

// With the mutex held: a claim in progress, leases that wait or are on their way back.
bool claims_pending(const struct runner *runner);

// ----- workers (workers.c)

void *worker_main(void *runner);
CHECKED bool worker_spawn(struct runner *runner);  // with the mutex held

// With the mutex held: logs runs whose end is on disk and keeps them for the next. Gives it up in
// between.
void workers_bury(struct runner *runner);

// ----- ticks (ticks.c)

#define TICK_US SECONDS(1)

bool tick_is_due(const struct runner *runner);  // with the mutex held
void tick_submit(struct runner *runner);  // with the mutex held; gives it up in between
// With the mutex held: leases that were just claimed may be shorter than all before them.
void tick_renew_in_time(struct runner *runner, const struct batch *batch);
int64_t tick_wait(const struct tick *tick);  // after its answer, how long until something is due
void tick_finish(struct runner *runner);  // with the mutex held, after its answer
void tick_give_back(struct runner *runner, const struct lease *lease);  // without waiting
void note_trouble(struct runner *runner, const struct pawl_error *err);  // with the mutex held
void watch_runs(struct runner *runner);   // with the mutex held: deadlines and leases by the clock
int64_t watch_next(const struct runner *runner);  // monotonic, when that should happen again

// ----- for runs

// A call that uses the store. False when the run may not any more. Ends with runner_leave.
CHECKED bool runner_enter(struct pawl_run *run);
void runner_leave(struct runner *runner);  // the run may be somebody else's by then

// Its handler begins, with its work or with its commit phase: from here its time counts. False when
// it was told to stop before.
CHECKED bool runner_began(struct pawl_run *run, bool finishing);
void runner_stop_run(struct pawl_run *run, enum pawl_stop why);
void runner_step_retried(struct pawl_run *run, struct str step, struct str why);

// Its handler has answered. True when another thread has its place by now: this one has to leave.
bool runner_ending(struct pawl_run *run);
void runner_ended(struct pawl_run *run);   // the store has answered
void runner_forget(struct pawl_run *run);  // with the mutex held: nothing is left to do with it

// Waits until the run should stop. False when that happened before the time was over.
bool runner_pause(struct pawl_run *run, int64_t microseconds);
bool runner_pause_by_hand(struct pawl_run *run, int64_t microseconds);
