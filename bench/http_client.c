// A server that says nothing for HTTP_SILENT_S is an error, so that nobody waits for ever.
#include "bench/http_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD_BYTES_MAX = 512, ROOM_MIN = 8 << 10 };

// ----- the connection

static void set_up(int fd)
{
    int yes = 1;
    struct timeval silent = { .tv_sec = HTTP_SILENT_S };
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silent, sizeof silent);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silent, sizeof silent);
}

bool http_client_open(struct http_client *c, int port, struct pawl_error *err)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    *c = (struct http_client){ .port = port };
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return fail(err, PAWL_STORE, "cannot make a socket: %s", strerror(errno));
    c->open = true;
    set_up(c->fd);
    if (connect(c->fd, (const struct sockaddr *)&to, sizeof to) != 0)
        return fail(err, PAWL_STORE, "cannot connect to the server: %s", strerror(errno));
    return true;
}

void http_client_end(struct http_client *c)
{
    if (c->open)
        close(c->fd);
    free(c->text);
    *c = (struct http_client){0};
}

bool http_client_silent(const struct http_client *c)
{
    char byte;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0
        && (errno == EAGAIN || errno == EWOULDBLOCK);
}

// ----- sending

static bool send_all(const struct http_client *c, struct iovec *parts, size_t count,
                     struct pawl_error *err)
{
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
    while (message.msg_iovlen > 0) {
        ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return fail(err, PAWL_STORE, "cannot send to the server: %s", strerror(errno));
        size_t sent = n < 0 ? 0 : (size_t)n;
        while (message.msg_iovlen > 0 && sent >= message.msg_iov->iov_len) {
            sent -= message.msg_iov->iov_len;
            message.msg_iov++;
            message.msg_iovlen--;
        }
        if (message.msg_iovlen > 0) {
            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + sent;
            message.msg_iov->iov_len -= sent;
        }
    }
    return true;
}

bool http_client_send(struct http_client *c, const char *what, struct str body,
                      struct pawl_error *err)
{
    char head[HEAD_BYTES_MAX];
    int n = snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", what, c->port);
    if (body.n > 0)
        n += snprintf(head + n, sizeof head - (size_t)n,
                      "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.n);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    // The kernel asks for a pointer it may write to and only reads.
    union {
        const char *ours;
        void *theirs;
    } text = { .ours = body.s };
    struct iovec parts[] = { { head, (size_t)n }, { text.theirs, body.n } };
    return send_all(c, parts, body.n > 0 ? 2 : 1, err);
}

// ----- receiving

static bool receive_more(struct http_client *c, struct pawl_error *err)
{
    if (c->held + 1 >= c->room) {
        size_t room = c->room ? 2 * c->room : ROOM_MIN;
        char *larger = realloc(c->text, room);
        if (!larger)
            return fail(err, PAWL_NO_MEMORY, "no memory for an answer of %zu bytes", room);
        c->text = larger;
        c->room = room;
    }
    ssize_t n;
    do
        n = recv(c->fd, c->text + c->held, c->room - c->held - 1, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return fail(err, PAWL_STORE, "the server did not answer: %s",
                    n == 0 ? "it hung up" : strerror(errno));
    c->held += (size_t)n;
    c->text[c->held] = '\0';
    return true;
}

// The head of the answer, whole: where its body begins, and how long that is.
static bool receive_head(struct http_client *c, size_t *begin, size_t *bytes,
                         struct pawl_error *err)
{
    static const char length[] = "\r\nContent-Length:";
    const char *end = NULL;
    while (!(end = c->held > 0 ? strstr(c->text, "\r\n\r\n") : NULL))
        if (!receive_more(c, err))
            return false;
    const char *at = strcasestr(c->text, length);
    if (!str_starts((struct str){ c->text, c->held }, S("HTTP/1.1 ")) || !at || at > end)
        return fail(err, PAWL_STORE, "the server sent something else than was expected: %.60s",
                    c->text);
    *begin = (size_t)(end - c->text) + 4;
    *bytes = strtoul(at + sizeof length - 1, NULL, 10);
    return true;
}

bool http_client_receive(struct http_client *c, struct http_answer *answer, struct pawl_error *err)
{
    size_t begin = 0, bytes = 0;
    c->held = 0;  // one question, one answer: nothing is left of the one before
    if (!receive_head(c, &begin, &bytes, err))
        return false;
    while (c->held < begin + bytes)
        if (!receive_more(c, err))
            return false;
    answer->status = (int)strtol(c->text + S("HTTP/1.1 ").n, NULL, 10);
    answer->body = (struct str){ c->text + begin, bytes };
    return true;
}

bool http_client_expect(struct http_client *c, const char *what, int wanted,
                        struct http_answer *answer, struct pawl_error *err)
{
    if (!http_client_receive(c, answer, err))
        return false;
    if (answer->status != wanted)
        return fail(err, PAWL_STORE, "%s was answered %d: %.200s", what, answer->status,
                    answer->body.s);
    return true;
}

bool http_client_ask(struct http_client *c, const char *what, struct str body, int wanted,
                     struct http_answer *answer, struct pawl_error *err)
{
    return http_client_send(c, what, body, err)
        && http_client_expect(c, what, wanted, answer, err);
}
