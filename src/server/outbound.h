// The server's HTTP client: messages to somebody else's machine, everything bounded.
//
// Used by threads that have nothing else to do, one client per thread: alerts, traces and the
// handlers of types with `post:`.
// There is a time for the connection and one for the whole; certificates are verified, redirects
// are not followed, no proxy is asked for an address of this machine, an answer is read up to a
// size, and a message that is under way ends within a second when its owner is told to stop.
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/world.h"

struct outbound;

struct outbound_options {
    struct str url;
    const char *const *headers;  // `Name: value`, NULL last, of every message; NULL: none
    int64_t timeout_us;          // of one message, from the connection to the end of the answer
    size_t reply_bytes_max;      // kept of an answer; the rest is not read
    const _Atomic bool *stop;    // NULL: never
};

// What is wrong with a URL, as "must be ..."; NULL: nothing. `host` is set then.
const char *outbound_url_problem(struct arena *arena, struct str url, struct str *host);

// Does not connect. Everything in the options must outlive it.
CHECKED bool outbound_open(struct outbound **outbound, const struct outbound_options *options,
                           struct pawl_error *err);
void outbound_close(struct outbound *outbound);  // NULL is fine

struct outbound_message {
    struct str body;             // JSON
    const char *const *headers;  // of this message, NULL last; NULL: none
    bool (*stopped)(void *self); // asked about once a second, besides `stop`; NULL: never
    void *self;
};

struct outbound_reply {
    int status;
    int64_t retry_after_us;      // 0: not said
    struct str body;             // what was kept of it, in the arena
    bool late;                   // there was no answer, because its time was over
};

// Sends once and waits for the answer, whatever its status. False when there was none: err says
// why in a few words.
CHECKED bool outbound_post(struct outbound *outbound, const struct outbound_message *message,
                           struct arena *arena, struct outbound_reply *reply,
                           struct pawl_error *err);
