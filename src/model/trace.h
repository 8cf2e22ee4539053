// Trace context (W3C) and which span is whose (OPS-14).
//
// Span ids of jobs and executions are derived from their own ids: every process, after every
// restart, gives the same span to the same thing, and nobody has to store one. The caller's span is
// the parent of the request's, which is the parent of the enqueueing, which is the parent of every
// execution; a follow-up's enqueueing is the child of the execution that made it.
#pragma once

#include "base/arena.h"
#include "base/id.h"

enum { TRACEPARENT_BYTES = 55, TRACE_ALWAYS = 1000000, TRACE_OFF = -1 };

struct trace {
    uint64_t id[2];  // of the trace; both 0: there is none
    uint64_t span;   // 0: none, the next one is the first of its trace
    bool sampled;    // whoever began the trace wants to see it
};

bool trace_exists(const struct trace *trace);
bool trace_parse(struct str traceparent, struct trace *trace);
struct str trace_text(struct arena *arena, const struct trace *trace);  // as a traceparent

// Whether a trace that begins here is one of those that are kept, so many of a million.
bool trace_chosen(const struct trace *trace, int64_t per_million);

// The context a job was made in: its traceparent, or a trace of its own, without a span.
struct trace trace_of_job(struct str traceparent, struct id job, int64_t per_million);

// The same trace, with this span.
struct trace trace_enqueueing(const struct trace *made_in, struct id job);
struct trace trace_claim(const struct trace *made_in, struct id execution);
struct trace trace_execution(const struct trace *made_in, struct id execution);
