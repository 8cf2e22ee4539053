// The configuration: the whole of `pawl.yaml` as one struct, checked before anything starts.
//
// A file is taken as a whole or refused with every problem, each with its line, column and key.
// Every key has its row in a table (config_read.h) with its kind, bounds, default and meaning, from
// which reading, `pawl config keys` and docs/configuration.md come.
#pragma once

#include "engine/limit.h"
#include "engine/retention.h"
#include "model/contract.h"
#include "model/job_type.h"
#include "model/schedule.h"
#include "server/log_line.h"
#include "server/yaml.h"

// Numbers are int64_t, sizes are bytes, times microseconds: one row of a table fits each.
struct config_limits {
    int64_t payload_bytes, result_bytes, body_bytes, artifact_bytes;
    int64_t bulk_jobs;                // in one request
    int64_t json_depth;
    int64_t connections, connections_per_address;  // per address 0: no limit
    int64_t header_us, body_us;       // how long a client may take to send them
    int64_t idle_us;                  // of a connection between requests
    int64_t wait_us;                  // the longest long-poll
    int64_t waiting;                  // operations that may wait for the store
    int64_t workers;                  // 0: one per processor, at least 4
    int64_t grace_us;                 // for what runs, after SIGTERM
    int64_t log_bytes;                // kept of one execution's log
    int64_t critical_depth;           // of q:critical
    int64_t bulk_letters;             // closed in bulk a second, of one org; 0: no limit
    struct limit org;                 // of each org that has none of its own
};

struct config_auth {
    bool viewer_sees_payload;
    struct str environment;           // the second word of new keys: pawl_live_...
    int64_t rate;                     // requests a second per key; 0: no limit
    bool behind_proxy;                // the client's address is in X-Forwarded-For
};

struct config_tls {
    struct str certificate, key;      // files; both empty: no TLS
};

struct config_log {
    enum log_level level;
    struct str file;                  // `stderr`, or a path
};

struct config_listen {
    struct str host;                  // a name or address, without brackets
    int64_t port;
};

// A policy of the user's own, complete. Queue and key TTL come from a job type's category unless
// the policy says them itself.
struct config_policy {
    struct policy policy;
    bool says_queue, says_key_ttl;
};

struct config_queue {
    struct str name;
    int64_t weight;                   // 1 to 1000
    int64_t depth;                    // jobs that may wait in it; 0: no limit
    struct limit limit;
};

// Lists end in NULL. They may hold secrets: never shown.
struct config_variables {
    const char *const *all;           // `NAME=value`
    const char *const *taken;         // the values among them from a file or our environment
};

// A type of jobs: its rules, and the commands or the address that run it here.
struct config_type {
    struct job_type type;
    const char *const *run;           // the program's path first, NULL last; NULL: none here
    const char *const *commit;        // after COMMITTED; NULL: none
    const char *directory;            // where they run
    struct config_variables environment;
    int64_t grace_us;                 // between SIGTERM and SIGKILL
    struct str post;                  // URL, may be a secret: never shown; empty: none
    const char *const *headers;       // as of an alert's target
    struct str secret;
    struct limit limit, key_limit;    // of all its jobs, and of those with one limit_key
};

// Jobs that come by the clock.
struct config_schedule {
    struct schedule schedule;
    struct str org_id;
    bool paused;                      // when it is made; later an operator decides
};

// Somebody who is told of alerts: over HTTP or by a command.
struct config_alert {
    struct str name;                  // stable: what it was not told yet waits under this name
    struct str webhook;               // URL, may be a secret: never shown; empty: a command
    const char *const *command;       // as of a job type; NULL: a webhook
    const char *directory;            // where it runs
    struct str secret;                // signs what is sent; empty: nothing is signed
    const char *const *headers;       // `Name: value`, NULL last; may be secrets: never shown
    int64_t kinds;                    // bits, see model/alert.h
    int64_t timeout_us;               // of one try
    int64_t attempts;                 // tries, then it is given up
    int64_t rate, burst;              // messages a minute, and at once
};

enum { ALERT_TARGETS_MAX = 8 };

// Where traces go.
struct config_tracing {
    struct str endpoint;              // empty: nowhere
    int64_t per_million;              // of traces that begin here
    struct str service_name;
    const char *const *headers;       // as of an alert's target
    int64_t timeout_us;
};

struct config_retention {
    struct retention keep;
    int64_t rate;                     // rows a second
};

enum durability { DURABILITY_FULL };  // an answer means that it is on disk

struct config {
    struct str path;                  // of the file; empty: there is none
    struct str directory;             // of the file, absolute: what paths in it are relative to
    struct str store;                 // sqlite:PATH, relative to the working directory
    struct config_listen listen;
    struct str instance;              // empty: host and port
    struct config_auth auth;
    struct config_tls tls;
    struct config_limits limits;
    enum durability durability;
    struct config_log log;
    const struct config_policy *policies;
    size_t policy_count;
    const struct config_queue *queues;  // the built-in ones first, q:deadletter left out
    size_t queue_count;
    const struct config_type *types;  // sorted by name
    size_t type_count;
    const struct config_schedule *schedules;
    size_t schedule_count;
    const struct config_alert *alerts;
    size_t alert_count;
    struct config_tracing tracing;
    struct config_retention retention;
};

// Everything at its default.
struct config config_default(struct arena *arena);

// Reads the file at `path`. False: PAWL_NOT_FOUND when there is none, PAWL_INVALID when it has
// problems, which are in `faults` in the order of the file; the message names as many as fit.
CHECKED bool config_load(struct arena *arena, const char *path, struct config *config,
                         struct yaml_faults *faults, struct pawl_error *err);

// Every key with its form, default and meaning, as the Markdown tables of docs/configuration.md.
struct str config_keys(struct arena *arena);

// `HOST:PORT` or `[ADDRESS]:PORT`, as in the file and after --listen.
bool listen_parse(struct arena *arena, struct str text, struct config_listen *listen);

// NULL when there is none of this name.
const struct config_type *config_type(const struct config *config, struct str name);
const struct config_queue *config_queue(const struct config *config, struct str name);
const struct policy *config_policy(const struct config *config, struct str name);  // or built in

// The rules for the jobs of a caller. `asks_critical`: it is an operator, who may send jobs of any
// type to q:critical (OPS-20). Caller and configuration must outlive the rules.
struct contract_rules config_rules(const struct config *config, const struct caller *caller,
                                   pawl_time now, bool asks_critical);

// The limits it has, in the arena.
void config_limits(struct arena *arena, const struct config *config, struct limit_wish **wishes,
                   size_t *count);

// What is in effect, as JSON without the values of environment variables. The caller owns it.
json_t *config_json(struct arena *arena, const struct config *config);
