// Server-sent events: an answer that goes on as long as somebody listens.
#pragma once

#include "server/exchange.h"

struct MHD_Response;

// The response of an exchange whose route has set x->stream. The route's `next` gives the text.
struct MHD_Response *stream_response(struct exchange *x);
