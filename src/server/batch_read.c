// A callback is a job like any other, with what Pawl decides about it left out.
#include "server/batch_read.h"

#include "model/stable.h"
#include "model/text_rule.h"

static void check_texts(const struct batch_given *given, struct problems *problems)
{
    if (given->name.n && !text_is_key(given->name))
        problem_add(problems, "name", "must be text without control characters");
    if (given->idempotency_key.n && !text_is_key(given->idempotency_key))
        problem_add(problems, "idempotency_key", "must be text without control characters");
    if (given->project_id.n && !text_is_uuid(given->project_id))
        problem_add(problems, "project_id", "must be a UUID in lower case");
}

static void read_job(const json_t *object, const struct contract_rules *rules, size_t i,
                     struct contract *contract, struct problems *problems)
{
    struct str prefix = str_format(problems->arena, "jobs[%zu].", i);
    if (contract_read(object, rules, prefix.s, contract, problems) && contract->batch.high)
        problem_add(problems, str_format(problems->arena, "%.*sbatch_id", STR(prefix)).s,
                    "is that of the batch it is sent with");
}

static void read_callback(const json_t *object, const struct contract_rules *rules,
                          struct contract *contract, struct problems *problems)
{
    struct contract_rules own = *rules;
    bool keyed = json_object_get(object, "idempotency_key") != NULL;
    own.key_required = false;
    if (contract_read(object, &own, "callback.", contract, problems))
        callback_check(contract, keyed, "callback.", problems);
}

bool batch_read(const struct batch_given *given, const struct contract_rules *rules,
                struct batch_request *request, struct problems *problems)
{
    struct arena *arena = problems->arena;
    size_t count = json_array_size(given->jobs);
    struct contract *contracts = arena_new(arena, struct contract, count + 1);
    if (!contracts)
        return false;
    check_texts(given, problems);
    for (size_t i = 0; i < count; i++)
        read_job(json_array_get(given->jobs, i), rules, i, &contracts[i], problems);
    if (given->callback)
        read_callback(given->callback, rules, &contracts[count], problems);
    *request = (struct batch_request){
        .org_id = rules->caller->org_id,
        .project_id = given->project_id,
        .name = given->name,
        .idempotency_key = given->idempotency_key,
        .content = given->idempotency_key.n ? stable_hash(arena, given->whole) : S(""),
        .jobs = contracts,
        .count = count,
        .callback = given->callback ? &contracts[count] : NULL,
        .problems = problems,
    };
    return true;
}
