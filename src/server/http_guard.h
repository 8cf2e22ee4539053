// The guard: how many connections there are, and how long each may take.
//
// A client that sends its headers or its body too slowly is told so (408) and closed; whoever comes
// when there are too many is answered 503 and closed. One thread looks once a second, and only
// while some connection has a deadline.
#pragma once

#include "base/error.h"
#include "base/world.h"
#include "server/admit.h"

struct guard;
struct link;  // one connection
struct metrics;

struct guard_options {
    const struct world *world;
    int64_t idle_us, header_us, body_us;
    size_t connections_max;
    bool plain;  // no TLS: a text can be sent past the protocol library
    struct metrics *metrics;
};

CHECKED bool guard_open(struct guard **guard, const struct guard_options *options,
                        struct pawl_error *err);
void guard_close(struct guard *guard);  // NULL is fine

struct link *guard_add(struct guard *guard, int fd);  // NULL when there is no memory
void guard_remove(struct link *link);

void guard_idle(struct link *link);     // the next request must begin in time, and ...
void guard_headers(struct link *link);  // ... once it has, its headers must come in time
void guard_body(struct link *link);     // ... then its body
void guard_rest(struct link *link);     // nothing is expected from the client

bool guard_surplus(const struct link *link);  // one connection too many
void guard_close_after(struct link *link);    // its next answer is its last
bool guard_closes(const struct link *link);
int guard_fd(const struct link *link);

// Of the request that is being read: what was found of its target before its headers came.
void guard_note_target(struct link *link, enum target target);
enum target guard_target(const struct link *link);
