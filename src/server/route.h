// Routes: one table says which method and path there is, who may use it, what it takes, what it
// answers, how it works and how it is documented. Dispatch and /openapi.json come from it; a route
// without a permission does not exist.
#pragma once

#include "model/role.h"
#include "server/exchange.h"

enum route_kind {
    ROUTE_NOW,    // answers from what the process knows
    ROUTE_WAIT,   // the same, and waits: `act` has no transaction and may ask to be run again
    ROUTE_READ,   // `act` runs in a read transaction, on the HTTP thread
    ROUTE_WRITE,  // `act` runs in the commit pipeline; the answer comes after the commit
};

struct route {
    const char *method;          // GET is also HEAD, unless it is a stream
    const char *path;            // {name} stands for one part
    bool open;                   // nobody is asked who he is; else ...
    bool open_on_loopback;       // ... on a server that only this machine can reach
    unsigned permission;         // ... the bits of role.h that are needed: none means nobody
    bool always;                 // answered also while the server drains
    bool everywhere;             // answered also by a worker, which serves nobody's jobs
    enum route_kind kind;
    const char *whole_store;     // why a read needs rows of other orgs; NULL: it is walled in
    bool begins_trace;           // when the caller has sent none
    const char *summary;

    // What is sent: read into x->data, a zeroed struct of so many bytes, before `prepare`.
    size_t data_bytes;
    struct fields query, body;
    bool body_raw;               // not by fields: `prepare` reads x->body ...
    const char *body_schema;     // ... which is this, by its name in /openapi.json
    enum body_size { BODY_NONE, BODY_SMALL, BODY_BULK, BODY_STREAM } body_size;
    bool body_optional;

    // BODY_STREAM is not JSON and not kept: takes its next bytes as they come, after the query was
    // read and before `prepare`.
    bool (*take)(struct exchange *x, const char *bytes, size_t n, struct pawl_error *err);

    // Checks what was sent, and does what needs no store. NULL: nothing.
    bool (*prepare)(struct exchange *x, struct pawl_error *err);
    // Does what takes long and needs no store, on a thread of its own (aside.h). NULL: nothing.
    bool (*settle)(struct exchange *x, struct pawl_error *err);
    // Does it. May be run again: see pipeline.h.
    bool (*act)(struct exchange *x, struct tx *tx, struct pawl_error *err);
    // Makes the answer of what was done.
    bool (*answer)(struct exchange *x, struct pawl_error *err);
    // The answer was sent, or could not be. NULL: nothing to do then.
    void (*ended)(struct exchange *x, bool sent);

    const char *schema;          // of the answer, by its name in /openapi.json
    int statuses[8];             // besides those that any route may have; good ones first
};

const struct route *route_at(size_t index);  // NULL past the end

// The route of a method and a path, and what stands for the names in it. NULL when there is none;
// `allowed` then lists the methods the path has, separated by commas; empty: no such path.
const struct route *route_find(struct str method, struct str path, struct str *parts,
                               struct arena *arena, struct str *allowed);

// Each file of routes has a table.
struct routes {
    const struct route *rows;
    size_t count;
};
extern const struct routes routes_jobs, routes_change, routes_history, routes_leases,
    routes_executions, routes_steps, routes_queues, routes_limits, routes_letters,
    routes_schedules, routes_keys, routes_artifacts, routes_audit, routes_system, routes_batches,
    routes_annotations;
