// What differs between two payloads, place by place: shown when a dead letter is fixed (OPS-8).
#pragma once

#include "base/json.h"

enum { CHANGES_MAX = 200 };

// A list of {"path", "before", "after"}: the path is a JSON pointer (RFC 6901), and null stands for
// what is not there. At most CHANGES_MAX of them. The caller owns it; NULL: no memory.
json_t *payload_diff(struct arena *arena, const json_t *before, const json_t *after);
