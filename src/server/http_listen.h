// The listening socket: from a host and a port to a descriptor.
#pragma once

#include "base/error.h"

struct listener {
    int fd;
    bool loopback;          // only this machine can reach it
    char address[128];      // as it was bound, the port filled in: `127.0.0.1:7319`
};

// Binds and listens. PAWL_INVALID when the address cannot be understood, PAWL_CONFLICT when another
// program has it.
struct config_listen;
CHECKED bool listener_open(struct listener *listener, const struct config_listen *to,
                           struct pawl_error *err);
