// Limits, as both backends give them: {"limits": [...], "pauses": [...]}.
#pragma once

#include "cli/command.h"

CHECKED bool store_limits(struct cli *cli, json_t **limits, struct pawl_error *err);
CHECKED bool store_type_resume(struct cli *cli, struct str job_type, struct pawl_error *err);
CHECKED bool server_limits(struct cli *cli, json_t **limits, struct pawl_error *err);
CHECKED bool server_type_resume(struct cli *cli, struct str job_type, struct pawl_error *err);
