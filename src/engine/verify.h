// Verify: recomputes every job's state from its records and checks every invariant.
//
// Works in pages on a live store: each page is one short read transaction, so a page is consistent
// in itself, memory is bounded and writers are not held up. A record that cannot be understood is a
// violation; only a store that cannot be read is an error.
#pragma once

#include "base/error.h"
#include "store/db.h"

struct invariant {
    const char *name;      // `verify_job_one_commit`
    const char *sentence;  // what must hold
};

// Every invariant there is, from 0 on; `name` is NULL past the end.
struct invariant verify_invariant(size_t index);

struct violation {
    const char *name;
    const char *invariant;  // the sentence that does not hold
    struct str job_id;      // empty: of no job in particular, or of one that does not exist
    struct str detail;
};

struct verify_options {
    void *self;
    void (*found)(void *self, const struct violation *violation);  // NULL: they are only counted
    void (*progress)(void *self, int64_t jobs_done, int64_t jobs_total);  // NULL: none
    int64_t page_jobs;  // 0: 1,000
    bool artifacts;     // read the files of artifacts too; else only look at their sizes
};

struct verified {
    int64_t jobs;
    int64_t executions;
    int64_t violations;
};

CHECKED bool verify(struct db *db, const struct verify_options *options,
                    struct verified *verified, struct pawl_error *err);
