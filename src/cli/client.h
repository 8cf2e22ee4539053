// An HTTP client for JSON: one server, one request at a time, everything bounded.
//
// Certificates are verified, redirects are not followed, a proxy is never asked for an address of
// this machine, and the key is sent to no other host.
#pragma once

#include "base/json.h"
#include "base/world.h"

struct client;

struct client_options {
    struct str url;         // http://HOST[:PORT] or https://..., perhaps with a path
    struct str key;         // sent as a bearer's; empty: none
    struct str request_id;  // of every request
    const char *cacert;     // certificates of authorities, PEM; NULL: those of the system
};

// PAWL_USAGE when the URL is none we can ask. Does not connect.
CHECKED bool client_open(struct client **client, const struct client_options *options,
                         struct pawl_error *err);
void client_close(struct client *client);  // NULL is fine

const char *client_url(const struct client *client);  // without a slash at its end

struct request {
    const char *method;
    struct str path;       // from the first slash on, encoded
    const json_t *body;    // NULL: none
    int64_t wait_us;       // the server may take so long on purpose
};

struct reply {
    int status;
    json_t *body;          // NULL: it is no JSON
    int64_t retry_after_s; // 0: not said
};

void reply_end(struct reply *reply);  // for SCOPED(reply)

// Asks once. False when there was no answer: PAWL_IN_DOUBT when something that may change things
// was sent, since nobody knows what became of it; else nothing has happened. The message says what
// to do.
CHECKED bool client_ask(struct client *client, const struct request *request, struct reply *reply,
                        struct pawl_error *err);

// A file as the body of a request, or of its answer. Takes as long as bytes keep coming.
struct transfer {
    void *self;
    int64_t (*give)(void *self, void *bytes, size_t room);  // an upload: 0 at the end, -1: it fails
    int64_t bytes;               // of an upload; 0: not known
    struct str content_type, sha256;  // of an upload; empty: not said
    bool (*take)(void *self, const void *bytes, size_t n);  // a download; false: it fails
};

// As client_ask. The body of a good answer to a download goes to `take`, any other to the reply.
CHECKED bool client_transfer(struct client *client, const struct request *request,
                             struct transfer *transfer, struct reply *reply,
                             struct pawl_error *err);

// Whether a Pawl server answers there within this time. No key is sent.
bool client_answers(const char *url, int64_t within_us);
