// Admission: what can be said about a request before its route does anything.
//
// In this order: are the headers sound, is there such a path and method, may this host and site
// ask, who is it, may that role do this, is the body JSON. The first that fails is the answer.
#pragma once

#include "server/exchange.h"

enum {
    TARGET_BYTES_MAX = 4 << 10,
    HEADER_BYTES_MAX = 8 << 10,  // of all names and values together
    HEADERS_MAX = 64,
};

// What the target of a request line is, before anybody looks for what is there.
enum target {
    TARGET_PLAIN,
    TARGET_FOUL,  // it does not mean what it seems to: see http_header.h
    TARGET_LONG,  // more than TARGET_BYTES_MAX
};

// What the headers say. Texts live in the exchange.
struct headers {
    struct str host, origin, fetch_site, authorization, content_type, request_id, traceparent;
    struct str length, transfer_encoding, content_encoding, last_event_id, content_sha256;
    int hosts, authorizations, content_lengths, transfer_encodings;
    size_t count, bytes;     // of all of them
    int64_t content_length;  // -1: not given, or not a number
    bool has_body;
    bool old;                // HTTP/1.0: it needs no Host and knows no chunks
    enum target target;
    bool foul;               // something no honest client sends: see http_header.c
};

// False: the answer is set. `allowed` as route_find left it.
bool admit(struct exchange *x, const struct headers *headers, struct str allowed);

// The body: JSON when the route takes one, nothing otherwise.
bool admit_body(struct exchange *x, const struct headers *headers, struct str body);
