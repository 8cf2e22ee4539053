// Which errors are the same: a short name for what went wrong, without what differs from one
// occurrence to the next. Dead letters are grouped by it (OPS-8).
#pragma once

#include "base/arena.h"
#include "base/text.h"

enum { FINGERPRINT_DIGITS = 12, PATTERN_BYTES_MAX = 512 };

// The message with `<text>` for quoted parts, `<id>` for ids and `<n>` for numbers, and one space
// for any white space: `order <id> of <text> failed after <n> s`.
struct str error_pattern(struct arena *arena, struct str message);

// Hexadecimal digits: of the type of the job, of what kind of error it was, and of the pattern of
// its message. The same in every version, for people write it down.
struct str fingerprint(struct arena *arena, struct str job_type, struct str kind,
                       struct str pattern);

bool fingerprint_valid(struct str text);
