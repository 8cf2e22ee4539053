// When the three jobs run, and running them now.
#pragma once

#include "brief.h"

// Defines the schedules, and takes part in scheduling.
bool schedules_define(struct brief *brief, struct pawl_error *err);

// Runs the three jobs now, one after the other, each in a slot of its own by manual trigger, which
// obeys the rules of every other slot, and waits for it. False when one did not succeed.
bool schedules_run_all(struct brief *brief, struct pawl_error *err);
