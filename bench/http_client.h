// A client of one keep-alive connection to this machine: HTTP/1.1 with Content-Length and blocking
// calls, and nothing else. What is measured is the server: a library that can do more would take
// more of the processors it needs.
#pragma once

#include "base/error.h"

enum { HTTP_SILENT_S = 60 };  // a server that says nothing for so long is an error

struct http_client {
    bool open;
    int fd;
    int port;
    char *text;         // what came and is not answered yet
    size_t room, held;
};

struct http_answer {
    int status;
    struct str body;  // lives until the client is asked again
};

// With the zero value http_client_end does nothing.
CHECKED bool http_client_open(struct http_client *client, int port, struct pawl_error *err);
void http_client_end(struct http_client *client);

// `what` is method and path: `POST /v1/jobs`. An empty body is none.
CHECKED bool http_client_send(struct http_client *client, const char *what, struct str body,
                              struct pawl_error *err);
CHECKED bool http_client_receive(struct http_client *client, struct http_answer *answer,
                                 struct pawl_error *err);

// Receives the answer to `what`. One of another status than the wanted one is an error that quotes
// it.
CHECKED bool http_client_expect(struct http_client *client, const char *what, int wanted,
                                struct http_answer *answer, struct pawl_error *err);

// Sends, and receives what is expected.
CHECKED bool http_client_ask(struct http_client *client, const char *what, struct str body,
                             int wanted, struct http_answer *answer, struct pawl_error *err);

// Nothing has come since the last answer, and the server has not hung up.
bool http_client_silent(const struct http_client *client);
