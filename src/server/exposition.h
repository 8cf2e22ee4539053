// The Prometheus text format, version 0.0.4: one metric with its series.
#pragma once

#include "server/series.h"

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name;
    enum metric_kind kind;
    const char *help;                // one line, a sentence
    const char *labels[LABELS_MAX];  // NULL after the last
    const double *bounds;            // of a histogram's buckets, in rising order
    size_t bound_count;
};

size_t metric_label_count(const struct metric *metric);

// Writes the metric's head, and a sample, or a histogram's samples, for each of its series. One
// without labels and without a series is 0.
void exposition_add(struct buf *buf, const struct metric *metric, const struct series *series,
                    size_t count);
