// Changing many jobs: those of a filter, newest first, a bounded number in one transaction.
#pragma once

#include "engine/job.h"

enum { BULK_JOBS_MAX = 500 };

// A job whose state does not allow it is left out, as if the filter did not have it; of jobs to be
// retried also one that was before, so that asking again changes nothing.
struct job_bulk {
    struct job_filter filter;  // its `before` is where to go on
    bool retry;                // else cancel
    bool dry_run;              // only say which
    struct changed_job {
        struct id id;          // of the new job, if there is one
        bool running;          // its worker was asked to stop
    } * jobs;                  // out
    size_t count;
    int64_t next;              // out: where to go on; 0: that was all
};
CHECKED bool jobs_change(struct tx *tx, struct job_bulk *bulk, struct pawl_error *err);

// Whether the filter names anything: one that does not would be everything, and that must be meant.
bool job_filter_names(const struct job_filter *filter);
