// How much goes through a queue: jobs that were enqueued and that ended in the last minute.
//
// Time is cut into periods of ten seconds. The last minute is six of them and a part of a seventh,
// of which as much counts as lies within the minute: exact when jobs come evenly, and off by no
// more than what came in those ten seconds.
#pragma once

#include "store/db.h"

enum queue_flow { FLOW_ENQUEUED, FLOW_ENDED, FLOWS };

enum { FLOW_WHOLE = 1000 };  // of a period, all counts

int64_t flow_period(pawl_time now);

// How much of what happened in the period was in the last minute: 0 to FLOW_WHOLE.
int64_t flow_weight(int64_t period, pawl_time now);

// So many more, of a period that still counts.
CHECKED bool flow_add(struct tx *tx, int64_t org, int64_t queue, int64_t period,
                      const int64_t flows[FLOWS], struct pawl_error *err);
