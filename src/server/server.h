// The server: what `pawl serve` is made of.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "engine/event.h"
#include "model/weight.h"
#include "run/handle.h"
#include "server/config.h"
#include "server/identity.h"
#include "server/letter_pace.h"
#include "server/log_seldom.h"

struct alerter;
struct aside;
struct exchange;
struct http;
struct hub;
struct metrics;
struct server_log;
struct tracer;

enum server_part { SERVER_ALL, SERVER_API, SERVER_WORKER };

struct server_options {
    const struct config *config;  // must outlive the server
    enum server_part only;
    bool listens;                 // a worker does only when it is told where
    struct server_log *log;
    // A newer program has migrated the store: it must be closed. Called once, by another thread.
    void (*outdated)(void *self);
    void *outdated_self;
};

enum { READERS_MAX = 4 };

struct gauges;

struct server {
    _Atomic(const struct config *) config;  // in effect; earlier ones live on
    enum server_part only;
    struct pawl *pawl;
    struct identities *identities;
    struct metrics *metrics;
    struct server_log *log;
    struct hub *hub;
    struct alerter *alerter;
    struct tracer *tracer;        // NULL: there are no traces
    struct aside *aside;          // NULL: it does not listen
    struct http *http;            // the same
    const char *files;            // the directory of artifacts
    pawl_time started_at;
    bool recorded;                // that it started: so its end is too
    _Atomic bool draining;        // /readyz says no, and new requests are refused

    pthread_mutex_t reading;      // guards the idle readers
    struct db *readers[READERS_MAX];
    size_t reader_count;

    uint8_t secret[HASH_SECRET_BYTES];  // the store's: for cursors

    struct letter_pace letter_pace;
    struct seldom wrong_keys;     // how often the log tells of them
    struct turns turns;           // of queues; only operations of the pipeline touch it
    _Atomic(const struct queue_terms *) terms;

    struct arena arena;           // what lives as long as the server; of one thread
};

// Opens the store, starts the runner and listens. On true it is ready.
CHECKED bool server_open(struct server **server, const struct server_options *options,
                         struct pawl_error *err);

// Takes no new work and no new requests, lets what runs end for `wait_us`, answers what waits,
// closes. NULL is fine.
void server_close(struct server *server, int64_t wait_us);

// Takes another configuration over, for requests that come from now on. PAWL_CONFLICT names what
// can only be changed by a restart, and changes nothing.
CHECKED bool server_reload(struct server *server, const struct config *config,
                           struct pawl_error *err);

struct str server_address(const struct server *server);  // empty: it does not listen

// ----- for the routes

// A read transaction on a connection of its own, one of a few that are kept open.
struct reading {
    struct db *db;
    struct tx tx;
};
CHECKED bool server_begin_read(struct server *server, struct reading *reading,
                               struct arena *arena, struct pawl_error *err);
void server_end_read(struct server *server, struct reading *reading);

// Runs the route's `act` in one.
CHECKED bool server_read(struct server *server, struct exchange *x, struct pawl_error *err);

// Whether anything was committed since `*newest` was last asked for here. For the hub.
bool server_changed(struct server *server, int64_t *newest);

// Puts the schedules of a configuration into the store, and takes those away that an earlier one
// had. All or, when one is refused, none.
CHECKED bool server_schedule(struct server *server, const struct config *config,
                             struct pawl_error *err);

// The same for limits, whose owner is the instance.
CHECKED bool server_limit(struct server *server, const struct config *config, struct str set_by,
                          struct pawl_error *err);

// What is so now, for the metrics.
CHECKED bool server_gauges(struct server *server, struct arena *arena, struct gauges *gauges,
                           struct pawl_error *err);

// Something that happened to the server itself, for the audit trail (OPS-19). `why` may be empty.
void server_record(struct server *server, const char *subject, enum event event, const char *why);
