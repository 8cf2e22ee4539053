// The file of a store: which one it is, and whether it can be one.
#pragma once

#include "base/error.h"

// Replaces `*path`, which was allocated, by the file itself, whatever links lead to it: the lock
// file must be the same by every name. A file that is yet to be made is named by its directory.
CHECKED bool file_resolve(char **path, struct pawl_error *err);

// Refuses a network file system, where file locks and shared memory do not work reliably.
CHECKED bool file_on_this_machine(const char *path, struct pawl_error *err);
