// When the three jobs run, and running one of them now.
#pragma once

#include "brief.h"

// Defines the schedules; `paused`: only by hand.
bool schedules_define(struct brief *brief, bool paused, struct pawl_error *err);

// Runs one job of each kind, one after the other, each in a slot of its own, and waits for it.
// False when one did not succeed.
bool schedules_run_all(struct brief *brief, struct pawl_error *err);
