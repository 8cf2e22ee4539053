// Links: what the end of one job means to others.
//
// A job may name others in `after`: it waits, blocked, until all of them have succeeded, and ends
// FAILED / DEPENDENCY_FAILED when one of them does not (JOB-11). It can only name jobs that exist,
// so there are no circles. A job may be in a batch, which counts its end: see engine/batch.h.
//
// Whoever ends a job tells those that wait for it in the same transaction, up to a bound; a row in
// `job_endings` says that others are still to be told, and the sweep goes on with them. So a chain
// of ten thousand jobs never is one transaction, and nobody who dies in between strands any.
#pragma once

#include "engine/job.h"

enum { TOLD_MAX = 200 };  // jobs that one transaction moves because others have ended

// What a contract's `after` and `batch_id` come to, looked up before anything is written.
struct link_plan {
    struct keys waits_for;  // jobs that have not ended
    int64_t pending;        // those, and the ones that failed
    struct str doom;        // what to say of one that failed; empty: none did
};

// Each job or batch that there is not, as far as the caller can see, is a problem under its field:
// `after[2]`, `batch_id`. PAWL_CONFLICT when the batch has ended.
CHECKED bool links_plan(struct tx *tx, const struct contract *contract, const char *prefix,
                        struct problems *problems, struct link_plan *plan, struct pawl_error *err);

// For a job that is stored and in no place yet, and for the same one that is in its place: it ends
// at once if one of those it waits for has failed, unless it is held.
CHECKED bool links_put(struct tx *tx, const struct link_plan *plan, struct job *job,
                       struct pawl_error *err);
CHECKED bool links_placed(struct tx *tx, struct job *job, struct pawl_error *err);

// What a job that is loaded waits for and belongs to.
CHECKED bool links_read(struct tx *tx, struct job *job, struct pawl_error *err);

// A job has ended. A transaction knows from its beginning whether any job of the store is linked to
// others; while none is, this costs nothing.
CHECKED bool links_ended(struct tx *tx, int64_t job, enum job_state state, struct pawl_error *err);

// Tells at most `limit` jobs of ends they wait for; `more`: there are others. For the sweep.
CHECKED bool links_tell(struct tx *tx, size_t limit, bool *more, struct pawl_error *err);

// The oldest jobs that this one waits for, at most `limit`.
CHECKED bool links_awaited(struct tx *tx, int64_t job, size_t limit, struct keys *awaited,
                           struct pawl_error *err);

// Why a held job will fail when it is submitted; empty: it will not.
CHECKED bool links_doom(struct tx *tx, int64_t job, struct str *doom, struct pawl_error *err);
