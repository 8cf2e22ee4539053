// After: the jobs that must have succeeded before one may run, as a list of ids.
#pragma once

#include "model/contract.h"

#define AFTER_WANT "a list of at most 64 ids of jobs"

// Reads the list into the contract; a job that is named twice is waited for once. Each problem is
// added under its place: `after[2]`.
bool after_read(const json_t *value, const char *field, struct contract *into,
                struct problems *problems);

// The list as JSON text; empty when there is none.
struct str after_text(struct arena *arena, const struct id *ids, size_t count);
