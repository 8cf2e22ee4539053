// Workers that are there now, as people want to see them.
#pragma once

#include "base/json.h"
#include "store/db.h"

struct live_worker {
    struct str worker_id;
    struct str instance;         // empty: a remote one
    int64_t executions;          // that it holds, of the caller's org
    pawl_time first_seen_at;
    pawl_time lease_expires_at;  // the last of them; 0: it holds none
};

// Those that hold executions of the caller's org, the busiest first, then the processes of Pawl's
// own that live and hold none of it; at most `limit`. A remote worker without a lease is unknown.
CHECKED bool workers_live(struct tx *tx, size_t limit, struct live_worker **workers, size_t *count,
                          struct pawl_error *err);

json_t *worker_json(struct arena *arena, const struct live_worker *worker);  // the caller owns it
