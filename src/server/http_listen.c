// Of several addresses that a name has, the first is taken.
#include "server/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "server/config.h"

enum { BACKLOG = 1024 };

static bool is_loopback(const struct sockaddr_storage *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    memcpy(&v4, address, sizeof v4);
    memcpy(&v6, address, sizeof v6);
    return address->ss_family == AF_INET ? ntohl(v4.sin_addr.s_addr) >> 24 == 127
                                         : IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

static bool describe(struct listener *listener, struct pawl_error *err)
{
    struct sockaddr_storage bound = {0};
    socklen_t bytes = sizeof bound;
    char host[64], port[16];
    if (getsockname(listener->fd, (struct sockaddr *)&bound, &bytes) != 0
        || getnameinfo((struct sockaddr *)&bound, bytes, host, sizeof host, port, sizeof port,
                       NI_NUMERICHOST | NI_NUMERICSERV)
               != 0)
        return fail(err, PAWL_STORE, "cannot ask for the address that was bound");
    bool v6 = bound.ss_family == AF_INET6;
    snprintf(listener->address, sizeof listener->address, v6 ? "[%s]:%s" : "%s:%s", host, port);
    listener->loopback = is_loopback(&bound);
    return true;
}

static bool bind_one(struct listener *listener, const struct addrinfo *to, struct str address,
                     struct pawl_error *err)
{
    int yes = 1;
    listener->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return fail(err, PAWL_STORE, "cannot make a socket: %s", strerror(errno));
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener->fd, to->ai_addr, to->ai_addrlen) == 0 && listen(listener->fd, BACKLOG) == 0
        && describe(listener, err))
        return true;
    int why = errno;
    close(listener->fd);
    listener->fd = -1;
    if (why == EADDRINUSE)
        return fail(err, PAWL_CONFLICT, "listen: %.*s is taken by another program: stop that, or "
                                        "give another address with --listen",
                    STR(address));
    return fail(err, PAWL_INVALID, "listen: cannot listen on %.*s: %s", STR(address),
                strerror(why));
}

bool listener_open(struct listener *listener, const struct config_listen *to,
                   struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found = NULL;
    struct str port = str_format(&arena, "%lld", (long long)to->port);
    struct str address = str_format(&arena, "%.*s:%.*s", STR(to->host), STR(port));
    listener->fd = -1;
    int why = getaddrinfo(str_cstr(&arena, to->host), str_cstr(&arena, port), &want, &found);
    if (why != 0)
        return fail(err, PAWL_INVALID, "listen: %.*s: %s", STR(address), gai_strerror(why));
    bool bound = bind_one(listener, found, address, err);
    freeaddrinfo(found);
    return bound;
}
