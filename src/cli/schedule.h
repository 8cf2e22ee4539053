// The parts of `pawl schedule` that have a file of their own.
#pragma once

#include "base/json.h"
#include "cli/command.h"

// explain EXPR: what a cron expression or an interval means, in words and in its coming slots.
// Needs neither store nor server.
CHECKED bool schedule_explain(struct cli *cli, struct pawl_error *err);

// `*/15 * * * * Europe/Berlin`, `every 15m`
struct str schedule_when(struct arena *arena, const json_t *schedule);

// All of one schedule, for people.
void schedule_print(struct cli *cli, const json_t *schedule);
