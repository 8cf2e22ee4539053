// The server: what `pawl serve` is made of.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "run/handle.h"
#include "server/config.h"
#include "server/identity.h"

struct http;
struct hub;
struct metrics;
struct server_log;

enum server_part { SERVER_ALL, SERVER_API, SERVER_WORKER };

struct server_options {
    const struct config *config;   // must outlive the server
    enum server_part only;
    bool exclusive;
    struct server_log *log;
};

enum { READERS_MAX = 4 };

struct server {
    const struct config *config;
    enum server_part only;
    struct pawl *pawl;
    struct identities *identities;
    struct metrics *metrics;
    struct server_log *log;
    struct hub *hub;
    struct http *http;             // NULL: it does not listen
    pawl_time started_at;
    _Atomic bool draining;         // /readyz says no

    pthread_mutex_t reading;       // guards the idle readers
    struct db *readers[READERS_MAX];
    size_t reader_count;
};

// Opens the store, starts the runner and listens. On true it is ready.
CHECKED bool server_open(struct server **server, const struct server_options *options,
                         struct pawl_error *err);

// Where it listens: `127.0.0.1:7319`.
struct str server_address(const struct server *server);

// Takes a new configuration over, as far as that goes without a restart.
CHECKED bool server_reload(struct server *server, const struct config *config,
                           struct pawl_error *err);

// Lets what runs end for `wait_us`, answers what waits, closes.
void server_close(struct server *server, int64_t wait_us);

// A read transaction on a connection of its own.
CHECKED bool server_read(struct server *server, struct exchange *x, struct pawl_error *err);

// The rules of the configuration for a job of this caller.
struct contract_rules server_rules(struct server *server, const struct exchange *x, pawl_time now);
