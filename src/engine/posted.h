// Jobs that an application enqueued in SQL (`pawl.enqueue(…)`, sql/schema/0018_posted.sql): their
// rows wait in `posted_jobs` until a process takes them in, by job_enqueue and under their own id.
//
// What the tables could not judge is judged here, by the rules of the process that takes them in:
// a job that breaks the contract is stored all the same, without its payload, and ends FAILED.
#pragma once

#include "store/db.h"

// Takes in at most so many. One that cannot be stored now, because its queue or the disk is full,
// waits. `taken` says how many were, `more` whether there may be others.
CHECKED bool posted_take(struct tx *tx, size_t limit, size_t *taken, bool *more,
                         struct pawl_error *err);
