// The boot of an instance: what a process does before it works, once it holds its name (hold.h).
//
// The hold says that the process which had the name before is dead, so its runs are given their
// verdict now: FAILED with PROCESS_TERMINATED, or another attempt, as their policy says; what had
// committed is finished (RUN-5). Runs of other instances and of remote workers are left to their
// leases. A process that is killed anywhere in here leaves the rest to the next boot.
#pragma once

#include "engine/sweep.h"
#include "run/pipeline.h"

// Random, so that no two starts have the same; it lives in the arena.
struct str boot_id_new(const struct world *world, struct arena *arena);

// Enters the instance and recovers, a bounded piece in each transaction, until nothing is left;
// `total` says what it found. Begin no work before it answers true. After a false it may be asked
// again. PAWL_CONFLICT when its name is not held, or was not by who had it, and that one may live;
// PAWL_FENCED when another boot has entered the instance meanwhile, which a hold prevents.
// From here on the instance is alive for ALIVE_US: renew it with instance_alive.
CHECKED bool boot_enter(struct pipeline *pipeline, const struct instance *instance, bool held,
                        struct recovered *total, struct pawl_error *err);

// The instance ends in good order, when it holds no lease any more.
CHECKED bool boot_leave(struct pipeline *pipeline, const struct instance *instance,
                        struct pawl_error *err);
