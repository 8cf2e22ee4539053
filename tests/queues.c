#include "queues.h"

void speak_for(struct box *box, struct str org)
{
    box->caller.org_id = org;
}

struct contract queue_contract(struct box *box, const struct wish *wish)
{
    struct contract contract = contract_for(box, "report");
    if (wish->org.n)
        contract.org_id = wish->org;
    if (wish->queue.n)
        contract.queue = wish->queue;
    contract.serial_key = wish->serial_key;
    contract.hold = wish->hold;
    if (wish->delay_us)
        contract.scheduled_for = box->world.wall + wish->delay_us;
    return contract;
}

struct job queue_add(struct box *box, struct wish wish)
{
    struct contract contract = queue_contract(box, &wish);
    return must_add(box, &contract);
}

void queue_add_many(struct box *box, struct wish wish, int count)
{
    struct contract contract = queue_contract(box, &wish);
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < count; i++)
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    box_commit(&tx);
}

size_t queue_claim(struct box *box, size_t limit, struct turns *turns,
                   struct claimed **claimed)
{
    struct str org = box->caller.org_id;
    struct turns none = {0}, *taken = turns ? turns : &none;
    struct claim claim = {
        .worker = worker_named("A"),
        .every_queue = true,
        .turns = turns,
        .limit = limit,
        .start = true,
    };
    size_t count = 0;
    speak_for(box, S(""));
    OK_FROM(*taken, execution_claim(tx, &claim, claimed, &count, err));
    speak_for(box, org);
    return count;
}

size_t queue_take(struct box *box, size_t limit)
{
    struct claimed *claimed = NULL;
    return queue_claim(box, limit, NULL, &claimed);
}

struct queue_view queue_seen(struct box *box, struct str queue)
{
    struct queue_view *all = NULL, found = {0};
    size_t count = 0;
    OK(queues_list(tx, &all, &count, err));
    for (size_t i = 0; i < count; i++)
        if (str_eq(all[i].name, queue))
            found = all[i];
    return found;
}
