// Time zone files of this system: the only place that reads them. What is in them is model/zone.h.
#pragma once

#include "base/error.h"

enum { ZONE_NAME_BYTES_MAX = 64 };

// The file of a zone such as Europe/Berlin, below $TZDIR or else /usr/share/zoneinfo. PAWL_INVALID
// when there is none, with the name that may have been meant; PAWL_STORE when it cannot be read.
CHECKED bool tzdata_read(struct arena *arena, struct str name, struct str *bytes,
                         struct pawl_error *err);
