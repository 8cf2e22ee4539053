// Fills what was not given from the handle: org, actor, policy, queue, ids of the request.
#include "run/request.h"

#include "model/after.h"
#include "run/handle.h"

static struct str given(struct arena *arena, const char *text)
{
    return text ? str_dup(arena, str_of(text)) : S("");
}

static struct str given_or(struct arena *arena, const char *text, struct str otherwise)
{
    return text ? str_dup(arena, str_of(text)) : otherwise;
}

static struct str new_id(const struct pawl *pawl, struct arena *arena)
{
    return id_text(arena, id_after(0, world_wall(pawl->world), world_random(pawl->world)));
}

// A text that is given and empty is a variable somebody forgot to fill: taken as "not given", an
// empty key would switch deduplication off in silence.
static bool none_empty(const struct pawl_job *job, const char *prefix, struct problems *problems)
{
    const struct {
        const char *field, *text;
    } texts[] = {
        { "payload", job->payload },
        { "idempotency_key", job->idempotency_key },
        { "serial_key", job->serial_key },
        { "limit_key", job->limit_key },
        { "queue", job->queue },
        { "policy", job->policy },
        { "org_id", job->org_id },
        { "project_id", job->project_id },
        { "request_id", job->request_id },
        { "correlation_id", job->correlation_id },
        { "traceparent", job->traceparent },
        { "authorized_by", job->authorized_by },
        { "batch_id", job->batch_id },
    };
    bool fine = true;
    for (size_t i = 0; i < countof(texts); i++) {
        if (!texts[i].text || texts[i].text[0])
            continue;
        struct str field = str_format(problems->arena, "%s%s", prefix, texts[i].field);
        problem_add(problems, field.s, "is empty: give a text, or NULL to leave it out");
        fine = false;
    }
    return fine;
}

static bool refuse_link(struct problems *problems, const char *prefix, const char *field,
                        const char *message)
{
    problem_add(problems, str_format(problems->arena, "%s%s", prefix, field).s, "%s", message);
    return false;
}

// The jobs it waits for, and the batch it joins.
static bool read_links(const struct pawl_job *job, const char *prefix, struct contract *contract,
                       struct problems *problems)
{
    bool fine = true;
    if (job->batch_id && job->batch_id[0]
        && (!id_parse(str_of(job->batch_id), &contract->batch) || contract->batch.high == 0))
        fine = refuse_link(problems, prefix, "batch_id", "must be the id of a batch");
    if (job->after_count == 0)
        return fine;
    SCOPED(json) json_t *list = json_array();
    for (size_t i = 0; job->after && i < job->after_count && i <= AFTER_MAX; i++)
        json_array_append_new(list, json_string(job->after[i] ? job->after[i] : ""));
    if (!job->after)
        return refuse_link(problems, prefix, "after", "is NULL");
    struct str path = str_format(problems->arena, "%safter", prefix);
    return after_read(list, path.s, contract, problems) && fine;
}

static bool find_policy(struct pawl *pawl, const struct pawl_job *job, const char *prefix,
                        struct contract *contract, struct problems *problems)
{
    const struct policy *policy = registry_policy(&pawl->registry, str_of(job->policy),
                                                  contract->job_type);
    if (policy) {
        contract->policy = *policy;
        contract->queue = given_or(problems->arena, job->queue, policy->queue);
        return true;
    }
    struct str field = str_format(problems->arena, "%spolicy", prefix);
    problem_add(problems, field.s, "there is none of the name %s: take a built-in one, or say "
                                   "pawl_define_policy first",
                job->policy);
    return false;
}

bool request_contract(struct pawl *pawl, const struct pawl_job *job, const char *prefix,
                      struct contract *contract, struct problems *problems)
{
    struct arena *a = problems->arena;
    struct str request_id = job->request_id ? given(a, job->request_id) : new_id(pawl, a);
    *contract = (struct contract){
        .job_type = given(a, job->job_type),
        .org_id = given_or(a, job->org_id, pawl->caller.org_id),
        .project_id = given(a, job->project_id),
        .actor_type = pawl->caller.actor_type,
        .actor_id = pawl->caller.actor_id,
        .request_id = request_id,
        .correlation_id = given_or(a, job->correlation_id, request_id),
        .idempotency_key = given(a, job->idempotency_key),
        .payload = given_or(a, job->payload, S("{}")),
        .scheduled_for = job->scheduled_for,
        .traceparent = given(a, job->traceparent),
        .priority = job->priority,
        .serial_key = given(a, job->serial_key),
        .max_wait_us = job->max_wait_us,
        .authorized_by = given(a, job->authorized_by),
        .limit_key = given(a, job->limit_key),
        .hold = job->hold,
    };
    bool found = find_policy(pawl, job, prefix, contract, problems);
    if (!found) {  // the rest is checked all the same: every problem is named
        contract->policy = *policy_builtin(S("default"));
        contract->queue = given_or(a, job->queue, contract->policy.queue);
    }
    bool filled = none_empty(job, prefix, problems);
    bool linked = (job->after_count == 0 && !job->batch_id)
               || read_links(job, prefix, contract, problems);
    return contract_check(contract, world_wall(pawl->world), prefix, problems) && found && filled
        && linked;
}

bool request_id(const char *text, struct id *id, struct pawl_error *err)
{
    return id_parse(str_of(text), id)
        || fail(err, PAWL_NOT_FOUND, "%s is not the id of a job", text ? text : "NULL");
}
