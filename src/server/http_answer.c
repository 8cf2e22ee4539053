// The answer of an exchange as the protocol library takes it: JSON, text, a file or a stream.
#include "server/http_request.h"
#include "server/http_stream.h"
#include "server/server.h"

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && *value)
        (void)!MHD_add_response_header(response, name, value);  // without memory it is left out
}

static void add_headers(struct request *r, struct MHD_Response *response)
{
    struct exchange *x = &r->x;
    struct arena *a = &x->arena;
    add_header(response, "Content-Type", x->content_type ? x->content_type : "application/json");
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "X-Request-Id", str_cstr(a, x->caller.request_id));
    add_header(response, "traceparent", str_cstr(a, x->traceparent));
    add_header(response, "Allow", str_cstr(a, r->allowed));
    add_header(response, "Location", x->location);
    for (size_t i = 0; i < countof(x->headers) && x->headers[i].name; i++)
        add_header(response, x->headers[i].name, x->headers[i].value);
    if (x->retry_after_s)
        add_header(response, "Retry-After",
                   str_format(a, "%lld", (long long)x->retry_after_s).s);
    if (x->status == 401)
        add_header(response, "WWW-Authenticate", "Bearer");
    if (guard_closes(r->link) || atomic_load(&x->server->draining))
        add_header(response, "Connection", "close");
}

// The descriptor is the response's from here on.
static struct MHD_Response *file_response(struct exchange *x)
{
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)x->file_bytes, x->file);
    x->has_file = !response;
    return response;
}

static struct MHD_Response *response_of(struct exchange *x)
{
    if (x->stream)
        return stream_response(x);
    if (x->has_file)
        return file_response(x);
    struct str text = x->answer ? json_text(&x->arena, x->answer) : x->text;
    // The library asks for a pointer it may change and does not: the text lives in the exchange,
    // which outlives the response.
    union {
        const char *ours;
        void *theirs;
    } body = { .ours = text.n ? text.s : "" };
    return MHD_create_response_from_buffer(text.n, body.theirs, MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result request_answer(struct request *r)
{
    struct MHD_Response *response = response_of(&r->x);
    if (!response)
        return MHD_NO;
    r->stage = ANSWERED;
    guard_rest(r->link);
    add_headers(r, response);
    enum MHD_Result queued = MHD_queue_response(r->connection, (unsigned)r->x.status, response);
    MHD_destroy_response(response);
    return queued;
}
