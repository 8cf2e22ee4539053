// The parts of `pawl schedule` that have a file of their own.
#pragma once

#include "base/json.h"
#include "cli/command.h"

// explain EXPR: what a cron expression or an interval means, in words and in its coming slots.
// Needs neither store nor server.
CHECKED bool schedule_explain(struct cli *cli, struct pawl_error *err);

// `*/15 * * * * Europe/Berlin`, `every 15m`
struct str schedule_when(struct arena *arena, const json_t *schedule);

// What a change of the clock did to a slot, by its word in JSON; nothing for none.
struct str slot_note(const char *clock_change);

// All of one schedule, for people.
void schedule_print(struct cli *cli, const json_t *schedule);
