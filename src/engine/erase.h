// Erasing on request: one job's contents, or all that a tenant has.
//
// Of a job payload, result, errors, progress, results of steps and logs go; its state, its times,
// its ids and its audit trail stay. Of an org all jobs, schedules and slots go, and its keys are
// revoked; the org itself and its audit trail, which has ids and no contents, stay. What is erased
// is overwritten in the store's file (tx_overwrite); backups are not touched.
#pragma once

#include "engine/api_key.h"
#include "model/job.h"

// What stands where a payload was, and where an error was.
#define ERASED_PAYLOAD S("{\"erased\":true}")
#define ERASED_TEXT S("erased")

bool job_erased(const struct job *job);

// Refuses a job that has not ended with PAWL_CONFLICT. Once more is the same again.
CHECKED bool job_erase(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// One org, piece by piece. PAWL_CONFLICT while one of its jobs runs.
struct org_erasing {
    struct str org_id;
    bool dry_run;     // only count: works in a read transaction
    // Where it is, and what came of it.
    struct org org;
    bool begun, done;
    int64_t before;   // the job it goes on from
    int64_t jobs, keys, schedules, running;
};
CHECKED bool org_erase_step(struct tx *tx, struct org_erasing *e, struct pawl_error *err);
