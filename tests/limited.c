#include "limited.h"

struct rate rate_of(const char *text)
{
    struct rate rate;
    EXPECT(rate_parse(str_of(text), &rate));
    return rate;
}

void limit_on(struct box *box, enum limit_scope scope, struct str name, struct limit limit)
{
    OK(limit_set(tx, scope, name, &limit, S(""), err));
}

static struct contract contract_of(struct box *box, const struct mail *wish)
{
    struct contract contract = contract_for(box, wish->type ? wish->type : "mail");
    contract.org_id = wish->org.n ? wish->org : ORG_A;
    contract.limit_key = wish->key;
    if (wish->queue.n)
        contract.queue = wish->queue;
    return contract;
}

struct job limited_add(struct box *box, struct mail wish)
{
    struct contract contract = contract_of(box, &wish);
    return must_add(box, &contract);
}

void limited_add_many(struct box *box, struct mail wish, int count)
{
    struct contract contract = contract_of(box, &wish);
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < count; i++) {
        struct job job;
        bool deduplicated = false;
        struct pawl_error err = {0};
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    }
    box_commit(&tx);
}

size_t limited_claim(struct box *box, size_t max, struct claimed **claimed, pawl_time *more_at)
{
    struct claim wanted = {
        .worker = worker_named("W"),
        .every_queue = true,
        .limit = max,
        .start = true,
        .more_at = more_at,
    };
    size_t count = 0;
    struct str org = box->caller.org_id;
    speak_for(box, S(""));
    OK(execution_claim(tx, &wanted, claimed, &count, err));
    speak_for(box, org);
    return count;
}

void limited_commit(struct box *box, const struct claimed *claimed)
{
    struct worker worker = worker_named("W");
    struct lease lease = lease_of(&claimed->execution, &worker);
    struct str org = box->caller.org_id;
    speak_for(box, S(""));
    must_commit(box, &lease);
    speak_for(box, org);
}
