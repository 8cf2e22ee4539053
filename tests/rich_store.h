// A store with a job in every state, phase and history there is. Each job has a type of its own,
// which is its name.
#pragma once

#include "fixture.h"

void rich_store(struct box *box);

// The one job of this type, leased, or leased and started.
struct lease take(struct box *box, const char *job_type, bool start);
