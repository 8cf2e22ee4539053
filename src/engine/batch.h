// Batches: a set of jobs, and a job that is made when all of them have ended.
//
// A batch and its first jobs are stored together. Others may join until it ends: with `batch_id`,
// best as follow-ups in the commit of a job that is in it, which has not ended yet. Whoever ends
// the last of them ends the batch and makes its callback, in one transaction, so there is exactly
// one. It is made however they ended, with the numbers in its payload.
#pragma once

#include "engine/job.h"

enum { BATCH_JOBS_MAX = 1000,           // in one request; more may join
       BATCH_ROOM_BYTES = 1024 };       // of the callback's payload are for what Pawl adds to it

struct job_batch {
    struct id id;
    int64_t org;
    struct str org_id, project_id, name, idempotency_key;
    struct caller creator;
    pawl_time created_at, ended_at;     // 0: it has not
    int64_t jobs, succeeded, failed, timed_out;
    struct contract callback;           // without job_type: there is none
    struct id callback_job;             // {0}: not made
};

struct batch_request {
    struct str org_id, project_id, name;
    struct str idempotency_key;         // empty: none
    struct str content;                 // a hash of all that is asked for
    const struct contract *jobs;
    size_t count;
    const struct contract *callback;    // NULL: none
    struct problems *problems;          // what is wrong with which job: `jobs[3].after[0]`
};

// All or, when one job is refused, nothing: jobs of a batch are new. A key that is known with the
// same content gives its batch, `known`; with another PAWL_KEY_REUSED.
CHECKED bool batch_create(struct tx *tx, const struct batch_request *request,
                          struct job_batch *batch, bool *known, struct pawl_error *err);

// The batch of this id, in the org and the projects of the caller: another's is not found.
CHECKED bool batch_load(struct tx *tx, struct id id, struct job_batch *batch,
                        struct pawl_error *err);

// What is wrong with a callback besides its contract. `keyed`: it was sent with a key.
void callback_check(const struct contract *callback, bool keyed, const char *prefix,
                    struct problems *problems);

// ----- for links

// Whether there is one in this org that the caller may see. PAWL_CONFLICT when it has ended.
CHECKED bool batch_open_to(struct tx *tx, int64_t org, struct id id, bool *exists,
                           struct pawl_error *err);
CHECKED bool batch_joined(struct tx *tx, int64_t batch, struct pawl_error *err);
CHECKED bool batch_member_ended(struct tx *tx, int64_t batch, enum job_state state,
                                struct pawl_error *err);

// ----- for the sweep

// Makes a callback that its queue or the disk had no room for.
CHECKED bool batch_call_back(struct tx *tx, int64_t batch, struct pawl_error *err);
