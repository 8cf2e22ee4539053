// What a request says of itself before its body: headers and query, from the protocol library.
#pragma once

#include <microhttpd.h>

#include "server/admit.h"

void headers_read(struct headers *headers, struct MHD_Connection *connection, struct arena *arena);

// The query by the fields of the route, into x->data. False: the answer is set.
bool query_read(struct MHD_Connection *connection, struct exchange *x);
