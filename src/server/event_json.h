// Audit events and steps as objects of the interface.
#pragma once

#include "engine/event.h"
#include "engine/step.h"
#include "server/exchange.h"

// The caller owns the values.
json_t *event_json(struct arena *arena, const struct audit_event *event);
json_t *step_view(struct exchange *x, const struct step *step);
