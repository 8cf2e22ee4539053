// A session with a database server that is there to hold a lock, and nothing else.
#pragma once

#include "base/error.h"

struct server_lock;

CHECKED bool server_lock_open(struct server_lock **lock, struct str store_url,
                              struct pawl_error *err);
void server_lock_close(struct server_lock *lock);

// Whether the session is still there, and with it the lock.
bool server_lock_lives(struct server_lock *lock);

// Begins another session, which has no lock yet.
CHECKED bool server_lock_reopen(struct server_lock *lock, struct pawl_error *err);

// Takes the lock of this number in the store, at once or not at all.
CHECKED bool server_lock_take(struct server_lock *lock, int64_t number, bool *taken,
                              struct pawl_error *err);
