// The terms of a schedule in one table, and the verdict on what is due.
#include "model/schedule.h"

#include <stdarg.h>
#include <stdio.h>

#include "model/text_rule.h"

static const char *const run_statuses[] = {
    [RUN_RUNNING] = "running",
    [RUN_SUCCESS] = "success",
    [RUN_FAILED] = "failed",
    [RUN_SKIPPED_TIMEOUT] = "skipped_timeout",
};
_Static_assert(countof(run_statuses) == RUN_STATUSES, "one word per status");

static const char *const skip_reasons[] = {
    [SKIP_MISFIRE] = "misfire",
    [SKIP_COALESCED] = "coalesced",
    [SKIP_MAX_INSTANCES] = "max_instances",
    [SKIP_PAUSED] = "paused",
    [SKIP_CATCH_UP_LIMIT] = "catch_up_limit",
};
_Static_assert(countof(skip_reasons) == SKIP_REASONS, "one word per reason");

const char *run_status_name(enum run_status status)
{
    return run_statuses[status];
}

const char *skip_reason_name(enum skip_reason reason)
{
    return skip_reasons[reason];
}

static bool word_find(struct str word, const char *const *words, size_t count, size_t *at)
{
    for (*at = 0; *at < count; ++*at)
        if (str_eq(word, str_of(words[*at])))
            return true;
    return false;
}

bool run_status_parse(struct str name, enum run_status *status)
{
    size_t at = 0;
    bool found = word_find(name, run_statuses, countof(run_statuses), &at);
    *status = (enum run_status)at;
    return found;
}

bool skip_reason_parse(struct str name, enum skip_reason *reason)
{
    size_t at = 0;
    bool found = word_find(name, skip_reasons, countof(skip_reasons), &at);
    *reason = (enum skip_reason)at;
    return found;
}

struct policy schedule_policy(const struct policy *base, int64_t expected_us)
{
    struct policy policy = *base;
    policy.timeout_us = 2 * expected_us;
    policy.slot = true;
    return policy;
}

// ----- checking

struct checking {
    const char *prefix;
    struct problems *problems;
};

PRINTF(3, 4)
static void add(const struct checking *c, const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char message[256];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct str name = str_format(c->problems->arena, "%s%s", c->prefix, field);
    problem_add(c->problems, str_cstr(c->problems->arena, name), "%s", message);
}

static void check_time(const struct checking *c, const struct schedule *s)
{
    struct cron cron;
    struct pawl_error why = {0};
    if (!s->cron.n == !s->every_us)
        add(c, "cron", "say either cron or every%s", s->cron.n ? ", not both" : "");
    if (s->cron.n && !cron_parse(s->cron, &cron, &why))
        add(c, "cron", "%s", why.message);
    if (s->every_us && s->timezone.n && !str_eq(s->timezone, S("UTC")))
        add(c, "timezone", "is for cron: `every` counts in UTC");
}

void schedule_check(const struct schedule *s, const char *prefix, struct problems *problems)
{
    const struct checking c = { prefix, problems };
    const struct {
        const char *field;
        int64_t value, min, max;
        bool must;
        const char *range;
    } bounds[] = {
        { "every", s->every_us, EVERY_US_MIN, EVERY_US_MAX, false, "1s to 366d" },
        { "misfire_grace_time", s->misfire_grace_us, GRACE_US_MIN, GRACE_US_MAX, true,
          "1s to 366d; 300s is a good start" },
        { "max_instances", s->max_instances, 1, INSTANCES_MAX, true, "1 to 1000" },
        { "expected_max_runtime", s->expected_us, RUNTIME_US_MIN, RUNTIME_US_MAX, true,
          "1s to 15d" },
        { "catch_up", s->catch_up, 1, CATCH_UP_MAX, false, "1 to 100" },
        { "jitter", s->jitter_us, 0, JITTER_US_MAX, false, "0s to 24h" },
    };
    if (!text_is_type(s->name) || s->name.n > SCHEDULE_NAME_BYTES_MAX)
        add(&c, "name", "must be letters, digits and ._:- up to %d characters",
            SCHEDULE_NAME_BYTES_MAX);
    if (!s->coalesce_said)
        add(&c, "coalesce", "must be said: true or false");
    check_time(&c, s);
    for (size_t i = 0; i < countof(bounds); i++) {
        bool said = bounds[i].value != 0;
        bool within = bounds[i].value >= bounds[i].min && bounds[i].value <= bounds[i].max;
        if (said ? !within : bounds[i].must)
            add(&c, bounds[i].field, "must be %s%s", said ? "" : "said: ", bounds[i].range);
    }
}

bool schedule_eq(const struct schedule *a, const struct schedule *b)
{
    return str_eq(a->name, b->name) && str_eq(a->job_type, b->job_type)
        && str_eq(a->payload, b->payload) && str_eq(a->cron, b->cron)
        && a->every_us == b->every_us && str_eq(a->timezone, b->timezone)
        && a->coalesce == b->coalesce && a->misfire_grace_us == b->misfire_grace_us
        && a->max_instances == b->max_instances && a->expected_us == b->expected_us
        && a->catch_up == b->catch_up && a->jitter_us == b->jitter_us
        && str_eq(a->project_id, b->project_id) && str_eq(a->queue, b->queue)
        && policy_eq(&a->policy, &b->policy);
}

// ----- what is due

static int judge(const struct due *due, pawl_time slot, size_t later)
{
    const struct schedule *s = due->schedule;
    if (due->paused)
        return SKIP_PAUSED;
    if (s->coalesce && later > 0)
        return SKIP_COALESCED;
    if (due->instances >= s->max_instances)
        return SKIP_MAX_INSTANCES;
    if (due->now - slot > s->misfire_grace_us)
        return SKIP_MISFIRE;
    return later >= (size_t)s->catch_up ? SKIP_CATCH_UP_LIMIT : SLOT_RUNS;
}

void due_judge(const struct due *due, const pawl_time *slots, size_t count, int *verdicts)
{
    for (size_t i = 0; i < count; i++)
        verdicts[i] = judge(due, slots[i], count - 1 - i);
}
