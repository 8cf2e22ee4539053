// What a type keeps of its own when a job names another policy.
#include "model/job_type.h"

struct policy job_type_policy(const struct job_type *type, const struct policy *named)
{
    struct policy policy = *named;
    policy.category = type->policy.category;
    policy.queue = type->policy.queue;
    policy.key_ttl_us = type->policy.key_ttl_us;
    policy.authoritative = type->policy.authoritative;
    policy.may_write = type->policy.may_write;
    if (type->timeout_us)
        policy.timeout_us = type->timeout_us;
    return policy;
}
