// A table of chains: who holds many connections from many addresses makes one long, which costs no
// more than as many connections do.
#include "server/http_address.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool read_bytes(const struct sockaddr *of, unsigned char bytes[16])
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (of->sa_family == AF_INET) {
        memcpy(&v4, of, sizeof v4);
        memcpy(bytes, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (of->sa_family == AF_INET6) {
        memcpy(&v6, of, sizeof v6);
        memcpy(bytes, &v6.sin6_addr, sizeof v6.sin6_addr);
    }
    return of->sa_family == AF_INET || of->sa_family == AF_INET6;
}

static struct address **chain_of(struct addresses *all, const unsigned char bytes[16])
{
    uint64_t hash = 0;  // only spreads, guards nothing
    for (size_t i = 0; i < 16; i++)
        hash = (hash ^ bytes[i]) * 0x9e3779b97f4a7c15;
    return &all->chains[(hash >> 32) % ADDRESS_CHAINS];
}

static struct address *add(struct address **chain, const unsigned char bytes[16])
{
    struct address *address = calloc(1, sizeof *address);
    if (!address)
        return NULL;
    memcpy(address->bytes, bytes, sizeof address->bytes);
    address->next = *chain;
    address->place = chain;
    if (address->next)
        address->next->place = &address->next;
    *chain = address;
    return address;
}

struct address *address_take(struct addresses *all, const struct sockaddr *of)
{
    unsigned char bytes[16] = {0};
    if (!read_bytes(of, bytes))
        return NULL;
    struct address **chain = chain_of(all, bytes), *address = *chain;
    while (address && memcmp(address->bytes, bytes, sizeof bytes) != 0)
        address = address->next;
    if (!address)
        address = add(chain, bytes);
    if (address)
        address->connections++;
    return address;
}

void address_give(struct address *address)
{
    if (!address || --address->connections > 0)
        return;
    *address->place = address->next;
    if (address->next)
        address->next->place = address->place;
    free(address);
}
