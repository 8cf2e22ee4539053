// From a job object to a stored job: how the store enqueues.
#pragma once

#include "cli/backend.h"

// Reads and checks the job objects of a batch, then stores those that are good in one transaction.
// False when the store failed: then nothing was stored. When the reply to the COMMIT is lost the
// store is opened again and asked once more; only if that fails too the error is PAWL_IN_DOUBT.
CHECKED bool batch_store(struct cli *cli, struct batch *batch, struct pawl_error *err);

// Reads the contract of one entry by the rules that are built in; what is wrong goes to the entry.
bool entry_read(struct cli *cli, struct batch *batch, struct entry *entry,
                struct contract *contract);

struct str unique_key(const struct cli *cli, struct arena *arena);
