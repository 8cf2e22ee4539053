// Reading feeds, from http and https addresses several at once, and from files.
//
// Every feed has an end of its own: one that is slow, too large, gone or garbage has an error and
// is in nobody's way. What was read before is asked for conditionally (ETag, Last-Modified).
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FETCH_BYTES_MAX = 4 * 1024 * 1024, FETCH_AT_ONCE = 8 };

enum fetch_end {
    FETCH_FAILED,  // `error` says why
    FETCH_BODY,    // there is something to read
    FETCH_SAME,    // it has not changed since
};

struct fetch {
    const char *source;               // http://, https:// or a path
    char etag[256], modified[128];    // in: of the last answer; out: of this one
    enum fetch_end end;
    char *body;                       // while `done` is called
    size_t length, room;              // bytes of it, and how many there is memory for
    char address[1024];               // where it came from in the end, after redirections
    char error[256];
};

struct fetch_how {
    long timeout_ms;                  // for one feed, from its connection to its last byte
    bool (*go_on)(void *context);     // asked several times a second
    void (*done)(void *context, struct fetch *fetch);
    void *context;
};

// Reads all of them and calls `done` for each, as they come in. False when told not to go on, or
// when nothing can be fetched at all.
bool fetch_all(struct fetch *fetches, size_t count, const struct fetch_how *how);
