// Annotations: what people add to the audit trail, about a job or about another event (OPS-11).
//
// An annotation is an event like any other: appended, sealed with the rest and never changed. One
// about a job, or about an event of a job that is there, is `job.annotated` in the trail of the
// job; any other is `audit.annotated` and has `event:17` as its subject.
#pragma once

#include "engine/event.h"

enum { ANNOTATION_BYTES_MAX = 4096 };

struct annotation {
    struct id job;    // what it is about: a job ...
    int64_t event;    // ... or, when that is {0}, an event
    struct str text;  // kept without its secrets (redact.h)
};

// PAWL_INVALID for a text that is none; PAWL_NOT_FOUND for what the caller may not see.
CHECKED bool audit_annotate(struct tx *tx, const struct annotation *annotation,
                            struct audit_event *made, struct pawl_error *err);
