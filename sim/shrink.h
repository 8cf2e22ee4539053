// Makes a run that fails smaller, as long as it fails.
#pragma once

#include "sim.h"

// Switches off, one at a time, whatever the failure does not need, and cuts off the calls behind
// it. `options` is the smallest run found; it fails, and is the last that `sim` ran.
void shrink(struct sim *sim, struct sim_options *options);
