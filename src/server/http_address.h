// How many connections each address has. From one thread.
#pragma once

#include <stddef.h>
#include <sys/socket.h>

enum { ADDRESS_CHAINS = 1024 };

// As long as it has connections.
struct address {
    unsigned char bytes[16];  // IPv6, or IPv4 in its first four
    size_t connections;
    struct address *next, **place;
};

// Zero is an empty one.
struct addresses {
    struct address *chains[ADDRESS_CHAINS];
};

// One connection more. NULL when there is no memory, or it is neither IPv4 nor IPv6.
struct address *address_take(struct addresses *all, const struct sockaddr *of);

// One fewer: the last one ends it. NULL is fine.
void address_give(struct address *address);
