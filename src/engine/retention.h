// Retention: what has ended long enough ago is removed, in pieces (OPS-25).
//
// A piece is one short transaction over a bounded number of rows; a pass is piece after piece,
// through logs, jobs, skipped slots, batches, artifacts, audit events. It has nothing to resume: a
// pass that was interrupted is done by the next one. Never removed are jobs that have not ended,
// open dead letters, jobs whose idempotency key still counts, jobs of which another was made that
// is still there, jobs that others wait for, and jobs of a batch that has not ended. Events outlive
// their job; they leave in whole seals, which stay (seal.h).
#pragma once

#include "store/db.h"

// How long, counted from its end; 0: for ever.
struct retention {
    int64_t jobs_us;     // ended jobs with their executions, steps, logs and slots; skipped slots
    int64_t letters_us;  // the same for closed dead letters
    int64_t logs_us;     // what commands said
    int64_t audit_us;    // audit events
    int64_t artifacts_us;  // artifacts that no job has to do with, from their upload on
};

enum removed_kind { REMOVED_LOGS,
                    REMOVED_JOBS,
                    REMOVED_SKIPS,
                    REMOVED_ARTIFACTS,
                    REMOVED_EVENTS,
                    REMOVED_KINDS };
const char *removed_kind_name(enum removed_kind kind);

enum { RETENTION_ROWS_MAX = 500 };  // in one piece, about: a job goes as a whole

struct removing {
    struct retention keep;
    bool dry_run;      // only count: works in a read transaction
    // Where it is, and what came of it.
    unsigned stage;
    int64_t after;     // the row it goes on from
    bool done;         // with the pass
    int64_t rows;      // touched by the last piece
    int64_t removed[REMOVED_KINDS];  // so far: lines, jobs, slots, events
    int64_t broken_seal;             // does not fit its events, which are therefore kept; 0: none
};

// One piece of the pass.
CHECKED bool retention_step(struct tx *tx, struct removing *r, struct pawl_error *err);

// Removes one ended job with all that belongs to it; its line for the audit trail stays. When its
// log is longer than `rows_max` only so much of that goes, and `gone` is false.
CHECKED bool job_remove(struct tx *tx, int64_t job, int64_t rows_max, bool *gone, int64_t *rows,
                        struct pawl_error *err);
