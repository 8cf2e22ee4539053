// A command that is told of an alert, under a supervisor like every command.
#pragma once

#include "server/alert_target.h"

// Runs it, and ends it with all it has started when its time is over or somebody says stop.
void alert_command(const struct config_alert *target, const struct telling *telling,
                   const _Atomic bool *stop, struct told *told);
