// How schedules are printed.
#pragma once

#include "base/json.h"
#include "cli/command.h"

// `*/15 * * * * Europe/Berlin`, `every 15m`
struct str schedule_when(struct arena *arena, const json_t *schedule);

// All of one schedule, for people.
void schedule_print(struct cli *cli, const json_t *schedule);
