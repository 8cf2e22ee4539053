// Slots: a moment at which a schedule's job is to run, claimed at most once (SLOT-2 to SLOT-6).
//
// The claim is one insert into `job_runs`, whose key is (org, job_name, scheduled_for), in the
// transaction that stores the job and moves the schedule on. Whoever races, a slot has one row and
// one job; and whoever dies, none of the three is there without the others.
#pragma once

#include "engine/execution.h"
#include "engine/job.h"
#include "engine/schedule.h"
#include "engine/sweep.h"

// ----- by hand (SLOT-8)

// Claims one slot now: PAWL_SLOT_CLAIMED when somebody did before, PAWL_MAX_INSTANCES when as many
// as may be still run. One that lies ahead waits for its time.
CHECKED bool slot_trigger(struct tx *tx, struct str name, pawl_time slot, struct job *job,
                          struct pawl_error *err);

enum { BACKFILL_MAX = 1000 };

struct backfill {
    pawl_time from, to;      // both included
    bool dry_run;
    pawl_time *claimed;      // slots that were free, and are claimed now unless it is a dry run
    struct id *jobs;         // ... and their jobs
    size_t claimed_count;
    pawl_time *taken;        // slots that had been claimed before
    size_t taken_count;
};

// Claims every slot of the schedule in a range that is free; they run one after another.
// PAWL_TOO_LARGE for more than BACKFILL_MAX; PAWL_MAX_INSTANCES as above.
CHECKED bool slot_backfill(struct tx *tx, struct str name, struct backfill *backfill,
                           struct pawl_error *err);

// ----- by the clock

#define LEADER_US SECONDS(10)  // a scheduler that falls silent is replaced after this

struct scheduling {
    const struct instance *instance;
    pawl_time wall;      // the scheduler's own clock: one that is off does not lead
    size_t limit;        // schedules in one transaction, and about as many rows
    // What came of it.
    bool leads;          // this instance
    bool took_over;      // just now
    bool renewed;        // the lead it had: that was written
    bool clock_off;      // by more than a minute: it does not lead for that
    int64_t term;
    struct str leader;   // who leads, when this one does not
    size_t claimed, stale;
    size_t rows;         // that were written: runs and skips
    size_t skips[SKIP_REASONS];
    size_t refused;      // schedules whose slots could not be claimed: looked at again soon ...
    struct pawl_error why;  // ... and what was wrong with the last of them
    bool more;           // the limit was reached: go on at once
    pawl_time next;      // when the next slot is due; 0: nothing is known
};

// One tick of the scheduler: keeps or takes the lead, ends what is stale, claims what is due. With
// nothing due it is a fixed number of statements, however many schedules there are.
CHECKED bool slots_tick(struct tx *tx, struct scheduling *scheduling, struct pawl_error *err);

// Gives the lead up, so that another need not wait for it to expire.
CHECKED bool leader_leave(struct tx *tx, const struct instance *instance, struct pawl_error *err);

// Before the loop begins: running rows that an earlier boot of this instance left and whose job
// has ended, or that have none, become `failed` (SLOT-6). What its runs left is recovered by
// boot_recover, which closes their rows.
CHECKED bool slots_recover(struct tx *tx, const struct instance *instance, size_t limit,
                           struct recovered *recovered, struct pawl_error *err);

// ----- for the engine: the row follows its job

struct ending;
CHECKED bool slot_started(struct tx *tx, const struct execution *execution,
                          struct pawl_error *err);
CHECKED bool slot_succeeded(struct tx *tx, const struct execution *execution,
                            struct pawl_error *err);
CHECKED bool slot_failed(struct tx *tx, const struct ending *ending, struct pawl_error *err);

// ----- for the parts of it

// Slots that are claimed together.
struct submission {
    const struct schedule_view *view;
    pawl_time first;            // names it
    size_t count;
    pawl_time not_before;       // of the next one that is claimed; 0: as soon as it is due
    struct str worker_instance; // who claims; empty: nobody who runs
};

// The job of a slot.
struct contract slot_contract(struct tx *tx, const struct schedule *schedule, struct str org_id,
                              pawl_time slot);

// Claims one slot and stores its job. `claimed` is false when somebody had claimed it.
CHECKED bool slot_claim(struct tx *tx, const struct submission *submission, pawl_time slot,
                        struct job *job, bool *claimed, struct pawl_error *err);

// Runs or skips what is due of a schedule, by its terms, and moves it on.
struct settled {
    struct str worker_instance;
    bool none_runs;  // those that would are misfires: it was tried and refused
    size_t claimed, stale;
    size_t rows;     // of runs and skips
    size_t skips[SKIP_REASONS];
};
CHECKED bool slots_settle(struct tx *tx, const struct schedule_view *view,
                          struct settled *settled, struct pawl_error *err);

// Ends what should have ended long ago (SLOT-4): of one schedule, or `view` NULL, of all.
CHECKED bool slots_end_stale(struct tx *tx, const struct schedule_view *view, size_t limit,
                             size_t *ended, struct pawl_error *err);
