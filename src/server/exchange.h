// An exchange: one request and its answer, without the protocol that carries them.
//
// It is owned by one party at a time: the HTTP thread that reads the request, the pipeline while it
// waits for a commit, the hub while it waits for news, and the HTTP thread again for the answer.
// While it waits it holds no thread.
#pragma once

#include "model/contract.h"
#include "model/trace.h"
#include "run/pipeline.h"
#include "server/field.h"
#include "server/identity.h"

struct config;
struct route;
struct server;
struct topic;

enum { PATH_PARTS_MAX = 2 };

struct exchange {
    struct operation operation;   // first: the pipeline gives it back
    struct server *server;
    const struct config *config;  // in effect when the request came
    const struct route *route;
    struct arena arena;           // everything of the request and the answer
    struct arena found;           // what `act` finds: nothing of it is left while it waits
    struct identity identity;     // who asks ...
    struct caller caller;         // ... in the words of the engine
    struct str method, path;
    struct str path_parts[PATH_PARTS_MAX];  // what stands for {id} and {name}
    struct str query;
    struct str traceparent, last_event_id;
    struct trace trace;           // with the span of this request; none: it is not traced
    uint64_t trace_parent;        // the span of the caller; 0: none
    struct str sent_type, sent_sha256;  // of the body, as its headers say
    json_t *body;                 // NULL: none
    void *data;                   // of the route: what it read, what it found
    struct problems problems;
    int64_t began;                // monotonic

    // The answer.
    int status;                   // 0: not yet
    json_t *answer;               // the body as a value ...
    struct str text;              // ... or as a text
    const char *content_type;     // NULL: application/json
    const char *location;         // NULL: none
    int64_t retry_after_s;        // 0: none
    struct {
        const char *name, *value;
    } headers[4];                 // more of them; the first without a name ends them
    bool has_file;                // the body is a file ...
    int file;                     // ... which is closed with the answer ...
    int64_t file_bytes;           // ... and has so many bytes
    bool stream;                  // server-sent events: see http_stream.h

    // Waiting; see hub.h.
    bool again;                   // `act` found too little: it may be run again after news
    int64_t wait_until;           // monotonic; 0: does not wait
    struct topic *topic;          // what it waits for; NULL: nothing
    uint64_t seen;                // the topic's news when it last looked
    void (*wake)(struct exchange *x);
    struct exchange *next, **link;
    bool parked;
    bool told;                    // news of a lane woke it, and nobody else
};

// The data of a route, zeroed, in the exchange's arena. NULL when there is no memory.
#define exchange_data(x, type) ((type *)((x)->data = arena_new(&(x)->arena, type, 1)))

// The context of jobs that the request makes, as a traceparent: its own span when it is traced,
// else what the caller has sent.
struct str exchange_context(struct exchange *x);

// It was answered: a span, if somebody wants to see its trace.
void exchange_traced(const struct exchange *x);

// Runs the route's `act`. After a wait whoever asked must still be allowed to.
CHECKED bool exchange_act(struct exchange *x, struct tx *tx, struct pawl_error *err);

// Before it waits: forgets what was found, and the body, whose texts are in the arena. Thousands
// may wait, and `act` looks again, or is asked for an answer that there is nothing.
void exchange_rest(struct exchange *x);

// Sets the answer; takes `json` over. PAWL_NO_MEMORY when that is NULL.
CHECKED bool exchange_answer(struct exchange *x, int status, json_t *json, struct pawl_error *err);

// The same for an answer that is written already; its text lives in the exchange's arena.
CHECKED bool exchange_answer_text(struct exchange *x, int status, const struct buf *text,
                                  struct pawl_error *err);

// The error as application/problem+json (RFC 9457), with every problem of the contract.
void exchange_refuse(struct exchange *x, const struct pawl_error *err);

// What was refused in an answer that has many parts: the field "error".
void exchange_put_error(struct buf *out, const struct pawl_error *error);

// The statuses of refusals, for /openapi.json. NULL past the end.
struct refusal {
    int status;
    const char *title;
    const char *codes;  // besides those of the engine with this status
};
const struct refusal *refusal_at(size_t index);

// A refusal that has no code of the engine: 401, 404 of a path, 405, 413, 415, 429, ...
void exchange_refuse_as(struct exchange *x, int status, const char *code, const char *format, ...)
    PRINTF(4, 5);

// A list of the interface: {"items": [...], "next_cursor": ...}. Takes `items` over.
json_t *exchange_page(struct exchange *x, json_t *items, int64_t next);

// What `next_cursor` of a list is; empty: null.
struct str exchange_next_cursor(struct exchange *x, int64_t next);

// The cursor of a page as a number, from the query: 0 when none is given. Cursors are opaque to
// callers and bound to their org, so that one cannot be used to look into another.
bool exchange_cursor(struct exchange *x, struct str text, int64_t *number);

// The same for a list that is sorted by the names of what is in it; empty: that was all.
json_t *exchange_page_by_name(struct exchange *x, json_t *items, struct str next);
bool exchange_cursor_name(struct exchange *x, struct str text, struct str *name);

// The part of the path as the id of a job or execution: PAWL_NOT_FOUND when it is none.
CHECKED bool exchange_id(struct exchange *x, size_t part, struct id *id, struct pawl_error *err);

void exchange_end(struct exchange *x);
