// A batch as the interface shows it.
#pragma once

#include "base/text.h"
#include "engine/batch.h"

// Its fields, into an object that is open.
void batch_put(struct buf *out, const struct job_batch *batch);
// The whole object; empty when there is no memory.
struct str batch_text(struct arena *arena, const struct job_batch *batch);
