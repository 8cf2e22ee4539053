// What a command printed, as the result of its job.
#pragma once

#include "base/arena.h"
#include "base/text.h"

// JSON stays as it is; other text becomes a JSON string, without the newlines at its end and with
// U+FFFD for what is not UTF-8. Empty when only space was printed. False when what it becomes is
// longer than `bytes_max`.
CHECKED bool command_result(struct arena *arena, struct str output, size_t bytes_max,
                            struct str *json);
