// The guard: how many connections there are, and how long each may take.
//
// A client that sends its headers or its body too slowly is told so (408) and closed; whoever comes
// when there are too many, in all or of one address, is answered 503 and closed; one that goes on
// regardless is closed at once. All are counted, and once a minute the log says so. One thread
// looks once a second, and only while some connection has a deadline.
#pragma once

#include "base/error.h"
#include "base/world.h"
#include "server/admit.h"

struct guard;
struct link;  // one connection
struct metrics;
struct server_log;
struct sockaddr;

struct guard_options {
    const struct world *world;
    int64_t idle_us, header_us, body_us;
    size_t connections_max, per_address_max;  // of one address 0: no limit
    bool plain;  // no TLS: a text can be sent past the protocol library
    struct metrics *metrics;
    struct server_log *log;
};

// How many connections there may be, of all or of one address.
struct crowd {
    const char *code;   // of the refusal
    const char *whose;  // ` from this address`, in a sentence
    size_t max;
};

CHECKED bool guard_open(struct guard **guard, const struct guard_options *options,
                        struct pawl_error *err);
void guard_close(struct guard *guard);  // NULL is fine

// From the HTTP thread, as guard_remove. NULL when there is no memory.
struct link *guard_add(struct guard *guard, int fd, const struct sockaddr *from);
void guard_remove(struct link *link);

void guard_idle(struct link *link);     // the next request must begin in time, and ...
void guard_headers(struct link *link);  // ... once it has, its headers must come in time
void guard_body(struct link *link);     // ... then its body
void guard_rest(struct link *link);     // nothing is expected from the client

// Which limit this connection is beyond; NULL: none.
const struct crowd *guard_surplus(const struct link *link);
void guard_close_after(struct link *link);    // its next answer is its last
bool guard_closes(const struct link *link);
int guard_fd(const struct link *link);

// Of the request that is being read: what was found of its target before its headers came.
void guard_note_target(struct link *link, enum target target);
enum target guard_target(const struct link *link);
