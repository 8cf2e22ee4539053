// What `pawl bench --mode http` measures: a server beside the library, in one run on one disk.
//
// The server is a real one in a process of its own, asked over connections of the loopback
// interface. What it is compared with, the library in this process, takes turns with it, each on a
// temporary store.
#pragma once

#include "bench/bench.h"

enum http_figure {
    HTTP_ENQUEUE_OVER_EMBEDDED,
    HTTP_DRAIN_OVER_EMBEDDED,
    HTTP_POST_P99_OVER_RAW_P99,
    HTTP_IDLE_RSS_BYTES,
    HTTP_IDLE_WAKEUPS_PER_S,
    HTTP_LONGPOLL_RSS_BYTES,
    HTTP_SERVE_READY_MS,
    HTTP_ENQUEUE_PER_S,
    HTTP_EMBEDDED_ENQUEUE_PER_S,
    HTTP_DRAIN_PER_S,
    HTTP_EMBEDDED_DRAIN_PER_S,
    HTTP_POST_P50_US,
    HTTP_POST_P99_US,
    HTTP_RAW_COMMIT_P50_US,
    HTTP_RAW_COMMIT_P99_US,
    HTTP_PACED_COMMIT_P99_US,
    HTTP_LONGPOLL_COUNT,
    HTTP_LONGPOLL_FRESH_RSS_BYTES,
    HTTP_RSS_BYTES,
    HTTP_FIGURES
};

enum target { TARGET_NONE, TARGET_AT_LEAST, TARGET_AT_MOST };

struct http_figure_row {
    const char *name;  // in JSON
    enum figure_kind kind;
    const char *text;  // what it is, for people
    enum target target;
    double bound;
};

const struct http_figure_row *http_figure_row(enum http_figure figure);
bool http_figure_met(enum http_figure figure, double value);

struct http_bench {
    struct bench_options options;
    struct arena *arena;
    double figures[HTTP_FIGURES];
};

enum { LONGPOLLS = 5000 };  // as many as the limit of open files allows: see HTTP_LONGPOLL_COUNT

CHECKED bool http_bench_run(struct http_bench *bench, struct pawl_error *err);
