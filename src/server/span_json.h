// Spans in the JSON of OTLP, one message for many.
#pragma once

#include "base/json_put.h"
#include "model/trace.h"

// As OTLP numbers them.
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_PRODUCER = 4, SPAN_CONSUMER = 5 };

enum { SPAN_ATTRIBUTES_MAX = 8 };

struct span_attribute {
    const char *key;  // NULL: none
    struct str text;  // empty: it is the number
    int64_t number;
};

struct span {
    struct trace trace;    // with its own span
    uint64_t parent;       // 0: it is the first of its trace
    enum span_kind kind;
    struct str name;
    pawl_time begun, ended;
    bool failed;
    struct str why;        // it failed: a class, never a message
    struct trace link;     // to what it follows from; without a span: none
    struct span_attribute attributes[SPAN_ATTRIBUTES_MAX];
};

void spans_open(struct buf *out, struct str service_name, struct str instance);
void span_put(struct buf *out, const struct span *span);
void spans_close(struct buf *out);
