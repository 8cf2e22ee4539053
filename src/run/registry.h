// What a program has told about its jobs: a handler per type, policies of its own. Both are settled
// before the runner starts and only read from then on, so nothing guards them.
//
// A server that reads its configuration again has other handlers then: a new table takes the place
// of the old one, which lives on as long as the handle. A claim goes by the table it found, to the
// end of its runs.
#pragma once

#include <stdatomic.h>

#include "model/policy.h"

struct handlers {
    struct pawl_handler *rows;
    struct str *types;    // of the rows, for claims
    size_t count, room;
};

struct registry {
    struct arena *arena;  // the handle's: everything here lives as long
    _Atomic(struct handlers *) handlers;  // a table grows only before the start; NULL: none
    struct policy *policies;
    size_t policy_count, policy_room;
};

CHECKED bool registry_handle(struct registry *registry, const struct pawl_handler *handler,
                             struct pawl_error *err);
CHECKED bool registry_define(struct registry *registry, const struct pawl_policy *policy,
                             struct pawl_error *err);

// These handlers instead of those there are. One caller at a time; others may look meanwhile.
CHECKED bool registry_replace(struct registry *registry, const struct pawl_handler *handlers,
                              size_t count, struct pawl_error *err);

// The handlers of now; they stay as they are once the runner works.
const struct handlers *registry_handlers(const struct registry *registry);
const struct pawl_handler *handler_of(const struct handlers *handlers, struct str job_type);

// The policy of this name, the program's own or a built-in one; with an empty name the one of the
// job type. NULL when there is none.
const struct policy *registry_policy(const struct registry *registry, struct str name,
                                     struct str job_type);
