// Traces: spans of requests, enqueueings, claims and executions, sent to a collector (OPS-14).
//
// Never in the way: whoever commits leaves a short note in a ring of a fixed size. A thread of its
// own makes spans of the notes, reading what they are about from the store, and sends them. When
// the collector is down the ring fills up, and what does not fit is dropped and counted. Without a
// collector in the configuration there is no tracer.
#pragma once

#include "model/trace.h"
#include "store/observe.h"

struct server;
struct tracer;

// `*tracer` stays NULL when the configuration has no endpoint.
CHECKED bool tracer_open(struct tracer **tracer, struct server *server, struct pawl_error *err);
void tracer_stop(struct tracer *tracer);   // before the store is closed: sends what is there, once
void tracer_close(struct tracer *tracer);  // after it; both take NULL

// Part of an observer; NULL is fine.
void tracer_observe(struct tracer *tracer, const struct observed *observed);

// A request that was answered.
struct traced_request {
    struct trace trace;    // with the span of the request
    uint64_t parent;       // of the caller; 0: none
    const char *method, *route;  // of the table of routes
    int status;
    int64_t took_us;
    struct str org_id;
};
void tracer_request(struct tracer *tracer, const struct traced_request *request);

// How many of a million traces that begin here are kept; TRACE_OFF: there is no tracer.
int64_t tracer_share(const struct tracer *tracer);

// The context of a request: the trace of the caller, whose span is `parent`, or a new one if it may
// begin one, with a span of its own. Else there is none.
struct trace tracer_begin(const struct tracer *tracer, struct str traceparent, bool may_begin,
                          uint64_t *parent);

struct tracer_figures {
    int64_t sent, refused, full, gone;  // spans; the last three are dropped
};
struct tracer_figures tracer_figures(const struct tracer *tracer);  // of NULL: all 0
