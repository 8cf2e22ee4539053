// The alerter: tells the targets of a configuration what they must know, each in its own thread.
//
// What is to be told is in the store (engine/alert.h). A target that is slow or down holds up
// neither the others nor anybody else, and what it was not told yet waits for it, through restarts.
#pragma once

#include "server/config.h"
#include "store/observe.h"

struct alerter;
struct server;

CHECKED bool alerter_open(struct alerter **alerter, struct server *server, struct pawl_error *err);

// These targets instead of those there are. One that is gone is told nothing more, also not what
// waits for it. May wait for messages that are under way.
CHECKED bool alerter_use(struct alerter *alerter, const struct config *config,
                         struct pawl_error *err);

// Part of an observer: logs each alert that was raised, and wakes those who tell it.
void alerter_observe(struct alerter *alerter, const struct observed *observed);

void alerter_stop(struct alerter *alerter);   // before the store is closed; NULL is fine
void alerter_close(struct alerter *alerter);  // after it; NULL is fine
