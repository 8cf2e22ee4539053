// The server that is measured: this program again, as `pawl serve`, in a process of its own.
//
// It works in the place (place.h), listens on a free port of the loopback interface, writes its log
// to a file there, and dies with this process however that ends.
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct served {
    pid_t pid;  // 0: not running
    int port;
};

// Starts it on PLACE_STORE and waits until it says that it is ready: how long from the start of
// the process until then.
CHECKED bool served_start(struct served *served, double *ready_s, struct pawl_error *err);

// Asks it to end, which it must do well.
CHECKED bool served_stop(struct served *served, struct pawl_error *err);
void served_end(struct served *served);  // kills it; with the zero value: nothing

// 0 when the kernel does not say.
int64_t served_resident_bytes(const struct served *served);
int64_t served_resident_bytes_max(const struct served *served);
int64_t served_sleeps(const struct served *served);  // of all its threads, so far
