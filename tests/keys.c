// Keys by their numbers: one transaction for each call.
#include "keys.h"

void few_keys(struct box *box)
{
    box->generation_keys = FEW;
    box_reopen(box);
}

struct contract contract_of_key(struct box *box, int number)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = str_format(test_arena(), "key-%d", number);
    return contract;
}

// The job that has the key now.
static struct job ask(struct box *box, int number, bool *deduplicated)
{
    struct contract contract = contract_of_key(box, number);
    struct job job;
    OK(job_enqueue(tx, &contract, &job, deduplicated, err));
    return job;
}

struct job must_be_new(struct box *box, int number)
{
    bool deduplicated = false;
    struct job job = ask(box, number, &deduplicated);
    EXPECT(!deduplicated);
    return job;
}

void make_keys(struct box *box, struct id *ids, int count)
{
    for (int i = 0; i < count; i++)
        ids[i] = must_be_new(box, i).id;
}

void must_be(struct box *box, int number, struct id id)
{
    bool deduplicated = false;
    struct job job = ask(box, number, &deduplicated);
    EXPECT(deduplicated && id_eq(job.id, id));
}

void must_be_all(struct box *box, const struct id *ids, int count)
{
    for (int i = 0; i < count; i++)
        must_be(box, i, ids[i]);
}

int64_t generations(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM idempotency_generations");
}

void end_job(struct box *box, struct id id)
{
    struct job job;
    OK(job_cancel(tx, id, &job, err));
}
