// What is known of a type of jobs before there is a job: where the configuration meets the
// contract. The embedded library knows no types, and everything works as it does without them.
#pragma once

#include "model/category.h"
#include "model/key_recipe.h"

struct job_type {
    struct str name;
    enum category category;
    struct policy policy;    // complete: what its jobs get unless they name another one
    int64_t timeout_us;      // of whatever policy its jobs have; 0: as the policy says
    struct recipe key;       // how a key is made when none is sent
    bool critical;           // its jobs may enter q:critical (OPS-20)
    bool allow_delay;        // `scheduled_for` is allowed (OPS-15)
    bool secrets_allowed;    // in payloads (OPS-10)
    struct str runbook;      // what to do with a dead letter (OPS-8)
};

// The policy of a job of this type that names another one: retries are that one's; category, queue,
// key TTL, what it says of effects and the type's own timeout stay.
struct policy job_type_policy(const struct job_type *type, const struct policy *named);
