// A hold on an instance's name: of all processes on a store one at a time has it.
//
// The kernel gives it back when the process dies, so whoever takes a name knows that the process
// which had it before is dead, at once, without waiting for its liveness to run out (RUN-5). Only
// the fence of each lease (execution.h) decides what a process may write: where a hold is lost, by
// removing the lock file or closing its descriptor, a second process of the name takes the runs
// over and the first one's calls are refused.
//
// On PostgreSQL the hold is a lock of a session that does nothing else: the server gives it back
// when the process dies, or when it has not heard of its machine for half a minute.
//
// Behind a pooler, which keeps no session, there is none: the row of the instance is all that says
// whether it lives (sweep.h), and who takes a name after a death has to wait until that runs out.
//
// After fork() the child has the hold as well (lock_file.h): the name is free when both are gone.
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct server_lock;

struct hold {
    int fd;                   // of the lock file
    struct server_lock *server;  // with the database instead, where the store is on a server
    bool taken;
    bool none;  // there is none to be had: see above
};

enum { HOLD_NUMBER_MAX = 64 };

// PAWL_CONFLICT when a process, this one included, has the name. Where there is none to be had it
// is not `taken`.
CHECKED bool hold_take(struct hold *hold, struct str store_url, struct str name,
                       struct pawl_error *err);

// The stem, from the second on with its number.
struct str hold_name(struct arena *arena, struct str stem, int number);

// For programs that were not given a name: the stem, or when that is held `stem#2`, `stem#3` up to
// HOLD_NUMBER_MAX. The name that was free lives in the arena.
CHECKED bool hold_take_any(struct hold *hold, struct str store_url, struct str stem,
                           struct str *name, struct arena *arena, struct pawl_error *err);

// A server that was started again has lost it: to be asked now and then, while the server is in
// reach. PAWL_CONFLICT when another process has the name meanwhile.
CHECKED bool hold_keep(struct hold *hold, struct str name, struct pawl_error *err);

void hold_give(struct hold *hold);  // {0} and one that was given back are fine
