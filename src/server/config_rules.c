// What the contract of a job asks of the configuration.
#include "server/config.h"

const struct config_type *config_type(const struct config *config, struct str name)
{
    size_t first = 0, end = config->type_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int order = str_order(name, config->types[middle].type.name);
        if (order == 0)
            return &config->types[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

const struct config_queue *config_queue(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->queue_count; i++)
        if (str_eq(config->queues[i].name, name))
            return &config->queues[i];
    return NULL;
}

const struct policy *config_policy(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->policy_count; i++)
        if (str_eq(config->policies[i].policy.name, name))
            return &config->policies[i].policy;
    return policy_builtin(name);
}

static const struct config *config_of(const void *self)
{
    return self;
}

static const struct job_type *find_type(void *self, struct str job_type)
{
    const struct config_type *found = config_type(config_of(self), job_type);
    return found ? &found->type : NULL;
}

static const struct policy *find_policy(void *self, struct str name, struct str job_type)
{
    const struct job_type *type = find_type(self, job_type);
    if (name.n == 0 && type)
        return &type->policy;
    return config_policy(config_of(self), name.n ? name : S("default"));
}

struct contract_rules config_rules(const struct config *config, const struct caller *caller,
                                   pawl_time now, bool asks_critical)
{
    return (struct contract_rules){
        .caller = caller,
        .now = now,
        .policy = find_policy,
        .type = find_type,
        .self = (void *)(uintptr_t)config,  // which the two only read
        .key_required = true,
        .by_category = true,
        .asks_critical = asks_critical,
        .payload_bytes_max = (size_t)config->limits.payload_bytes,
        .depth_max = (int)config->limits.json_depth,
    };
}
