// Jobs that are stored together, each with its own answer.
#pragma once

#include "base/json.h"

// What a job without idempotency_key gets.
enum key_recipe {
    KEY_UNIQUE,   // one that nobody else has
    KEY_DERIVED,  // from type, org, project and payload: the same content is the same job (OPS-4)
};

// One job to store, and what became of it.
struct entry {
    json_t *object;                  // the job object as HTTP takes it
    // Stored: both are unset. Else why not:
    const struct problem *problems;  // it breaks the contract
    size_t problem_count;
    struct pawl_error error;         // PAWL_OK, or it was refused
    bool known;                      // it was stored before
    json_t *job;                     // as it is stored, if the batch wants it
};

struct batch {
    struct arena *arena;  // of problems
    struct entry *entries;
    size_t count;
    enum key_recipe recipe;
    bool wants_jobs;
    bool again;           // it was sent before, and the reply was lost
};

void batch_end(struct batch *batch);         // gives the objects of its entries back
bool entry_open(const struct entry *entry);  // nothing speaks against it

// PAWL_IN_DOUBT: the second try did not tell either.
CHECKED bool batch_in_doubt(struct pawl_error *err);
