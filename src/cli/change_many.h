// pawl cancel and retry without an ID: all jobs of a filter, piece by piece.
#pragma once

#include "cli/backend.h"

CHECKED bool change_many(struct cli *cli, enum job_act act, struct pawl_error *err);

// An ID was given: a filter beside it is a mistake.
CHECKED bool one_meant(const struct cli *cli, struct pawl_error *err);
