// Explaining: why a job is where it is, what it waits for, why it ended as it did, what to do next.
//
// The answer comes from the questions that claim and sweep themselves ask (place_key_use,
// queue_paused, share_paused, execution_took_too_long, the order of the lanes), so the two cannot
// disagree. It only reads, looks at a bounded number of rows, and tells a caller nothing about jobs
// of other orgs or of projects that it may not see: it counts and names only what the caller could
// list itself.
#pragma once

#include "base/json.h"
#include "model/cause.h"
#include "model/job.h"
#include "store/db.h"

struct reason {
    enum cause cause;
    struct str sentence;
    struct str advice;  // empty: nothing can be done, or need be
};

enum { ALSO_MAX = 8,           // reasons besides the first
       AHEAD_COUNTED = 1000 }; // jobs before it; beyond that there are just more

struct explanation {
    struct job job;    // its state and phase mean nothing when the cause is CAUSE_DAMAGED
    struct reason why;
    struct reason also[ALSO_MAX];
    size_t also_count;
    // Of the first cause; 0 or empty: it has none.
    pawl_time since, until;
    struct str worker;
    struct id related;
    int64_t ahead;     // jobs before it that the caller may see; -1: that is not what it waits for
    bool ahead_more;   // and others were not looked at
};

// PAWL_NOT_FOUND as job_load. Damaged records are a cause, not an error.
CHECKED bool job_explain(struct tx *tx, struct id id, struct explanation *explanation,
                         struct pawl_error *err);

json_t *explanation_json(struct arena *arena, const struct explanation *explanation);
