// The sweep's part that removes idempotency keys.
#pragma once

#include "engine/sweep.h"

// One piece of at most `limit` records.
CHECKED bool sweep_keys(struct tx *tx, size_t limit, struct swept *swept, struct pawl_error *err);
