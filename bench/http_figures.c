// Name, kind, meaning and target of a figure share one row. Those with a target come first.
#include "bench/http.h"

#define MIB (1 << 20)

// clang-format off
static const struct http_figure_row rows[] = {
    [HTTP_ENQUEUE_OVER_EMBEDDED] = { "http_enqueue_over_embedded", FIGURE_RATIO,
        "single POSTs, of embedded enqueues", TARGET_AT_LEAST, 0.5 },
    [HTTP_DRAIN_OVER_EMBEDDED] = { "http_drain_over_embedded", FIGURE_RATIO,
        "drain in batches over HTTP, of the embedded", TARGET_AT_LEAST, 0.5 },
    [HTTP_POST_P99_OVER_RAW_P99] = { "http_post_p99_over_raw_p99", FIGURE_RATIO,
        "POST p99 at 1,000/s, of raw commits at that pace", TARGET_AT_MOST, 5 },
    [HTTP_IDLE_RSS_BYTES] = { "idle_rss_bytes", FIGURE_BYTES,
        "memory of an idle server", TARGET_AT_MOST, 20 * MIB },
    [HTTP_IDLE_WAKEUPS_PER_S] = { "idle_wakeups_per_s", FIGURE_RATE,
        "wake-ups of an idle server, all threads", TARGET_AT_MOST, 3 },
    [HTTP_LONGPOLL_RSS_BYTES] = { "longpoll_rss_bytes", FIGURE_BYTES,
        "memory with all long-polls waiting", TARGET_AT_MOST, 100 * MIB },
    [HTTP_SERVE_READY_MS] = { "serve_ready_ms", FIGURE_MS,
        "ms from start to /readyz, existing store", TARGET_AT_MOST, 50 },
    [HTTP_ENQUEUE_PER_S] = { "http_enqueue_per_s", FIGURE_RATE,
        "single durable POSTs from all connections", TARGET_NONE, 0 },
    [HTTP_EMBEDDED_ENQUEUE_PER_S] = { "embedded_enqueue_per_s", FIGURE_RATE,
        "the same through the library, from as many threads", TARGET_NONE, 0 },
    [HTTP_DRAIN_PER_S] = { "http_drain_per_s", FIGURE_RATE,
        "drain over HTTP, one connection, in batches", TARGET_NONE, 0 },
    [HTTP_EMBEDDED_DRAIN_PER_S] = { "embedded_drain_per_s", FIGURE_RATE,
        "the same through the library, in the same batches", TARGET_NONE, 0 },
    [HTTP_POST_P50_US] = { "http_post_p50_us", FIGURE_TIME,
        "a POST at 1,000 a second, from when it was due, p50", TARGET_NONE, 0 },
    [HTTP_POST_P99_US] = { "http_post_p99_us", FIGURE_TIME,
        "the same, p99", TARGET_NONE, 0 },
    [HTTP_RAW_COMMIT_P50_US] = { "raw_commit_p50_us", FIGURE_TIME,
        "control: one plain row, durable, p50", TARGET_NONE, 0 },
    [HTTP_RAW_COMMIT_P99_US] = { "raw_commit_p99_us", FIGURE_TIME,
        "the same, p99: much above p50 on a busy machine", TARGET_NONE, 0 },
    [HTTP_PACED_COMMIT_P99_US] = { "paced_commit_p99_us", FIGURE_TIME,
        "the same at 1,000 a second, from when it was due, p99", TARGET_NONE, 0 },
    [HTTP_LONGPOLL_COUNT] = { "longpoll_count", FIGURE_COUNT,
        "long-polls that wait at once", TARGET_NONE, 0 },
    [HTTP_LONGPOLL_FRESH_RSS_BYTES] = { "longpoll_fresh_rss_bytes", FIGURE_BYTES,
        "memory with as many on connections that were never used", TARGET_NONE, 0 },
    [HTTP_RSS_BYTES] = { "http_rss_bytes", FIGURE_BYTES,
        "memory of the server at most, under the load above", TARGET_NONE, 0 },
};
// clang-format on
_Static_assert(countof(rows) == HTTP_FIGURES, "one row per figure");

const struct http_figure_row *http_figure_row(enum http_figure figure)
{
    return &rows[figure];
}

bool http_figure_met(enum http_figure figure, double value)
{
    const struct http_figure_row *row = &rows[figure];
    return row->target == TARGET_AT_LEAST ? value >= row->bound : value <= row->bound;
}
