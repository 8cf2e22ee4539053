// The sweep's part that removes idempotency keys.
#pragma once

#include "engine/sweep.h"

// One piece of at most `limit` records. Nothing waits for it: it has no part in `swept->next`.
CHECKED bool sweep_keys(struct tx *tx, size_t limit, struct swept *swept, struct pawl_error *err);
