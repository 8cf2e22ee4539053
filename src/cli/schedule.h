// The verbs of `pawl schedule` that have a file of their own.
#pragma once

#include "cli/command.h"

// explain EXPR: what a cron expression or an interval means, in words and in its coming slots.
// Needs neither store nor server.
CHECKED bool schedule_explain(struct cli *cli, struct pawl_error *err);
