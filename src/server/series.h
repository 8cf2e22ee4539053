// The series of one metric: a number, or a histogram, for each combination of label values.
//
// Label values come from users: a metric has at most SERIES_MAX series, and whatever would be one
// more is counted under the value `other`, so that neither memory nor a scrape grows without bound.
#pragma once

#include "base/text.h"

enum {
    SERIES_MAX = 1000,  // of one metric, `other` included
    LABELS_MAX = 3,
    LABEL_BYTES_MAX = 128,
    BUCKETS_MAX = 16,
    SERIES_KNOWN = 64
};

struct series {
    struct str labels[LABELS_MAX];
    double value;                  // of a counter or a gauge; of a histogram, the sum
    int64_t count;                 // of a histogram
    int64_t buckets[BUCKETS_MAX];  // what fell into each; above the last is in `count` only
};

struct series_set {
    struct series *all;
    size_t count, capacity;
    uint16_t *index;  // by hash, 1 + the place in `all`; 0: free
    int64_t folded;   // how often `other` had to do
    struct {
        uint64_t key;
        size_t place;
    } known[SERIES_KNOWN];  // see series_known
};

// The series with these labels, made when it is new; NULL: no memory. It stays where it is until
// the next one is made.
struct series *series_at(struct series_set *set, const struct str *labels, size_t label_count);
// The same without comparing texts, most of the time: `key` is a number that stands for these
// labels and never for others.
struct series *series_known(struct series_set *set, uint64_t key, const struct str *labels,
                            size_t label_count);
void series_end(struct series_set *set);

// Adds to a histogram with these upper bounds, in rising order.
void series_record(struct series *series, const double *bounds, size_t bound_count, double value);
