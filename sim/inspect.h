// Everything that must hold in a store at any time: SQLite's own check of its file, and what
// `pawl verify` checks.
#pragma once

#include "process.h"

void inspect(struct sim *sim, struct process *process);
int64_t inspect_effects(struct sim *sim, struct process *process);  // rows; -1: unknown
