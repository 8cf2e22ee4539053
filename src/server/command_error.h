// What a command that failed says of it, where its exit status has no word for it.
#pragma once

#include "base/arena.h"
#include "base/text.h"
#include "model/failure.h"

struct command_error {
    enum error_class class;
    struct str message;      // empty: as without it
    int64_t retry_after_us;  // 0: as the policy says
};

// Reads what it printed, in the words of the API's `fail`:
//     {"error": {"class": "rate_limited", "message": "no more today"}, "retry_after_ms": 60000}
// False when that is anything else: it was meant as a result, or cut off.
bool command_error(struct arena *arena, struct str output, struct command_error *error);
