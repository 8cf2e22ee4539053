// The control: what the machine and its database can do at most. Every figure of Pawl is a part of
// it.
//
// Plain inserts of the row of a job, with its indexes and rising keys and nothing else, into a
// fresh SQLite file, or a fresh table of the same server: no checks, no foreign keys, no triggers,
// no audit. The same durability: write-ahead log, `synchronous=FULL`; `synchronous_commit=on`.
#pragma once

#include "base/error.h"

enum { CONTROL_BATCH = 1000 };  // rows in a transaction

struct control;

// Opens it, and fills the log of a file once: from then on it is overwritten and does not grow,
// which a disk does twice as fast. `where` is a path, or the URL of a server.
CHECKED bool control_open(struct control **control, const char *where, struct str payload,
                          struct pawl_error *err);
void control_close(struct control *control);  // NULL is fine

// Inserts so many rows, CONTROL_BATCH to a transaction.
CHECKED bool control_insert(struct control *control, long rows, struct pawl_error *err);

// Inserts one row in a transaction of its own: the least a durable answer can cost.
CHECKED bool control_commit_one(struct control *control, struct pawl_error *err);

// On a server: inserts rows by so many connections at once, each row a transaction of its own.
CHECKED bool control_crowd(struct control *control, long connections, long rows, double *seconds,
                           struct pawl_error *err);
