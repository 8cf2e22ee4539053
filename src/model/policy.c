// The built-in policies, one row each, and the arithmetic of backing off.
#include "model/policy.h"

#define LEASED .lease_us = SECONDS(30), .step_attempts = 2
#define RETRYING .on_crash = ON_CRASH_RETRY, .on_timeout = ON_TIMEOUT_RETRY, LEASED
#define RUN_ONCE .on_crash = ON_CRASH_FAIL, .on_timeout = ON_TIMEOUT_TIMED_OUT, LEASED, \
                 .max_attempts = 1
#define EXPONENTIAL(base, max) .exponential = true, .jitter = true, .base_us = base, \
                               .delay_us_max = max
#define NAMED(text) .name = { text, sizeof(text) - 1 }
#define CATEGORY(text) .category = { text, sizeof(text) - 1 }
#define QUEUE(text) .queue = { text, sizeof(text) - 1 }

// clang-format off
static const struct policy builtin[] = {
    { NAMED("default"), CATEGORY("default"), QUEUE("q:default"),
      .max_attempts = 5, EXPONENTIAL(SECONDS(5), MINUTES(5)), .timeout_us = MINUTES(10),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(7) },
    { NAMED("critical"), CATEGORY("critical"), QUEUE("q:critical"),
      .max_attempts = 5, EXPONENTIAL(SECONDS(5), MINUTES(5)), .timeout_us = MINUTES(10),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(7) },
    { NAMED("audit"), CATEGORY("audit"), QUEUE("q:default"),
      .max_attempts = 5, EXPONENTIAL(SECONDS(5), MINUTES(5)), .timeout_us = MINUTES(10),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(7) },
    { NAMED("notification"), CATEGORY("notification"), QUEUE("q:notifications"),
      .max_attempts = 10, EXPONENTIAL(SECONDS(5), MINUTES(30)), .timeout_us = MINUTES(1),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(7) },
    { NAMED("planning"), CATEGORY("planning"), QUEUE("q:planning"),
      .max_attempts = 3, EXPONENTIAL(SECONDS(5), MINUTES(2)), .timeout_us = MINUTES(30),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(30) },
    { NAMED("transfer"), CATEGORY("transfer"), QUEUE("q:exports"),
      .max_attempts = 5, EXPONENTIAL(SECONDS(5), MINUTES(10)), .timeout_us = HOURS(1),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(30) },
    { NAMED("maintenance"), CATEGORY("maintenance"), QUEUE("q:maintenance"),
      .max_attempts = 5, EXPONENTIAL(SECONDS(5), MINUTES(5)), .timeout_us = HOURS(1),
      RETRYING, .dead_letter = true, .key_ttl_us = DAYS(7) },
    { NAMED("document"), CATEGORY("default"), QUEUE("q:default"),
      RUN_ONCE, .timeout_us = SECONDS(120), .key_ttl_us = DAYS(7) },
    { NAMED("lifecycle"), CATEGORY("default"), QUEUE("q:default"),
      .max_attempts = 4, .base_us = SECONDS(1), .delay_us_max = SECONDS(1),
      .timeout_us = MINUTES(10), RETRYING, .key_ttl_us = DAYS(7) },
    // A schedule replaces the timeout by twice its expected_max_runtime.
    { NAMED("scheduled"), CATEGORY("maintenance"), QUEUE("q:maintenance"),
      RUN_ONCE, .timeout_us = MINUTES(10), .key_ttl_us = DAYS(7) },
};
// clang-format on

const struct policy *policy_builtin(struct str name)
{
    for (size_t i = 0; i < countof(builtin); i++)
        if (str_eq(builtin[i].name, name))
            return &builtin[i];
    return NULL;
}

const struct policy *policy_builtin_at(size_t index)
{
    return index < countof(builtin) ? &builtin[index] : NULL;
}

bool policy_eq(const struct policy *a, const struct policy *b)
{
    return str_eq(a->name, b->name) && str_eq(a->category, b->category)
        && str_eq(a->queue, b->queue) && a->max_attempts == b->max_attempts
        && a->step_attempts == b->step_attempts && a->exponential == b->exponential
        && a->jitter == b->jitter && a->base_us == b->base_us
        && a->delay_us_max == b->delay_us_max && a->timeout_us == b->timeout_us
        && a->lease_us == b->lease_us && a->on_crash == b->on_crash
        && a->on_timeout == b->on_timeout && a->dead_letter == b->dead_letter
        && a->key_ttl_us == b->key_ttl_us && a->slot == b->slot
        && a->authoritative == b->authoritative && a->may_write == b->may_write;
}

void policy_check(const struct policy *policy, struct problems *problems)
{
    const struct {
        const char *field;
        int64_t value, min, max;
        const char *range;
    } bounds[] = {
        { "max_attempts", policy->max_attempts, 1, 1000, "1 to 1000" },
        { "step_attempts", policy->step_attempts, 1, 100, "1 to 100" },
        { "base", policy->base_us, 0, DAYS(30), "0s to 30d" },
        { "max_delay", policy->delay_us_max, policy->base_us, DAYS(30), "base to 30d" },
        { "timeout", policy->timeout_us, MILLISECONDS(1), DAYS(30), "1ms to 30d" },
        { "lease", policy->lease_us, SECONDS(1), HOURS(1), "1s to 1h" },
        { "key_ttl", policy->key_ttl_us, 0, DAYS(3650), "0s to 3650d" },
    };
    for (size_t i = 0; i < countof(bounds); i++)
        if (bounds[i].value < bounds[i].min || bounds[i].value > bounds[i].max)
            problem_add(problems, bounds[i].field, "must be %s", bounds[i].range);
}

int64_t policy_delay(const struct policy *policy, int64_t n, uint64_t dice)
{
    int64_t delay = policy->base_us;
    for (int64_t i = 1; policy->exponential && i < n && delay < policy->delay_us_max; i++)
        delay *= 2;
    if (delay > policy->delay_us_max)
        delay = policy->delay_us_max;
    if (policy->jitter && delay > 1) {
        uint64_t span = (uint64_t)(delay - delay / 2) + 1;
        delay = delay / 2 + (int64_t)(dice % span);
    }
    return delay;
}
