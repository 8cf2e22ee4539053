// The protocol library asks for more of the body; when there is none, the connection is suspended
// until the hub has news, or until it is time for a sign of life.
#include "server/http_stream.h"

#include <microhttpd.h>
#include <string.h>

#include "server/feed.h"
#include "server/http.h"
#include "server/hub.h"
#include "server/server.h"

enum { BLOCK_BYTES = 4096 };

#define SIGN_OF_LIFE_US SECONDS(15)  // proxies close what is silent for long

static void wait_for_news(struct exchange *x)
{
    x->wait_until = world_monotonic(x->server->pawl->world) + SIGN_OF_LIFE_US;
    http_suspend(x);
    hub_wait(x);
}

static ssize_t read_more(void *self, uint64_t position, char *into, size_t room)
{
    struct exchange *x = self;
    (void)position;
    if (atomic_load(&x->server->draining))
        return MHD_CONTENT_READER_END_OF_STREAM;
    hub_looks(x);
    ssize_t bytes = feed_next(x, into, room);
    if (bytes < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (bytes > 0)
        return bytes;
    wait_for_news(x);
    return 0;
}

struct MHD_Response *stream_response(struct exchange *x)
{
    x->wake = http_resume;
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_more, x, NULL);
}
