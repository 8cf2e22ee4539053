// A commit pipeline by hand, and single jobs through it: what tests of a failing store ask for.
#pragma once

#include "fixture.h"
#include "run/pipeline.h"

struct pipeline *pipeline_to(struct str url, const struct world *world);

// Enqueues the job and waits for the answer. `known`: another had its key; NULL: of no interest.
CHECKED bool enqueue_through(struct pipeline *pipeline, const struct box *box,
                             struct contract contract, bool *known, struct pawl_error *err);
