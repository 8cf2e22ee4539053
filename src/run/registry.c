// Two short lists. A policy of the program's own starts as a copy of its base, and what was given
// replaces what the base has.
#include "run/registry.h"

#include <string.h>

#include "model/contract.h"
#include "model/text_rule.h"

static const char *keep(struct registry *registry, const char *text)
{
    return text ? str_cstr(registry->arena, str_dup(registry->arena, str_of(text))) : NULL;
}

// Makes room for one more. The old list stays in the arena: it is short.
static bool grow(struct registry *registry, void **list, size_t *room, size_t size, size_t count)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 8;
    void *new = arena_array(registry->arena, size, more);
    if (!new)
        return false;
    if (count > 0)
        memcpy(new, *list, count * size);
    *list = new;
    *room = more;
    return true;
}

const struct handlers *registry_handlers(const struct registry *registry)
{
    static const struct handlers none = {0};
    const struct handlers *handlers = atomic_load(&registry->handlers);
    return handlers ? handlers : &none;
}

const struct pawl_handler *handler_of(const struct handlers *handlers, struct str job_type)
{
    for (size_t i = 0; i < handlers->count; i++)
        if (str_eq(handlers->types[i], job_type))
            return &handlers->rows[i];
    return NULL;
}

static const struct policy *own_policy(const struct registry *registry, struct str name)
{
    for (size_t i = 0; i < registry->policy_count; i++)
        if (str_eq(registry->policies[i].name, name))
            return &registry->policies[i];
    return NULL;
}

const struct policy *registry_policy(const struct registry *registry, struct str name,
                                     struct str job_type)
{
    if (name.n == 0) {
        const struct pawl_handler *handler = handler_of(registry_handlers(registry), job_type);
        name = handler && handler->policy ? str_of(handler->policy) : S("default");
    }
    const struct policy *own = own_policy(registry, name);
    return own ? own : policy_builtin(name);
}

static bool add(struct registry *registry, struct handlers *handlers,
                const struct pawl_handler *handler, struct pawl_error *err)
{
    struct str type = str_of(handler->job_type);
    if (type.n > NAME_BYTES_MAX || !text_is_type(type))
        return fail(err, PAWL_INVALID, "job_type: must be 1 to 128 of A-Z a-z 0-9 . _ : - that "
                                       "start with a letter or digit");
    if (!handler->prepare)
        return fail(err, PAWL_INVALID, "prepare: the handler of %s has none", handler->job_type);
    if (handler_of(handlers, type))
        return fail(err, PAWL_CONFLICT, "job type %s has a handler already", handler->job_type);
    if (!registry_policy(registry, str_of(handler->policy), type))
        return fail(err, PAWL_INVALID, "policy: there is none of the name %s: define it before "
                                       "the handler",
                    handler->policy);
    size_t types_room = handlers->room;
    if (!grow(registry, (void **)&handlers->types, &types_room, sizeof(struct str),
              handlers->count)
        || !grow(registry, (void **)&handlers->rows, &handlers->room, sizeof(struct pawl_handler),
                 handlers->count))
        return fail(err, PAWL_NO_MEMORY, "no memory for a handler");
    struct pawl_handler *kept = &handlers->rows[handlers->count];
    *kept = *handler;
    kept->job_type = keep(registry, handler->job_type);
    kept->policy = keep(registry, handler->policy);
    handlers->types[handlers->count++] = str_of(kept->job_type);
    return true;
}

bool registry_replace(struct registry *registry, const struct pawl_handler *rows, size_t count,
                      struct pawl_error *err)
{
    struct handlers *handlers = arena_new(registry->arena, struct handlers, 1);
    if (!handlers)
        return fail(err, PAWL_NO_MEMORY, "no memory for handlers");
    for (size_t i = 0; i < count; i++)
        if (!add(registry, handlers, &rows[i], err))
            return false;
    atomic_store(&registry->handlers, handlers);
    return true;
}

bool registry_handle(struct registry *registry, const struct pawl_handler *handler,
                     struct pawl_error *err)
{
    if (!atomic_load(&registry->handlers) && !registry_replace(registry, NULL, 0, err))
        return false;
    return add(registry, atomic_load(&registry->handlers), handler, err);
}

static void replace_number(int64_t *number, int64_t given)
{
    *number = given ? given : *number;
}

static void replace_choice(bool *choice, enum pawl_choice given)
{
    *choice = given == PAWL_AS_BASE ? *choice : given == PAWL_YES;
}

static void replace(struct policy *policy, const struct pawl_policy *given)
{
    static const enum on_crash crashes[] = { [PAWL_ON_CRASH_FAIL] = ON_CRASH_FAIL,
                                             [PAWL_ON_CRASH_RETRY] = ON_CRASH_RETRY };
    static const enum on_timeout timeouts[] = {
        [PAWL_ON_TIMEOUT_TIMED_OUT] = ON_TIMEOUT_TIMED_OUT,
        [PAWL_ON_TIMEOUT_RETRY] = ON_TIMEOUT_RETRY,
        [PAWL_ON_TIMEOUT_FAIL] = ON_TIMEOUT_FAIL,
    };
    replace_number(&policy->max_attempts, given->max_attempts);
    replace_number(&policy->step_attempts, given->step_attempts);
    replace_number(&policy->base_us, given->base_us);
    if (policy->delay_us_max < policy->base_us)  // a longer delay than its base ever had
        policy->delay_us_max = policy->base_us;
    replace_number(&policy->delay_us_max, given->delay_us_max);
    replace_number(&policy->timeout_us, given->timeout_us);
    replace_number(&policy->lease_us, given->lease_us);
    replace_number(&policy->key_ttl_us, given->key_ttl_us);
    replace_choice(&policy->exponential, given->exponential);
    replace_choice(&policy->jitter, given->jitter);
    replace_choice(&policy->dead_letter, given->dead_letter);
    if (given->on_crash)
        policy->on_crash = crashes[given->on_crash];
    if (given->on_timeout)
        policy->on_timeout = timeouts[given->on_timeout];
}

static bool words_known(const struct pawl_policy *given, struct pawl_error *err)
{
    const struct {
        unsigned word, last;
    } choices[] = {
        { given->exponential, PAWL_NO },
        { given->jitter, PAWL_NO },
        { given->dead_letter, PAWL_NO },
        { given->on_crash, PAWL_ON_CRASH_RETRY },
        { given->on_timeout, PAWL_ON_TIMEOUT_FAIL },
    };
    for (size_t i = 0; i < countof(choices); i++)
        if (choices[i].word > choices[i].last)
            return fail(err, PAWL_INVALID, "policy %s: a choice is none of its enum", given->name);
    return true;
}

static void check_queue(struct str queue, struct problems *problems)
{
    if (queue.n > NAME_BYTES_MAX || !text_is_name(queue) || str_eq(queue, DEADLETTER_QUEUE))
        problem_add(problems, "queue", "must be 1 to 128 of A-Z a-z 0-9 . _ : - and not "
                                       "q:deadletter, to which nothing can be enqueued");
}

bool registry_define(struct registry *registry, const struct pawl_policy *given,
                     struct pawl_error *err)
{
    struct str name = str_of(given->name);
    if (name.n > NAME_BYTES_MAX || !text_is_name(name))
        return fail(err, PAWL_INVALID, "name: must be 1 to 128 of A-Z a-z 0-9 . _ : -");
    if (registry_policy(registry, name, S("")))
        return fail(err, PAWL_CONFLICT, "there is a policy of the name %s already", given->name);
    const struct policy *base = registry_policy(registry, str_of(given->base), S(""));
    if (!base)
        return fail(err, PAWL_INVALID, "base: there is no policy of the name %s", given->base);
    if (!words_known(given, err))
        return false;
    if (!grow(registry, (void **)&registry->policies, &registry->policy_room,
              sizeof(struct policy), registry->policy_count))
        return fail(err, PAWL_NO_MEMORY, "no memory for a policy");
    struct policy *policy = &registry->policies[registry->policy_count];
    struct problems problems = { .arena = registry->arena };
    *policy = *base;
    policy->name = str_of(keep(registry, given->name));
    if (given->queue)
        policy->queue = str_of(keep(registry, given->queue));
    replace(policy, given);
    policy_check(policy, &problems);
    check_queue(policy->queue, &problems);
    if (!problems_none(&problems, err))
        return false;
    registry->policy_count++;
    return true;
}
