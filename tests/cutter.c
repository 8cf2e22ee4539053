// A thread accepts, and one for each connection passes bytes on. A client sends COMMIT by the name
// of a prepared statement, behind others whose answers it has not read.
#include "cutter.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char commit_name[] = "pawl_commit";
enum { PARSE_HEAD = 5, BIND_HEAD = 6 };  // what stands before the name in either message

struct cutter {
    struct sockaddr_un at, server;
    int listener;
    pthread_t thread;
    _Atomic int armed;
    _Atomic int64_t cuts;
};

struct link {
    struct cutter *cutter;
    int client, server;
};

static bool pass_on(int to, const char *bytes, ssize_t n)
{
    while (n > 0) {
        ssize_t written = send(to, bytes, (size_t)n, MSG_NOSIGNAL);
        if (written <= 0)
            return false;
        bytes += written;
        n -= written;
    }
    return true;
}

// How much of it stands before the message that names the COMMIT. No message: all of it.
static ssize_t before_commit(const char *bytes, ssize_t n)
{
    const char *name = memmem(bytes, (size_t)n, commit_name, sizeof commit_name);
    if (!name || name - bytes < BIND_HEAD)
        return n;
    return name - bytes - (name[-PARSE_HEAD] == 'P' ? PARSE_HEAD : BIND_HEAD);
}

// The server says nothing before all has come that the client sends with the COMMIT.
static bool wait_for_answer(struct link *link)
{
    char bytes[4096];
    for (;;) {
        struct pollfd fds[] = { { .fd = link->client, .events = POLLIN },
                                { .fd = link->server, .events = POLLIN } };
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents)
            return recv(link->server, bytes, 1, 0) == 1;
        ssize_t n = read(link->client, bytes, sizeof bytes);
        if (n <= 0 || !pass_on(link->server, bytes, n))
            return false;
    }
}

// False: the connection is over.
static bool commit_through(struct link *link, const char *bytes, ssize_t n)
{
    int cut = atomic_exchange(&link->cutter->armed, CUT_NONE);
    if (cut == CUT_NONE)
        return pass_on(link->server, bytes, n);
    pass_on(link->server, bytes, cut == CUT_BEFORE ? before_commit(bytes, n) : n);
    if (cut == CUT_AFTER && !wait_for_answer(link))
        return false;
    link->cutter->cuts++;
    return false;
}

static bool from_client(struct link *link)
{
    char bytes[16384];
    ssize_t n = read(link->client, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    if (before_commit(bytes, n) < n)
        return commit_through(link, bytes, n);
    return pass_on(link->server, bytes, n);
}

static bool from_server(struct link *link)
{
    char bytes[16384];
    ssize_t n = read(link->server, bytes, sizeof bytes);
    return n > 0 && pass_on(link->client, bytes, n);
}

static void *serve(void *self)
{
    struct link *link = self;
    bool open = true;
    while (open) {
        struct pollfd fds[] = { { .fd = link->client, .events = POLLIN },
                                { .fd = link->server, .events = POLLIN } };
        if (poll(fds, 2, -1) < 0)
            continue;
        open = (!fds[1].revents || from_server(link)) && (!fds[0].revents || from_client(link));
    }
    close(link->client);
    close(link->server);
    free(link);
    return NULL;
}

static void *accept_all(void *self)
{
    struct cutter *cutter = self;
    for (int client; (client = accept(cutter->listener, NULL, NULL)) >= 0;) {
        struct link *link = malloc(sizeof *link);
        pthread_t thread;
        *link = (struct link){ cutter, client, socket(AF_UNIX, SOCK_STREAM, 0) };
        if (connect(link->server, (struct sockaddr *)&cutter->server, sizeof cutter->server) == 0
            && pthread_create(&thread, NULL, serve, link) == 0) {
            pthread_detach(thread);
            continue;
        }
        close(link->client);
        close(link->server);
        free(link);
    }
    return NULL;
}

static void name_socket(struct sockaddr_un *address, struct str directory)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(address->sun_path, sizeof address->sun_path, "%.*s/.s.PGSQL.5432",
                     STR(directory));
    EXPECT(n > 0 && (size_t)n < sizeof address->sun_path);
}

struct cutter *cutter_open(const char *directory, struct str url, struct str *through)
{
    struct cutter *cutter = calloc(1, sizeof *cutter);
    const char *host = strstr(url.s, "host=");
    EXPECT(cutter && host);
    struct str before = { url.s, (size_t)(host - url.s) + S("host=").n }, after = str_of(host), old,
               rest;
    after = (struct str){ after.s + S("host=").n, after.n - S("host=").n };
    bool more = str_cut(after, '&', &old, &rest) && rest.n;
    name_socket(&cutter->server, old);
    name_socket(&cutter->at, str_of(directory));
    *through = str_format(test_arena(), "%.*s%s%s%.*s", STR(before), directory, more ? "&" : "",
                          STR(rest));
    cutter->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT(bind(cutter->listener, (struct sockaddr *)&cutter->at, sizeof cutter->at) == 0);
    EXPECT(listen(cutter->listener, 64) == 0);
    EXPECT(pthread_create(&cutter->thread, NULL, accept_all, cutter) == 0);
    return cutter;
}

void cutter_close(struct cutter *cutter)
{
    shutdown(cutter->listener, SHUT_RDWR);
    pthread_join(cutter->thread, NULL);
    close(cutter->listener);
    unlink(cutter->at.sun_path);
    free(cutter);
}

void cutter_arm(struct cutter *cutter, enum cut cut)
{
    atomic_store(&cutter->armed, (int)cut);
}

int64_t cutter_cuts(struct cutter *cutter)
{
    return cutter->cuts;
}
