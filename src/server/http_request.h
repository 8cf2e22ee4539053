// A request as the protocol side sees it, for the files of http*.c.
#pragma once

#include <microhttpd.h>

#include "server/admit.h"
#include "server/http_guard.h"

// What the protocol side knows of a request. The exchange comes first: one is the other.
struct request {
    struct exchange x;
    struct MHD_Connection *connection;
    struct link *link;
    struct headers headers;
    struct str allowed;  // methods, with 405
    char *body;          // as far as it has come
    size_t bytes, room, bytes_max;
    enum { READING, REFUSED, WAITING, RESUMED, ANSWERED } stage;
};

// Sends the answer that its exchange has. MHD_NO ends the connection.
enum MHD_Result request_answer(struct request *request);
