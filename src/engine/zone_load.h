// Time zones by name, as configurations and requests give them.
#pragma once

#include "model/zone.h"

// UTC needs no file. PAWL_INVALID when there is no such zone, with the name that may have been
// meant.
CHECKED bool zone_load(struct arena *arena, struct str name, const struct zone **zone,
                       struct pawl_error *err);
