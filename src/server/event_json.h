// Audit events and steps as objects of the interface.
#pragma once

#include "engine/event.h"
#include "engine/step.h"
#include "model/job.h"
#include "server/exchange.h"

// The caller owns the values.
json_t *event_json(struct arena *arena, const struct audit_event *event);
// An event of events_of_job, which leaves out what all of a job's have in common.
json_t *job_event_json(struct arena *arena, const struct job *job, const struct audit_event *event);

json_t *step_json(struct arena *arena, const struct step *step, bool with_result);
json_t *step_view(struct exchange *x, const struct step *step);  // as far as the caller may see
