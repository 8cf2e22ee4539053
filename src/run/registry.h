// What a program has told about its jobs: a handler per type, policies of its own. Both are settled
// before the runner starts and only read from then on, so nothing guards them.
#pragma once

#include "model/policy.h"

struct registry {
    struct arena *arena;  // the handle's: everything here lives as long
    struct pawl_handler *handlers;
    struct str *types;    // of the handlers, for claims
    size_t handler_count, handler_room;
    struct policy *policies;
    size_t policy_count, policy_room;
};

CHECKED bool registry_handle(struct registry *registry, const struct pawl_handler *handler,
                             struct pawl_error *err);
CHECKED bool registry_define(struct registry *registry, const struct pawl_policy *policy,
                             struct pawl_error *err);

const struct pawl_handler *registry_handler(const struct registry *registry, struct str job_type);

// The policy of this name, the program's own or a built-in one; with an empty name the one of the
// job type. NULL when there is none.
const struct policy *registry_policy(const struct registry *registry, struct str name,
                                     struct str job_type);
