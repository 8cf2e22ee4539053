// From a job object to a stored job: the way that `enqueue` and `import` share.
#pragma once

#include "cli/command.h"
#include "model/job.h"

// What a job without idempotency_key gets.
enum key_recipe {
    KEY_UNIQUE,   // one that nobody else has
    KEY_DERIVED,  // from type, org, project and payload: the same content is the same job (OPS-4)
};

// Reads and checks a job object; each problem goes into `problems`. The contract has a key, so the
// request can be repeated; it lives in the arena of `problems`.
bool request_read(struct cli *cli, const json_t *object, enum key_recipe recipe,
                  struct contract *contract, struct problems *problems);

// What became of one request.
struct answer {
    struct job job;
    bool known;               // it was stored before
    struct pawl_error error;  // PAWL_OK, or why it was refused
};

// Stores requests in one transaction; each has its own answer. False when the store failed: then
// nothing was stored. When the reply to the COMMIT is lost the store is opened again and asked once
// more; only if that fails too the error is PAWL_IN_DOUBT.
CHECKED bool requests_store(struct cli *cli, const struct contract *contracts, size_t count,
                            struct arena *arena, struct answer *answers, struct pawl_error *err);
