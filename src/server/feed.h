// The feed: what has happened, as it happens, for GET /v1/events.
//
// Events are audit events of the caller's org, read from the store by their number: so a stream
// shows what every process commits, misses nothing, and goes on after `Last-Event-ID`.
#pragma once

#include <sys/types.h>

#include "server/exchange.h"

extern const struct routes routes_events;

// The next piece of the stream's text: whole events, or a sign of life when nothing has happened
// for long; 0 when there is nothing to say now, -1 when the caller's key is no longer good.
ssize_t feed_next(struct exchange *x, char *into, size_t room);
