// Name, kind and meaning of a figure share one row.
#include "bench/bench.h"

// clang-format off
static const struct figure_row rows[] = {
    [FIGURE_LIFECYCLE_OVER_CONTROL] = { "lifecycle_over_control", FIGURE_RATIO,
        "full lifecycle, as a part of plain inserts" },
    [FIGURE_CONTROL_INSERT_PER_S] = { "control_insert_per_s", FIGURE_RATE,
        "control: plain inserts of the job row" },
    [FIGURE_ENQUEUE_PER_S] = { "enqueue_per_s", FIGURE_RATE,
        "enqueue, in batches" },
    [FIGURE_DRAIN_PER_S] = { "drain_per_s", FIGURE_RATE,
        "drain: claim and start, commit and end, in batches" },
    [FIGURE_CLAIM_PER_S] = { "claim_per_s", FIGURE_RATE,
        "claim and start alone" },
    [FIGURE_LIFECYCLE_PER_S] = { "lifecycle_per_s", FIGURE_RATE,
        "full lifecycle: enqueue, then drain" },
    [FIGURE_RUNNER_DRAIN_PER_S] = { "runner_drain_per_s", FIGURE_RATE,
        "drain by the runner, empty handlers in threads" },
    [FIGURE_LIFECYCLE_CPU_US] = { "lifecycle_cpu_us", FIGURE_TIME,
        "processor time of a full lifecycle" },
    [FIGURE_CONTROL_CPU_US] = { "control_cpu_us", FIGURE_TIME,
        "processor time of a plain insert" },
    [FIGURE_BASE_LIFECYCLE_PER_S] = { "base_lifecycle_per_s", FIGURE_RATE,
        "full lifecycle in the store to compare with" },
    [FIGURE_LIFECYCLE_OVER_BASE] = { "lifecycle_over_base", FIGURE_RATIO,
        "full lifecycle, as a part of that" },
    [FIGURE_CLAIM_OVER_BASE] = { "claim_over_base", FIGURE_RATIO,
        "claim and start, as a part of those in that store" },
    [FIGURE_FILL_PER_S] = { "fill_per_s", FIGURE_RATE,
        "filling the store with what waits" },
    [FIGURE_ONE_THREAD_ENQUEUE_PER_S] = { "one_thread_enqueue_per_s", FIGURE_RATE,
        "single enqueues from one thread" },
    [FIGURE_THREADS_ENQUEUE_PER_S] = { "threads_enqueue_per_s", FIGURE_RATE,
        "single enqueues from all threads" },
    [FIGURE_THREADS_OVER_ONE] = { "threads_over_one", FIGURE_RATIO,
        "all threads, as a multiple of one" },
    [FIGURE_CONTROL_SINGLES_PER_S] = { "control_singles_per_s", FIGURE_RATE,
        "control: plain inserts, one each, by as many connections" },
    [FIGURE_THREADS_OVER_CONTROL] = { "threads_over_control", FIGURE_RATIO,
        "single enqueues from all threads, as a part of those" },
    [FIGURE_RAW_COMMIT_P50_US] = { "raw_commit_p50_us", FIGURE_TIME,
        "control: one plain row, durable, p50" },
    [FIGURE_RAW_COMMIT_P99_US] = { "raw_commit_p99_us", FIGURE_TIME,
        "the same, p99: much above p50 on a busy machine" },
    [FIGURE_PICKUP_P50_US] = { "pickup_p50_us", FIGURE_TIME,
        "pickup: enqueue call to handler start, p50" },
    [FIGURE_PICKUP_P99_US] = { "pickup_p99_us", FIGURE_TIME,
        "pickup, p99" },
    [FIGURE_PICKUP_P50_OVER_COMMIT] = { "pickup_p50_over_commit", FIGURE_RATIO,
        "pickup p50, as a multiple of the raw commit" },
    [FIGURE_PICKUP_P99_OVER_COMMIT] = { "pickup_p99_over_commit", FIGURE_RATIO,
        "pickup p99, as a multiple of the raw commit" },
    [FIGURE_LARGE_OVER_SMALL] = { "large_over_small", FIGURE_RATIO,
        "a transition with 256 KiB, as a multiple of 200 bytes" },
    [FIGURE_RSS_BYTES] = { "rss_bytes", FIGURE_BYTES,
        "memory at most, with the store in use" },
    [FIGURE_DISK_BYTES_PER_JOB] = { "disk_bytes_per_job", FIGURE_BYTES,
        "disk for a finished job" },
    [FIGURE_DISK_BYTES_PER_QUEUED_JOB] = { "disk_bytes_per_queued_job", FIGURE_BYTES,
        "disk for a queued job" },
};
// clang-format on
_Static_assert(countof(rows) == FIGURES, "one row per figure");

const struct figure_row *figure_row(enum figure figure)
{
    return &rows[figure];
}
