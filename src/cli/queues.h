// The table of queues, for whoever shows it.
#pragma once

#include "cli/output.h"

// The first `rows` of them.
struct table queues_table(struct arena *arena, const json_t *queues, size_t rows, pawl_time now);
