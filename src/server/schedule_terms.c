// A schedule is refused when it is put, not in the night when its first slot is due: so its jobs
// are held against the contract here, as if they came now.
#include "server/schedule_terms.h"

#include "base/guess.h"
#include "engine/zone_load.h"

static const struct policy *find_policy(const struct config *config, struct str name,
                                        struct problems *problems)
{
    const struct policy *found = config_policy(config, name.n ? name : S("scheduled"));
    struct guess guess = {0};
    if (found)
        return found;
    for (size_t i = 0; policy_builtin_at(i); i++)
        guess_try(&guess, name, policy_builtin_at(i)->name.s);
    for (size_t i = 0; i < config->policy_count; i++)
        guess_try(&guess, name, config->policies[i].policy.name.s);
    if (guess.name)
        problem_add(problems, "policy", "there is no such policy; did you mean %s?", guess.name);
    else
        problem_add(problems, "policy", "there is no such policy");
    return policy_builtin(S("scheduled"));
}

// Only whether there is one: a configuration does not keep a copy for each of its schedules.
static void check_zone(const struct schedule *schedule, struct problems *problems)
{
    SCOPED(arena) struct arena scratch = {0};
    const struct zone *zone;
    struct pawl_error why = {0};
    if (schedule->timezone.n && !zone_load(&scratch, schedule->timezone, &zone, &why))
        problem_add(problems, "timezone", "%s", why.message);
}

static void check_job(const struct config *config, const struct policy *policy,
                      const struct schedule *schedule, struct problems *problems)
{
    struct contract job = {
        .job_type = schedule->job_type,
        .org_id = DEFAULT_ORG,
        .project_id = schedule->project_id,
        .actor_type = ACTOR_SYSTEM,
        .actor_id = S("scheduler"),
        .request_id = S("slot"),
        .correlation_id = S("slot"),
        .idempotency_key = S("slot"),
        .payload = schedule->payload,
        .queue = schedule->queue.n ? schedule->queue : policy->queue,
        .policy = *policy,
    };
    size_t bytes_max = (size_t)config->limits.payload_bytes;
    contract_check(&job, 0, "", problems);
    if (job.payload.n > bytes_max && job.payload.n <= PAYLOAD_BYTES_MAX)
        problem_add(problems, "payload", "has %zu bytes: at most %zu are allowed", job.payload.n,
                    bytes_max);
}

void schedule_complete(const struct config *config, struct str policy, struct schedule *schedule,
                       struct problems *problems)
{
    const struct policy *base = find_policy(config, policy, problems);
    schedule->policy = schedule_policy(base, schedule->expected_us);
    schedule_check(schedule, "", problems);
    check_zone(schedule, problems);
    check_job(config, base, schedule, problems);
}
