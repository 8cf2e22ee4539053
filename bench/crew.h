// Threads that do the same thing at once, each with a member of its own.
#pragma once

#include <pthread.h>

#include "base/error.h"

// The first field of a member.
struct member {
    pthread_t thread;
    struct pawl_error error;  // what kept it from its work; else the code stays PAWL_OK
};

// Starts one thread for each of `count` members of `size` bytes, and waits for all that were
// started. The first error of a member is that of all.
CHECKED bool crew_work(void *members, size_t size, long count, void *(*work)(void *member),
                       struct pawl_error *err);
