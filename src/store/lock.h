// One lock across processes around every write transaction and every checkpoint.
//
// SQLite before 3.51.3 can corrupt a log when one connection checkpoints while another writes, so
// the two must never overlap. The lock is fair: a waiter holds the turnstile, so whoever just had
// the lock queues behind it, and no process is starved by a busy one.
#pragma once

#include "base/error.h"
#include "base/world.h"

struct lock {
    int fd;
    const struct world *world;
    int64_t wait_us_max;
};

CHECKED bool lock_open(struct lock *lock, const char *path, struct pawl_error *err);
void lock_close(struct lock *lock);

// PAWL_BUSY when it cannot be had within wait_us_max. The kernel gives it back when a process dies.
CHECKED bool lock_take(struct lock *lock, struct pawl_error *err);
void lock_give(struct lock *lock);
