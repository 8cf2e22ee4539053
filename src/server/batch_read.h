// Reading what makes a batch: its jobs and its callback, by the contract.
#pragma once

#include "engine/batch.h"

struct batch_given {
    struct str name, project_id, idempotency_key;
    const json_t *jobs, *callback;  // a list of job objects; one, or NULL
    const json_t *whole;            // what was sent, for the hash of its content
};

// Every problem goes under its place: `jobs[3].payload`, `callback.job_type`. False when there is
// no memory.
bool batch_read(const struct batch_given *given, const struct contract_rules *rules,
                struct batch_request *request, struct problems *problems);
