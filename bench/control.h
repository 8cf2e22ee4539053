// The control: what the machine and SQLite can do at most. Every figure of Pawl is a part of it.
//
// Plain inserts of the row of a job, with its indexes and rising keys and nothing else, into a
// fresh SQLite file: no checks, no foreign keys, no triggers, no audit. The same durability:
// write-ahead log, `synchronous=FULL`.
#pragma once

#include "base/error.h"

enum { CONTROL_BATCH = 1000 };  // rows in a transaction

struct control;

// Opens it, and fills the log once: from then on it is overwritten and does not grow, which a disk
// does twice as fast.
CHECKED bool control_open(struct control **control, const char *path, struct str payload,
                          struct pawl_error *err);
void control_close(struct control *control);  // NULL is fine

// Inserts so many rows, CONTROL_BATCH to a transaction.
CHECKED bool control_insert(struct control *control, long rows, struct pawl_error *err);

// Inserts one row in a transaction of its own: the least a durable answer can cost.
CHECKED bool control_commit_one(struct control *control, struct pawl_error *err);
