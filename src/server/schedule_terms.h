// The terms of a schedule as a server takes them, from its configuration and over HTTP alike.
#pragma once

#include "model/schedule.h"
#include "server/config.h"

// Completes a schedule with the policy of this name, `scheduled` when there is none, and adds a
// problem for everything that is wrong: with its terms, with its time zone, with the jobs it would
// make.
void schedule_complete(const struct config *config, struct str policy, struct schedule *schedule,
                       struct problems *problems);
