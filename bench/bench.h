// What `pawl bench` measures: the plan, and the table of figures that comes out.
#pragma once

#include "base/list.h"
#include "bench/stand.h"

struct bench_options {
    const char *store;      // NULL: a temporary one
    const char *directory;  // where temporary stores are made
    long jobs, payload_bytes, batch, workers, threads;
    long queued, blocked;   // in the store before it is measured
    long orgs, types;
    // How far it is; may be NULL. `total` is what this part of the plan has to do.
    void (*progress)(void *self, const char *part, long done, long total);
    void *self;
};
void bench_tell(const struct bench_options *options, const char *part, long done, long total);

enum figure {
    FIGURE_LIFECYCLE_OVER_CONTROL,
    FIGURE_CONTROL_INSERT_PER_S,
    FIGURE_ENQUEUE_PER_S,
    FIGURE_DRAIN_PER_S,
    FIGURE_CLAIM_PER_S,
    FIGURE_LIFECYCLE_PER_S,
    FIGURE_RUNNER_DRAIN_PER_S,
    FIGURE_LIFECYCLE_CPU_US,
    FIGURE_CONTROL_CPU_US,
    FIGURE_BASE_LIFECYCLE_PER_S,
    FIGURE_LIFECYCLE_OVER_BASE,
    FIGURE_CLAIM_OVER_BASE,
    FIGURE_FILL_PER_S,
    FIGURE_ONE_THREAD_ENQUEUE_PER_S,
    FIGURE_THREADS_ENQUEUE_PER_S,
    FIGURE_THREADS_OVER_ONE,
    FIGURE_CONTROL_SINGLES_PER_S,
    FIGURE_THREADS_OVER_CONTROL,
    FIGURE_RAW_COMMIT_P50_US,
    FIGURE_RAW_COMMIT_P99_US,
    FIGURE_PICKUP_P50_US,
    FIGURE_PICKUP_P99_US,
    FIGURE_PICKUP_P50_OVER_COMMIT,
    FIGURE_PICKUP_P99_OVER_COMMIT,
    FIGURE_LARGE_OVER_SMALL,
    FIGURE_RSS_BYTES,
    FIGURE_DISK_BYTES_PER_JOB,
    FIGURE_DISK_BYTES_PER_QUEUED_JOB,
    FIGURES
};

enum figure_kind {
    FIGURE_RATE,   // a second
    FIGURE_RATIO,
    FIGURE_TIME,   // in microseconds
    FIGURE_MS,     // a time in milliseconds
    FIGURE_BYTES,
    FIGURE_COUNT,
    FIGURE_KINDS
};

struct figure_row {
    const char *name;  // in JSON
    enum figure_kind kind;
    const char *text;  // what it is, for people
};

const struct figure_row *figure_row(enum figure figure);

// What a transition costs with a small and with a large payload, in transactions of `group` jobs.
enum { PAYLOAD_SMALL = 200, PAYLOAD_LARGE = 256 << 10, GROUPS = 2 };
struct transition_cost {
    long group;
    double small_us[TRANSITIONS], large_us[TRANSITIONS];  // per job
};

// A part of the file, in bytes per job: after enqueueing them, and after they have ended.
struct disk_row {
    struct str name;
    double queued, finished;
};

struct bench {
    struct bench_options options;
    struct arena *arena;
    const char *base;         // what base_lifecycle_per_s is the figure of; NULL: not measured
    bool given[FIGURES];      // it was measured
    double figures[FIGURES];
    struct transition_cost costs[GROUPS];
    struct list disk;         // of struct disk_row, the largest first
};

// Measures. What it says lives in `arena`. A store that holds jobs is refused with PAWL_CONFLICT
// unless `force`.
CHECKED bool bench_run(struct bench *bench, bool force, struct pawl_error *err);
