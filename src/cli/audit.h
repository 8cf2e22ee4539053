// The parts of `pawl audit`.
#pragma once

#include "cli/command.h"

// Refuses what cannot be done through a server.
CHECKED bool audit_on_store(const struct cli *cli, struct pawl_error *err);

CHECKED bool audit_export(struct cli *cli, struct pawl_error *err);
