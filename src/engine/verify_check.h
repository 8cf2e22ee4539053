// What the parts of verify share: the invariants that need the rules of the model, and the report.
#pragma once

#include "engine/verify.h"

// A row each in the table of verify.c.
enum check {
    CHECK_STATE,
    CHECK_WORDS,
    CHECK_EXECUTION,
    CHECK_TALLY,
    CHECK_VERDICT,
    CHECK_TRAIL,
    CHECK_PAYLOAD,
    CHECK_RESULT,
    CHECK_STEP,
    CHECK_KEY_OF_JOB,
    CHECK_KEY_RECORD,
    CHECK_EVENT_NAMES,
    CHECK_ARTIFACT_FILE,
    CHECKS
};

// One run of verify. `tx` is the page's; its arena is emptied between two jobs.
struct verifying {
    const struct verify_options *options;
    struct verified *verified;
    struct tx tx;
    int64_t job;      // the row key of the job at hand; 0: none
    bool finds_keys;  // what looking up idempotency keys needs is there
};

// Tells of a violation by the job at hand. False only when the store cannot be read.
CHECKED bool verify_report(struct verifying *v, enum check check, struct pawl_error *err,
                           const char *format, ...) PRINTF(4, 5);

// Empties the page's arena. Refuses when memory had run out: what was read is incomplete then.
CHECKED bool verify_forget(struct verifying *v, struct pawl_error *err);

// Checks the job at hand, its executions and its audit trail by the rules of the model.
CHECKED bool verify_job(struct verifying *v, struct pawl_error *err);

struct job;

// The job is found by its idempotency key, or a later one that took the key over when it was free.
CHECKED bool verify_key_of_job(struct verifying *v, const struct job *job, struct pawl_error *err);

// The records of keys with $1 < slot <= $2: each is where its job's key is looked for.
CHECKED bool verify_key_records(struct verifying *v, int64_t after, int64_t last,
                                struct pawl_error *err);

// The files of artifacts with $1 < key <= $2. Begins another transaction when one is not as it
// should be: it may have been removed meanwhile.
CHECKED bool verify_artifact_files(struct verifying *v, int64_t after, int64_t last,
                                   struct pawl_error *err);
