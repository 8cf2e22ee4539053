// Alerts as JSON: what a webhook or a command is told. Never a payload, and of errors only what was
// made safe when it was stored.
#pragma once

#include "engine/alert.h"

// An alert with its key. `runbook` is the job type's; empty: none. "" when there is no memory.
struct str alert_text(struct arena *arena, const struct alert *alert, struct str runbook);

// A parcel with many alerts, under the key of the first of them.
struct str alert_summary_text(struct arena *arena, const struct parcel *parcel,
                              const struct alert_summary *summary);
struct str alert_parcel_key(struct arena *arena, const struct parcel *parcel);

// A message that says that messages come through.
struct str alert_test_text(struct arena *arena, struct str key, pawl_time at);
