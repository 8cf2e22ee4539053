// The bell: work has become ready, here or in another process: look now, not at the next tick.
//
// A commit that made work ready rings (db.h). In this process it writes to an eventfd. Across
// processes it writes one byte of the lock file, which inotify reports to whoever watches that
// file, and only when somebody says that it listens, by a shared lock on another byte: with no
// listener a commit costs one look more. A listener that dies is none any more.
//
// On PostgreSQL it is a notification, for sessions that listen (server_bell.h). Behind a pooler,
// which keeps no session, nobody listens: the tick must do.
//
// A ring is a hint: it says "look", not what there is. It may come for nothing, and it may be lost
// (no inotify left, the lock file removed), so whoever waits also looks once in a while. Listen
// first, then look, then wait: what comes in between is waiting. In virtual time nobody waits here.
#pragma once

#include "base/error.h"

struct bell;

enum { BELL_NAME_BYTES = 17 };

// Makes the lock file of the store when it is not there. Without inotify, or while the server is
// away, the bell still hears its own process.
CHECKED bool bell_open(struct bell **bell, struct str store_url, struct pawl_error *err);

// The same, by a name that connections have too (db_options.ringer): what they commit is not heard
// here, because their process knows of it.
CHECKED bool bell_open_named(struct bell **bell, struct str store_url, const char *name,
                             struct pawl_error *err);
void bell_name_make(char name[BELL_NAME_BYTES]);
void bell_close(struct bell *bell);  // NULL is fine
bool bell_hears_others(const struct bell *bell);

// Waits until it is rung (true, and all rings so far are answered) or the time is over. A negative
// time is no limit; zero only looks. For one thread at a time.
bool bell_wait(struct bell *bell, int64_t timeout_us);

// Whether it may have been rung for jobs that came in SQL, which somebody must take in before they
// are ready (engine/posted.h). Asked by who waits; answered once.
bool bell_posted(struct bell *bell);

// From any thread of this process.
void bell_ring(struct bell *bell);

// What this process is called among those that ring.
const char *bell_name(const struct bell *bell);

// ----- for drivers, on the descriptor of the lock file that they have open

// Others ring from now on, until the descriptor is closed.
CHECKED bool bell_listen(int lock_fd, struct pawl_error *err);

// Rings in all processes that listen by another descriptor than this one.
void bell_ring_others(int lock_fd);
