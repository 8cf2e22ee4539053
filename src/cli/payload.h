// A payload as people type it.
#pragma once

#include "base/json.h"
#include "cli/command.h"

// The JSON of `text`; `-` reads standard input. Whether it is an object the contract says. The
// caller owns it.
CHECKED bool payload_read(struct cli *cli, struct str text, json_t **payload,
                          struct pawl_error *err);
