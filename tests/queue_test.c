// Queues on a real store: numbers, tenants, turns and limits. Every test ends with `verify`,
// which recounts what the counters say.
#include "queues.h"

#include <string.h>

#include "base/json.h"
#include "engine/limit.h"
#include "rich_store.h"

// ----- numbers

TEST_EACH_DB(OPS_3_every_place_is_counted_for_its_org_and_for_all)
{
    queue_add(box, (struct wish){ .org = ORG_A });
    queue_add(box, (struct wish){ .org = ORG_B });
    queue_add(box, (struct wish){ .org = ORG_A, .hold = true });
    queue_add(box, (struct wish){ .org = ORG_A, .delay_us = HOURS(1) });
    queue_add(box, (struct wish){ .org = ORG_B, .serial_key = S("k") });
    queue_add(box, (struct wish){ .org = ORG_B, .serial_key = S("k") });
    speak_for(box, ORG_A);
    struct queue_view a = queue_seen(box, S("q:default"));
    speak_for(box, ORG_B);
    struct queue_view b = queue_seen(box, S("q:default"));
    speak_for(box, S(""));
    struct queue_view all = queue_seen(box, S("q:default"));
    EXPECT_INT(a.at[PLACE_READY], 1);
    EXPECT_INT(a.at[PLACE_HELD], 1);
    EXPECT_INT(a.at[PLACE_DELAYED], 1);
    EXPECT_INT(b.at[PLACE_READY], 2);
    EXPECT_INT(b.at[PLACE_BLOCKED], 1);
    EXPECT_INT(all.at[PLACE_READY], 3);
    EXPECT_INT(all.at[PLACE_BLOCKED], 1);

    struct lease lease = must_start(box, "A");
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_RUNNING], 1);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 2);
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_RUNNING], 0);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_BACKOFF], 1);
    pass(box, HOURS(2));
    must_sweep(box);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_BACKOFF], 0);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_DELAYED], 0);
}

TEST_EACH_DB(OPS_3_a_change_of_queue_moves_the_number_too)
{
    struct job job = queue_add(box, (struct wish){0});
    struct job_change change = { .has_queue = true, .queue = S("q:exports") };
    OK_FROM(job, job_change(tx, job.id, &change, &job, err));
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 0);
    EXPECT_INT(queue_seen(box, S("q:exports")).at[PLACE_READY], 1);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(queue_seen(box, S("q:exports")).at[PLACE_READY], 0);
}

// What the counters say after rollbacks is what they said before.
TEST_EACH_DB(OPS_3_what_is_taken_back_is_not_counted)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_mark(&tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_take_back(&tx, &err));
    MUST(tx_mark(&tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_keep(&tx, &err));
    box_commit(&tx);
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    tx_end(&tx);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 2);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 2);
}

TEST_EACH_DB(OPS_3_numbers_are_folded_however_many_transactions_there_are)
{
    for (int i = 0; i < 300; i++)
        queue_add(box, (struct wish){ .org = i % 2 ? ORG_A : ORG_B });
    EXPECT(box_number(box, "SELECT count(*) FROM count_deltas") < 64);
    EXPECT_INT(box_number(box, "SELECT ready FROM queue_counts WHERE org = 0"), 256);
    speak_for(box, S(""));
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 300);
    speak_for(box, ORG_A);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 150);
    struct db *reader = box_second(box, true);
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct queue_count *counts = NULL;
    size_t count = 0;
    MUST(tx_begin(reader, TX_READ, test_arena(), &tx, &err));
    MUST(counts_of_org(&tx, 0, &counts, &count, &err));
    EXPECT_INT(count, 1);
    EXPECT_INT(counts[0].at[PLACE_READY], 300);
    tx_end(&tx);
    db_close(reader);
}

TEST_EACH_DB(OPS_3_a_transaction_with_a_thousand_orgs_writes_one_row_of_numbers)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < 1000; i++) {
        contract.org_id = str_format(test_arena(), "0198c7a2-0000-7000-8000-%012d", i);
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    }
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM count_deltas"), 1);
    speak_for(box, S(""));
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 1000);
}

// As a store was before there were counters.
SQLITE_ONLY(OPS_3_the_numbers_of_an_earlier_store_are_made_when_it_is_migrated,
            "an earlier schema, which no store on PostgreSQL ever had")
TEST_EACH_DB(OPS_3_the_numbers_of_an_earlier_store_are_made_when_it_is_migrated)
{
    rich_store(box);
    struct str before = box_text(box, "SELECT count(*) FROM ready");
    box_as_of(box, 2);
    box_reopen(box);  // and at the end the numbers are compared with the records
    EXPECT(str_eq(box_text(box, "SELECT sum(ready) FROM queue_counts WHERE org = 0"), before));
}

TEST_EACH_DB(OPS_3_the_oldest_ready_job_is_found_in_every_lane)
{
    struct contract contract = contract_for(box, "urgent");
    struct job oldest = must_enqueue(box, "slow");
    pass(box, SECONDS(10));
    contract.priority = 50;
    must_add(box, &contract);
    must_enqueue(box, "another");
    EXPECT_INT(queue_seen(box, S("q:default")).oldest_ready_at, oldest.created_at);
    speak_for(box, S(""));
    EXPECT_INT(queue_seen(box, S("q:default")).oldest_ready_at, oldest.created_at);
    EXPECT_INT(queue_seen(box, S("q:exports")).oldest_ready_at, 0);
}

// ----- tenants

TEST_EACH_DB(OPS_10_queues_of_another_org_are_not_seen)
{
    queue_add(box, (struct wish){ .org = ORG_A, .queue = S("secret-project") });
    speak_for(box, ORG_B);
    EXPECT_INT(queue_seen(box, S("secret-project")).name.n, 0);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 0);
    speak_for(box, ORG_A);
    EXPECT_INT(queue_seen(box, S("secret-project")).at[PLACE_READY], 1);
}

TEST_EACH_DB(OPS_18_a_key_limited_to_projects_changes_no_queue)
{
    const struct str project = S("0198c7a2-0000-7000-8000-0000000000aa");
    struct purge purge = { .queue = S("q:default") };
    queue_add(box, (struct wish){0});
    box->caller.projects = &project;
    box->caller.project_count = 1;
    REFUSED(PAWL_FORBIDDEN, queue_pause(tx, S("q:default"), err));
    REFUSED(PAWL_FORBIDDEN, queue_resume(tx, S("q:default"), err));
    REFUSED(PAWL_FORBIDDEN, queue_purge(tx, &purge, 10, err));
    struct queue_view *queues;
    size_t count;
    REFUSED(PAWL_FORBIDDEN, queues_list(tx, &queues, &count, err));
}

// Not rehearsed: of a thousand queues each is asked for the same.
static size_t queues_listed(struct box *box)
{
    struct queue_view *queues = NULL;
    size_t count = 0;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(queues_list(&tx, &queues, &count, &err));
    return count;
}

static void add_to_each_queue(struct box *box)
{
    SCOPED(tx) struct tx tx = {0};
    struct pawl_error err = {0};
    struct job job;
    bool known;
    box_begin(box, &tx);
    for (int i = 0; i < QUEUES_LISTED_MAX; i++) {
        struct wish wish = { .queue = str_format(test_arena(), "queue-%d", i) };
        struct contract contract = queue_contract(box, &wish);
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    }
    box_commit(&tx);
}

TEST_EACH_DB(OPS_3_a_list_of_queues_has_an_end)
{
    add_to_each_queue(box);
    OK(queue_pause(tx, S("queue-999"), err));
    EXPECT_INT(queues_listed(box), QUEUES_LISTED_MAX);
    speak_for(box, S(""));
    EXPECT_INT(queues_listed(box), QUEUES_LISTED_MAX);
}

TEST_EACH_DB(OPS_3_a_queue_tells_its_limit)
{
    queue_add(box, (struct wish){ .queue = S("queue-1") });
    struct limit limit = { .max_running = 7 };
    OK(limit_set(tx, LIMIT_QUEUE, S("queue-1"), &limit, S(""), err));
    struct queue_view seen = queue_seen(box, S("queue-1"));
    SCOPED(json) json_t *json = queue_json(test_arena(), &seen);
    EXPECT_INT(json_integer_value(json_object_get(json, "max_running")), 7);
}

// ----- turns

// A producer floods the critical queue: of ten thousand jobs each tenth is of another queue, by its
// weight, whether claims are small or large.
static void flood(struct box *box, size_t limit)
{
    enum { ROUNDS = 10000, CRITICAL_AT_ONCE = 900 };
    const struct str others[] = { S("q:default"), S("q:exports"), S("mine") };
    struct turns turns = {0};
    size_t critical = 0, taken = 0, by_queue[countof(others)] = {0};
    for (size_t i = 0; i < countof(others); i++)
        queue_add_many(box, (struct wish){ .queue = others[i] }, 500);
    while (taken < ROUNDS) {
        struct claimed *claimed = NULL;
        speak_for(box, S(""));
        int64_t waiting = queue_seen(box, CRITICAL_QUEUE).at[PLACE_READY];
        speak_for(box, DEFAULT_ORG);
        if (waiting < (int64_t)limit)
            queue_add_many(box, (struct wish){ .queue = CRITICAL_QUEUE },
                           (int)(CRITICAL_AT_ONCE - waiting));
        size_t count = queue_claim(box, limit, &turns, &claimed);
        EXPECT_INT(count, limit);
        for (size_t i = 0; i < count; i++, taken++) {
            bool is_critical = str_eq(claimed[i].job.queue, CRITICAL_QUEUE);
            EXPECT(is_critical == (taken % 10 != 9));
            critical += is_critical;
            for (size_t q = 0; q < countof(others); q++)
                by_queue[q] += str_eq(claimed[i].job.queue, others[q]);
        }
    }
    EXPECT_INT(critical, 9000);
    EXPECT_INT(by_queue[0], 400);
    EXPECT_INT(by_queue[1], 200);
    EXPECT_INT(by_queue[2], 400);
}

TEST_EACH_DB(OPS_3_critical_goes_first_and_starves_nobody_over_10000_jobs_in_large_claims)
{
    flood(box, 500);
}

TEST_EACH_DB(OPS_3_critical_goes_first_and_starves_nobody_over_10000_jobs_in_small_claims)
{
    flood(box, 10);
}

TEST_EACH_DB(OPS_3_queues_that_are_named_share_by_weight_too)
{
    const struct str queues[] = { S("q:default"), S("q:critical"), S("q:default") };
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = queues,
        .queue_count = 3,
        .limit = 10,
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    queue_add_many(box, (struct wish){0}, 20);
    queue_add_many(box, (struct wish){ .queue = CRITICAL_QUEUE }, 20);
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 10);
    for (size_t i = 0; i < 10; i++)
        EXPECT(str_eq(claimed[i].job.queue, CRITICAL_QUEUE) == (i < 9));
    claim.in_order = true;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    for (size_t i = 0; i < 10; i++)
        EXPECT(str_eq(claimed[i].job.queue, S("q:default")));
}

// ----- limits

TEST_EACH_DB(OPS_20_the_critical_queue_refuses_more_than_its_limit)
{
    struct contract contract = queue_contract(box, &(struct wish){ .queue = CRITICAL_QUEUE });
    struct job first, job;
    bool deduplicated = false;
    contract.idempotency_key = S("first");
    first = must_add(box, &contract);
    contract.idempotency_key = S("");
    queue_add_many(box, (struct wish){ .queue = CRITICAL_QUEUE }, 998);
    queue_add(box, (struct wish){ .queue = CRITICAL_QUEUE, .hold = true });
    REFUSED(PAWL_QUEUE_FULL, job_enqueue(tx, &contract, &job, &deduplicated, err));
    contract.idempotency_key = S("first");
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));  // a repeat gets its job
    EXPECT(deduplicated && id_eq(job.id, first.id));
    struct job waits = queue_add(box, (struct wish){0});
    struct job_change change = { .has_queue = true, .queue = CRITICAL_QUEUE };
    REFUSED(PAWL_QUEUE_FULL, job_change(tx, waits.id, &change, &job, err));
    EXPECT_INT(queue_take(box, 1), 1);  // what runs does not wait
    contract.idempotency_key = S("");
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));
    REFUSED(PAWL_QUEUE_FULL, job_enqueue(tx, &contract, &job, &deduplicated, err));
}

TEST_EACH_DB(OPS_20_a_limit_holds_within_one_transaction)
{
    const struct queue_term rows[] = { { S("small"), 4, 3 } };
    const struct queue_terms terms = { rows, 1 };
    struct contract contract = queue_contract(box, &(struct wish){ .queue = S("small") });
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    queue_add(box, (struct wish){ .queue = S("small") });
    box_begin(box, &tx);
    tx.queue_terms = &terms;
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(job_cancel(&tx, job.id, &job, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_mark(&tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    EXPECT_REFUSED(PAWL_QUEUE_FULL, job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_take_back(&tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    EXPECT_REFUSED(PAWL_QUEUE_FULL, job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    EXPECT_STR(str_of(err.message), "queue small is full: 3 jobs wait in it, its limit is 3");
    box_commit(&tx);
}

TEST_EACH_DB(OPS_3_a_row_of_numbers_that_is_damaged_is_named)
{
    struct queue_count *counts = NULL;
    size_t count = 0;
    queue_add(box, (struct wish){0});
    box_sql(box, "UPDATE count_deltas SET changes = '[[1,1,5]]'");
    box->damaged = true;
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_DAMAGED, counts_of_org(&tx, 0, &counts, &count, &err));
    EXPECT(strstr(err.message, "pawl verify") != NULL);
    tx_end(&tx);
}

// The first place of the one queue, and the second of the other: not one run of places.
TEST_EACH_DB(OPS_3_places_of_two_orgs_in_two_queues_are_taken_apart)
{
    const struct str queues[] = { S("q:default"), S("q:exports") };
    for (size_t few = 0; few < countof(queues); few++) {
        queue_add(box, (struct wish){ .org = ORG_A, .queue = queues[few] });
        queue_add_many(box, (struct wish){ .org = ORG_B, .queue = queues[1 - few] }, 6);
        EXPECT_INT(queue_take(box, 7), 7);
        EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
    }
}
