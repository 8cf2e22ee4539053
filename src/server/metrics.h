// Metrics: what the process did, as Prometheus scrapes it (OPS-13).
//
// Counters come from observations of commits (store/observe.h), so they count what is on disk, and
// from the HTTP side; gauges are asked by whoever renders. docs/metrics.md describes each.
#pragma once

#include "base/arena.h"
#include "server/exposition.h"
#include "server/tracer.h"
#include "store/observe.h"

struct metrics;

struct metrics *metrics_open(const struct world *world);  // NULL: no memory
void metrics_close(struct metrics *metrics);              // NULL is fine

// An observer: pawl_observe(pawl, metrics_observe, metrics).
void metrics_observe(void *metrics, const struct observed *observed);

// A request was answered. `route` is the pattern of the route table, never a path somebody sent.
void metrics_http(struct metrics *metrics, const char *method, const char *route, int status);
void metrics_refused(struct metrics *metrics, const char *reason);  // before it reached a route

// A message to a target of alerts: delivered, failed or given_up.
void metrics_alert(struct metrics *metrics, struct str target, const char *outcome);

// What is so now.
struct queue_depth {
    struct str queue, place;  // place: ready, delayed, blocked, ...
    int64_t jobs;
};
struct queue_age {
    struct str queue;
    int64_t oldest_us;        // how long its oldest ready job has waited
};
struct gauges {
    const struct queue_depth *depths;
    size_t depth_count;
    const struct queue_age *ages;
    size_t age_count;
    int64_t store_bytes, wal_bytes;
    int64_t http_waiting;
    struct pawl_figures runner;
    struct tracer_figures spans;
};

// All metrics in the format of EXPOSITION_TYPE. Empty: no memory.
struct str metrics_text(struct arena *arena, struct metrics *metrics, const struct gauges *gauges);

// The table of metrics, for docs and tests; NULL past the end.
const struct metric *metrics_row(size_t index);
