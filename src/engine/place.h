// Places: where a waiting job is. Moving a job is leaving one place and entering another.
//
// `ready` holds what a claim may take; `parked` holds the rest, with its reason. Of each serial key
// only one job is ever ready or running, the oldest that is due; the others are parked as blocked,
// so a million jobs behind one busy key cost the claim nothing (RUN-2, RUN-9).
#pragma once

#include "model/job.h"
#include "store/db.h"

// What the row of a waiting job needs.
struct waiting {
    int64_t job, org, type, queue;
    int64_t rank;      // minus the priority
    int64_t attempt;   // executions so far
    struct str serial_key;
    struct str project;
    bool waits;        // for other jobs: see engine/links.h
    size_t nth;        // in a lane that was read without a gap, from 1; 0: it may have had some
    const struct loaded *loaded;  // its job, if it was read with it
};

// A job that was read, and what is wrong with its records (NULL: nothing).
struct loaded {
    struct job job;
    const char *problem;
};

struct waiting waiting_of(const struct job *job);

// Enters the queue: ready, or delayed when `due_at` lies ahead, or blocked by the jobs it waits for
// or behind its serial key. Answers where it went.
CHECKED bool place_queue(struct tx *tx, const struct waiting *waiting, pawl_time due_at,
                         enum job_phase *phase, struct pawl_error *err);

// Parks it as held (due_at 0) or as backoff.
CHECKED bool place_park(struct tx *tx, const struct waiting *waiting, enum job_phase phase,
                        pawl_time due_at, struct pawl_error *err);

// Who has the turn of a serial key: the job that runs with it, and the oldest that is due. A job of
// the key that is due waits for the one, and for the other if that is older than itself.
struct key_use {
    int64_t running;       // 0: none
    struct waiting first;  // its `job` is 0 when there is none
};
CHECKED bool place_key_use(struct tx *tx, int64_t org, struct str serial_key, struct key_use *use,
                           struct pawl_error *err);

// Takes a waiting job out of its place; the next of its serial key moves up if it was ready.
CHECKED bool place_leave(struct tx *tx, const struct job *job, struct pawl_error *err);

// A ready job that a claim met and that must wait for its limit key (engine/limit.h): blocked until
// somebody looks at the key. The next of its serial key moves up.
CHECKED bool place_behind_key(struct tx *tx, const struct job *job, struct pawl_error *err);

// The serial key is free: its oldest blocked job becomes ready. Nothing to do for an empty key.
CHECKED bool place_next_of_key(struct tx *tx, int64_t org, struct str serial_key,
                               struct pawl_error *err);
