// Notes in the audit trail, by the two ways of backend.h.
#pragma once

#include "cli/command.h"
#include "engine/annotate.h"

CHECKED bool audit_note(struct cli *cli, struct pawl_error *err);  // pawl audit annotate

CHECKED bool store_annotate(struct cli *cli, const struct annotation *annotation, json_t **event,
                            struct pawl_error *err);
CHECKED bool server_annotate(struct cli *cli, const struct annotation *annotation, json_t **event,
                             struct pawl_error *err);
