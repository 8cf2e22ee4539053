// pawl watch, in its parts.
#pragma once

#include <stdio.h>

#include "base/id.h"
#include "base/json.h"
#include "cli/command.h"

#define WATCH_EVERY_US SECONDS(1)

// What there is to see at a moment. The lists belong to the view.
struct view {
    json_t *queues, *workers;
    json_t *ends;  // audit events of jobs that ended, newest first
};

enum { ENDS_SEEN_MAX = 50 };

CHECKED bool view_look(struct cli *cli, struct view *view, struct pawl_error *err);
void view_end(struct view *view);  // for SCOPED(view)

// Follows one job to its end, and says on `to` what becomes of it meanwhile: a line that is written
// over on a terminal, a line for each change elsewhere. The caller owns `ended`.
CHECKED bool watch_to_end(struct cli *cli, struct id id, FILE *to, json_t **ended,
                          struct pawl_error *err);

// pawl watch ID: follows one job to its end: status 0 when it SUCCEEDED, else 1.
CHECKED bool watch_job(struct cli *cli, struct pawl_error *err);
