// `pawl org erase`.
#pragma once

#include "cli/command.h"

CHECKED bool org_erase(struct cli *cli, struct pawl_error *err);
