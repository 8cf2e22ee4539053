// What a request says of itself before its body: headers and query, from the protocol library.
#pragma once

#include <microhttpd.h>

#include "server/admit.h"

void headers_read(struct headers *headers, struct MHD_Connection *connection, struct arena *arena);

// A target is plain when it means what it seems to: printable characters, whole percent-codes, and
// none for NUL, where a text would end, or in the path for a slash, where a part would. The
// protocol library decodes the target before anybody can see that.
enum target target_look(const char *target);

// The query by the fields of the route, into x->data; what is wrong goes to x->problems.
void query_read(struct MHD_Connection *connection, struct exchange *x);
