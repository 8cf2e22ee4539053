// Every request has a key before it is sent, so sending it twice is safe: that is how a lost reply
// is answered.
#include "cli/request.h"

#include "cli/session.h"
#include "engine/job.h"
#include "model/stable.h"

static struct str unique_key(const struct cli *cli, struct arena *arena)
{
    return id_text(arena, id_after(0, world_wall(cli->world), world_random(cli->world)));
}

static struct str derived_key(const struct contract *contract, const json_t *object,
                              struct problems *problems)
{
    return idempotency_key(problems->arena, contract->job_type, contract->org_id,
                           contract->project_id, json_object_get(object, "payload"));
}

bool request_read(struct cli *cli, const json_t *object, enum key_recipe recipe,
                  struct contract *contract, struct problems *problems)
{
    struct contract_rules rules = {
        .caller = &cli->caller,
        .now = world_wall(cli->world),
        .policy = policy_builtin_or_default,
    };
    if (!contract_read(object, &rules, "", contract, problems))
        return false;
    if (contract->idempotency_key.n)
        return true;
    contract->idempotency_key = recipe == KEY_UNIQUE ? unique_key(cli, problems->arena)
                                                     : derived_key(contract, object, problems);
    return true;
}

static bool store_one(struct tx *tx, const struct contract *contract, struct answer *answer,
                      struct pawl_error *err)
{
    *answer = (struct answer){0};
    if (job_enqueue(tx, contract, &answer->job, &answer->known, &answer->error)
        || pawl_code(answer->error.code)->refusal)
        return true;
    *err = answer->error;
    return false;
}

static bool store_all(struct cli *cli, const struct contract *contracts, size_t count,
                      struct arena *arena, struct answer *answers, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    if (!session_begin(cli, TX_WRITE, arena, &tx, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!store_one(&tx, &contracts[i], &answers[i], err))
            return false;
    return tx_commit(&tx, err);
}

// What the lost commit had stored carries the id of this very request: it is not known from before.
static void own_again(const struct contract *contracts, size_t count, struct answer *answers)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(contracts[i].request_id, answers[i].job.contract.request_id))
            answers[i].known = false;
}

bool requests_store(struct cli *cli, const struct contract *contracts, size_t count,
                    struct arena *arena, struct answer *answers, struct pawl_error *err)
{
    if (store_all(cli, contracts, count, arena, answers, err))
        return true;
    if (err->code != PAWL_IN_DOUBT)
        return false;
    if (!session_open(cli, STORE_CHANGE, err) || !db_harden(cli->db, err)
        || !store_all(cli, contracts, count, arena, answers, err))
        return fail(err, PAWL_IN_DOUBT,
                    "it is not known whether this was stored (%s): send it again with the same key "
                    "to find out",
                    err->message);
    own_again(contracts, count, answers);
    return true;
}
