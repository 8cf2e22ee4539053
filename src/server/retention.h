// Retention as a job of Pawl's own: the schedule `pawl.retention` runs it every hour, in an org of
// Pawl's own, so that it is seen, paused and audited like any other (OPS-25).
//
// It goes piece by piece through the commit pipeline, and rests between pieces as long as its rate
// asks for: the work of others goes first. What a run does not get done the next one does.
#pragma once

#include "server/config.h"
#include "server/server.h"

#define PAWL_ORG S("00000000-0000-7000-8000-000000000001")  // whose jobs are Pawl's own
#define RETENTION_TYPE "pawl.retention"

// The handler that runs it, with the times of this configuration.
CHECKED bool retention_handler(struct server *server, const struct config *config,
                               struct pawl_handler *handler, struct pawl_error *err);

// Puts its schedule into the store, unless it is there.
CHECKED bool retention_schedule(struct tx *tx, struct pawl_error *err);
