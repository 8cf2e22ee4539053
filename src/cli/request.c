// Every request has a key before it is sent, so sending it twice is safe: that is how a lost reply
// is answered.
#include "cli/request.h"

#include "cli/session.h"
#include "engine/job.h"
#include "model/stable.h"

// The entries of a batch that keep the contract.
struct good {
    struct contract *contracts;
    struct entry **entries;
    size_t count;
};

struct str unique_key(const struct cli *cli, struct arena *arena)
{
    return id_text(arena, id_after(0, world_wall(cli->world), world_random(cli->world)));
}

static struct str derived_key(const struct contract *contract, const json_t *object,
                              struct problems *problems)
{
    return idempotency_key(problems->arena, contract->job_type, contract->org_id,
                           contract->project_id, json_object_get(object, "payload"));
}

static bool read_contract(struct cli *cli, const json_t *object, enum key_recipe recipe,
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

bool entry_read(struct cli *cli, struct batch *batch, struct entry *entry,
                struct contract *contract)
{
    struct problems problems = { .arena = batch->arena };
    if (read_contract(cli, entry->object, batch->recipe, contract, &problems))
        return true;
    struct problem *list = arena_new(batch->arena, struct problem, problems.count);
    entry->problems = list;
    entry->problem_count = list ? problems.count : 0;
    for (size_t i = 0; i < entry->problem_count; i++)
        list[i] = problems.list[i];
    return false;
}

static bool read_batch(struct cli *cli, struct batch *batch, struct good *good,
                       struct pawl_error *err)
{
    good->contracts = arena_new(batch->arena, struct contract, batch->count);
    good->entries = arena_new(batch->arena, struct entry *, batch->count);
    for (size_t i = 0; good->contracts && good->entries && i < batch->count; i++) {
        struct entry *entry = &batch->entries[i];
        if (entry_open(entry) && entry_read(cli, batch, entry, &good->contracts[good->count]))
            good->entries[good->count++] = entry;
    }
    return !batch->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to read the request");
}

// `known` is by the job's request when a lost commit is looked up: what that had stored carries the
// id of this very request, and is not known from before.
static bool store_one(struct tx *tx, const struct contract *contract, const struct batch *batch,
                      struct entry *entry, struct pawl_error *err)
{
    struct job job;
    struct pawl_error why = {0};
    if (!job_enqueue(tx, contract, &job, &entry->known, &why)) {
        entry->error = why;
        return pawl_code(why.code)->refusal || fail(err, why.code, "%s", why.message);
    }
    if (batch->again && str_eq(contract->request_id, job.contract.request_id))
        entry->known = false;
    entry->job = batch->wants_jobs ? job_json(tx->arena, &job) : NULL;
    return true;
}

// Nothing of it counts until the commit.
static void take_back(struct good *good)
{
    for (size_t i = 0; i < good->count; i++) {
        json_end(&good->entries[i]->job);
        good->entries[i]->error = (struct pawl_error){0};
    }
}

static bool store_good(struct cli *cli, struct batch *batch, struct good *good,
                       struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    bool stored = session_begin(cli, TX_WRITE, batch->arena, &tx, err);
    for (size_t i = 0; stored && i < good->count; i++)
        stored = store_one(&tx, &good->contracts[i], batch, good->entries[i], err);
    if (stored && tx_commit(&tx, err))
        return true;
    take_back(good);
    return false;
}

// The store is opened when there is something to put into it.
bool batch_store(struct cli *cli, struct batch *batch, struct pawl_error *err)
{
    struct good good = {0};
    if (!read_batch(cli, batch, &good, err))
        return false;
    if (good.count == 0)
        return true;
    if (!cli->db && !session_open(cli, STORE_CREATE, err))
        return false;
    if (store_good(cli, batch, &good, err))
        return true;
    if (err->code != PAWL_IN_DOUBT)
        return false;
    batch->again = true;
    return (session_open(cli, STORE_CHANGE, err) && db_harden(cli->db, err)
            && store_good(cli, batch, &good, err))
        || batch_in_doubt(err);
}
