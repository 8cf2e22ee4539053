// Queues on a real store: numbers, pauses, purges, turns and limits. Every test ends with `verify`,
// which recounts what the counters say.
#include "fixture.h"

#include <stdio.h>

#include "engine/queue.h"
#include "engine/shelf.h"
#include "store/names.h"

#define ORG_A S("0198c7a2-0000-7000-8000-00000000000a")
#define ORG_B S("0198c7a2-0000-7000-8000-00000000000b")

static void speak_for(struct box *box, struct str org)
{
    box->caller.org_id = org;
}

// A job of an org in a queue; it may be held, delayed or have a serial key.
struct wish {
    struct str org, queue, serial_key;
    bool hold;
    int64_t delay_us;
};

static struct contract contract_of(struct box *box, const struct wish *wish)
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

static struct job add(struct box *box, struct wish wish)
{
    struct contract contract = contract_of(box, &wish);
    return must_add(box, &contract);
}

static void add_many(struct box *box, struct wish wish, int count)
{
    struct contract contract = contract_of(box, &wish);
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < count; i++)
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    box_commit(&tx);
}

// Claims as a runner of every org does.
static size_t claim_all(struct box *box, size_t limit, struct turns *turns,
                        struct claimed **claimed)
{
    struct str org = box->caller.org_id;
    struct claim claim = { .worker = worker_named("A"), .every_queue = true, .turns = turns, .limit = limit, .start = true };
    size_t count = 0;
    speak_for(box, S(""));
    OK(execution_claim(tx, &claim, claimed, &count, err));
    speak_for(box, org);
    return count;
}

static size_t take(struct box *box, size_t limit)
{
    struct claimed *claimed = NULL;
    return claim_all(box, limit, NULL, &claimed);
}

static struct queue_view view(struct box *box, struct str queue)
{
    struct queue_view *all = NULL, found = {0};
    size_t count = 0;
    OK(queues_list(tx, &all, &count, err));
    for (size_t i = 0; i < count; i++)
        if (str_eq(all[i].name, queue))
            found = all[i];
    return found;
}

// ----- numbers

TEST_EACH_DB(OPS_3_every_place_is_counted_for_its_org_and_for_all)
{
    add(box, (struct wish){ .org = ORG_A });
    add(box, (struct wish){ .org = ORG_B });
    add(box, (struct wish){ .org = ORG_A, .hold = true });
    add(box, (struct wish){ .org = ORG_A, .delay_us = HOURS(1) });
    add(box, (struct wish){ .org = ORG_B, .serial_key = S("k") });
    add(box, (struct wish){ .org = ORG_B, .serial_key = S("k") });
    speak_for(box, ORG_A);
    struct queue_view a = view(box, S("q:default"));
    speak_for(box, ORG_B);
    struct queue_view b = view(box, S("q:default"));
    speak_for(box, S(""));
    struct queue_view all = view(box, S("q:default"));
    EXPECT_INT(a.at[PLACE_READY], 1);
    EXPECT_INT(a.at[PLACE_HELD], 1);
    EXPECT_INT(a.at[PLACE_DELAYED], 1);
    EXPECT_INT(b.at[PLACE_READY], 2);
    EXPECT_INT(b.at[PLACE_BLOCKED], 1);
    EXPECT_INT(all.at[PLACE_READY], 3);
    EXPECT_INT(all.at[PLACE_BLOCKED], 1);

    struct lease lease = must_start(box, "A");
    EXPECT_INT(view(box, S("q:default")).at[PLACE_RUNNING], 1);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 2);
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_RUNNING], 0);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_BACKOFF], 1);
    pass(box, HOURS(2));
    must_sweep(box);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_BACKOFF], 0);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_DELAYED], 0);
}

TEST_EACH_DB(OPS_3_a_change_of_queue_moves_the_number_too)
{
    struct job job = add(box, (struct wish){0});
    struct job_change change = { .has_queue = true, .queue = S("q:exports") };
    OK(job_change(tx, job.id, &change, &job, err));
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 0);
    EXPECT_INT(view(box, S("q:exports")).at[PLACE_READY], 1);
    OK(job_cancel(tx, job.id, &job, err));
    EXPECT_INT(view(box, S("q:exports")).at[PLACE_READY], 0);
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
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 2);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 2);
}

TEST_EACH_DB(OPS_3_numbers_are_folded_however_many_transactions_there_are)
{
    for (int i = 0; i < 300; i++)
        add(box, (struct wish){ .org = i % 2 ? ORG_A : ORG_B });
    EXPECT(box_number(box, "SELECT count(*) FROM count_deltas") < 64);
    EXPECT_INT(box_number(box, "SELECT ready FROM queue_counts WHERE org = 0"), 256);
    speak_for(box, S(""));
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 300);
    speak_for(box, ORG_A);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 150);
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
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 1000);
}

TEST_EACH_DB(OPS_3_the_oldest_ready_job_is_found_in_every_lane)
{
    struct contract contract = contract_for(box, "urgent");
    struct job oldest = must_enqueue(box, "slow");
    pass(box, SECONDS(10));
    contract.priority = 50;
    must_add(box, &contract);
    must_enqueue(box, "another");
    EXPECT_INT(view(box, S("q:default")).oldest_ready_at, oldest.created_at);
    speak_for(box, S(""));
    EXPECT_INT(view(box, S("q:default")).oldest_ready_at, oldest.created_at);
    EXPECT_INT(view(box, S("q:exports")).oldest_ready_at, 0);
}

// ----- tenants

TEST_EACH_DB(OPS_10_queues_of_another_org_are_not_seen)
{
    add(box, (struct wish){ .org = ORG_A, .queue = S("secret-project") });
    speak_for(box, ORG_B);
    EXPECT_INT(view(box, S("secret-project")).name.n, 0);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 0);
    speak_for(box, ORG_A);
    EXPECT_INT(view(box, S("secret-project")).at[PLACE_READY], 1);
}

TEST_EACH_DB(OPS_18_a_key_limited_to_projects_changes_no_queue)
{
    const struct str project = S("0198c7a2-0000-7000-8000-0000000000aa");
    struct purge purge = { .queue = S("q:default") };
    add(box, (struct wish){0});
    box->caller.projects = &project;
    box->caller.project_count = 1;
    REFUSED(PAWL_FORBIDDEN, queue_pause(tx, S("q:default"), err));
    REFUSED(PAWL_FORBIDDEN, queue_resume(tx, S("q:default"), err));
    REFUSED(PAWL_FORBIDDEN, queue_purge(tx, &purge, 10, err));
}

// ----- pauses

TEST_EACH_DB(OPS_3_a_paused_queue_takes_jobs_and_gives_none)
{
    add(box, (struct wish){0});
    struct lease running = must_start(box, "A");
    speak_for(box, S(""));
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_pause(tx, S("q:default"), err));
    add(box, (struct wish){ .org = ORG_A });
    EXPECT_INT(take(box, 10), 0);
    box_reopen(box);
    EXPECT_INT(take(box, 10), 0);
    speak_for(box, DEFAULT_ORG);
    must_commit(box, &running);  // what runs goes on
    speak_for(box, S(""));
    EXPECT(view(box, S("q:default")).paused_at != 0);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(take(box, 10), 1);
}

TEST_EACH_DB(OPS_3_a_resumed_queue_is_news)
{
    OK(queue_pause(tx, S("q:default"), err));
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(queue_resume(&tx, S("q:default"), &err));
    EXPECT(tx.news);
    box_commit(&tx);
    box_begin(box, &tx);
    MUST(queue_resume(&tx, S("q:default"), &err));
    EXPECT(!tx.news);
    box_commit(&tx);
}

TEST_EACH_DB(OPS_19_every_change_to_a_queue_is_audited_once)
{
    static const char count[] = "SELECT count(*) FROM pawl_audit WHERE subject = 'queue:q:default'";
    struct str mine = box->caller.org_id;
    add(box, (struct wish){0});
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_resume(tx, S("q:default"), err));
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(box_number(box, count), 2);
    EXPECT(str_eq(box_text(box, "SELECT org_id FROM pawl_audit WHERE event = 'queue.paused'"),
                  mine));
    speak_for(box, S(""));
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_resume(tx, S("q:default"), err));
    struct purge purge = { .queue = S("q:default") };
    while (!purge.done)
        OK(queue_purge(tx, &purge, 1, err));
    EXPECT_INT(box_number(box, count), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'queue.purged' "
                               "AND org_id IS NULL"),
               1);
}

TEST_EACH_DB(OPS_3_a_queue_nobody_knows_is_not_found)
{
    REFUSED(PAWL_NOT_FOUND, queue_pause(tx, S("typo"), err));
    REFUSED(PAWL_NOT_FOUND, queue_resume(tx, S("typo"), err));
    struct purge purge = { .queue = S("typo") };
    REFUSED(PAWL_NOT_FOUND, queue_purge(tx, &purge, 10, err));
    OK(queue_pause(tx, S("q:exports"), err));  // not used yet, but one of the seven
}

TEST_EACH_DB(OPS_10_an_org_pauses_its_own_share_only)
{
    struct claimed *claimed = NULL;
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    for (int i = 0; i < 5; i++) {
        add(box, (struct wish){ .org = ORG_A });
        add(box, (struct wish){ .org = ORG_B });
    }
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 0);  // its own worker
    box_reopen(box);
    EXPECT_INT(claim_all(box, 10, NULL, &claimed), 5);  // one of every org
    for (size_t i = 0; i < 5; i++)
        EXPECT(str_eq(claimed[i].job.contract.org_id, ORG_B));
    EXPECT(view(box, S("q:default")).share_paused_at != 0);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], 5);
    speak_for(box, ORG_B);
    EXPECT_INT(view(box, S("q:default")).share_paused_at, 0);
    speak_for(box, ORG_A);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(take(box, 10), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM queue_pauses"), 0);
}

// Paused jobs that stand before others are looked at once, not by every claim.
TEST_EACH_DB(OPS_3_paused_jobs_do_not_keep_others_waiting_and_are_met_once)
{
    enum { PAUSED = 1200 };
    add_many(box, (struct wish){ .org = ORG_A }, PAUSED);
    add(box, (struct wish){ .org = ORG_B });
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(take(box, 1), 0);  // 500 are put aside by each claim
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready WHERE queue < 0"), 500);
    EXPECT_INT(take(box, 1), 0);
    EXPECT_INT(take(box, 1), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready WHERE queue > 0"), 0);
    add(box, (struct wish){ .org = ORG_B });
    EXPECT_INT(take(box, 1), 1);
    EXPECT_INT(view(box, S("q:default")).at[PLACE_READY], PAUSED);

    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready WHERE queue > 0"), 1000);
    EXPECT_INT(take(box, 1000), 1000);
    EXPECT_INT(take(box, 1000), 0);
    must_sweep(box);
    EXPECT_INT(take(box, 1000), 200);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM queue_pauses"), 0);
}

TEST_EACH_DB(OPS_3_a_share_paused_again_while_it_comes_back_stays_paused)
{
    add_many(box, (struct wish){ .org = ORG_A }, 1100);
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    for (int i = 0; i < 3; i++)
        EXPECT_INT(take(box, 10), 0);
    OK(queue_resume(tx, S("q:default"), err));
    OK(queue_pause(tx, S("q:default"), err));
    must_sweep(box);
    for (int i = 0; i < 4; i++)
        EXPECT_INT(take(box, 10), 0);
    OK(queue_resume(tx, S("q:default"), err));
    must_sweep(box);
    EXPECT_INT(take(box, 1000), 1000);
    EXPECT_INT(take(box, 1000), 100);
}

// What lies on a shelf can be changed, cancelled and overtaken like every other ready job.
TEST_EACH_DB(OPS_3_a_job_on_a_shelf_is_ready_to_everybody_else)
{
    struct job held = add(box, (struct wish){ .serial_key = S("k"), .hold = true });
    struct job head = add(box, (struct wish){ .serial_key = S("k") });
    struct job other = add(box, (struct wish){0}), moved = add(box, (struct wish){0});
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(take(box, 10), 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready WHERE queue < 0"), 3);
    EXPECT_INT(must_load(box, head.id).phase, PHASE_READY);
    OK(job_cancel(tx, other.id, &other, err));
    struct job_change change = { .has_queue = true, .queue = S("q:exports") };
    OK(job_change(tx, moved.id, &change, &moved, err));
    OK(job_submit(tx, held.id, &held, err));  // older: takes the turn of the one on the shelf
    EXPECT_INT(must_load(box, head.id).phase, PHASE_BLOCKED);
    EXPECT_INT(take(box, 10), 1);
    EXPECT_INT(must_load(box, moved.id).state, JOB_RUNNING);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(take(box, 10), 1);
    EXPECT_INT(must_load(box, held.id).state, JOB_RUNNING);
}

// ----- purge

static size_t purge(struct box *box, struct str queue, size_t limit)
{
    struct purge purge = { .queue = queue };
    size_t ended = 0;
    while (!purge.done) {
        OK(queue_purge(tx, &purge, limit, err));
        ended += purge.ended;
    }
    return ended;
}

TEST_EACH_DB(JOB_11_a_purge_ends_what_waits_and_leaves_what_runs)
{
    add(box, (struct wish){0});
    struct lease running = must_start(box, "A");
    struct job ready = add(box, (struct wish){0});
    struct job held = add(box, (struct wish){ .hold = true });
    struct job delayed = add(box, (struct wish){ .delay_us = HOURS(1) });
    struct job first = add(box, (struct wish){ .serial_key = S("k") });
    struct job blocked = add(box, (struct wish){ .serial_key = S("k") });
    struct job elsewhere = add(box, (struct wish){ .queue = S("q:exports") });
    struct job foreign = add(box, (struct wish){ .org = ORG_B });
    int64_t waiting = 0;
    OK(queue_waiting(tx, S("q:default"), &waiting, err));
    EXPECT_INT(waiting, 5);
    EXPECT_INT(purge(box, S("q:default"), 2), 5);
    const struct job *queued[] = { &ready, &delayed, &first, &blocked };
    for (size_t i = 0; i < countof(queued); i++) {
        struct job job = must_load(box, queued[i]->id);
        EXPECT_INT(job.state, JOB_FAILED);
        EXPECT_INT(job.failure_type, FAILURE_RESOURCE_EXHAUSTED);
        EXPECT_INT(events(box, job.id, EVENT_JOB_FAILED), 1);
    }
    EXPECT_INT(must_load(box, held.id).failure_type, FAILURE_CANCELLED);
    EXPECT_INT(must_load(box, elsewhere.id).state, JOB_QUEUED);
    speak_for(box, ORG_B);
    EXPECT_INT(must_load(box, foreign.id).state, JOB_QUEUED);
    speak_for(box, DEFAULT_ORG);
    must_commit(box, &running);
    EXPECT_INT(purge(box, S("q:default"), 2), 0);
    speak_for(box, S(""));
    EXPECT_INT(purge(box, S("q:default"), 2), 1);
}

TEST_EACH_DB(JOB_11_a_purge_ends_what_is_on_shelves_too)
{
    add_many(box, (struct wish){ .org = ORG_A }, 20);
    add_many(box, (struct wish){ .org = ORG_B }, 20);
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    speak_for(box, ORG_B);
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(take(box, 10), 0);
    EXPECT_INT(purge(box, S("q:default"), 7), 20);
    speak_for(box, S(""));
    EXPECT_INT(purge(box, S("q:default"), 7), 20);
}

// A producer that goes on does not keep a purge from ending.
TEST_EACH_DB(JOB_11_jobs_that_come_during_a_purge_stay)
{
    struct purge purge = { .queue = S("q:default") };
    size_t ended = 0;
    add_many(box, (struct wish){0}, 10);
    while (!purge.done) {
        OK(queue_purge(tx, &purge, 3, err));
        ended += purge.ended;
        add(box, (struct wish){0});
    }
    EXPECT_INT(ended, 10);
    EXPECT(view(box, S("q:default")).at[PLACE_READY] >= 5);
}

TEST_EACH_DB(JOB_11_a_purge_that_was_interrupted_begins_again)
{
    struct purge cut = { .queue = S("q:default") };
    add_many(box, (struct wish){0}, 10);
    OK(queue_purge(tx, &cut, 3, err));  // nothing is parked
    OK(queue_purge(tx, &cut, 3, err));  // nothing is on a shelf
    OK(queue_purge(tx, &cut, 3, err));
    EXPECT_INT(cut.ended, 3);
    EXPECT_INT(purge(box, S("q:default"), 3), 7);
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
        add_many(box, (struct wish){ .queue = others[i] }, 500);
    while (taken < ROUNDS) {
        struct claimed *claimed = NULL;
        speak_for(box, S(""));
        int64_t waiting = view(box, CRITICAL_QUEUE).at[PLACE_READY];
        speak_for(box, DEFAULT_ORG);
        if (waiting < (int64_t)limit)
            add_many(box, (struct wish){ .queue = CRITICAL_QUEUE },
                     (int)(CRITICAL_AT_ONCE - waiting));
        size_t count = claim_all(box, limit, &turns, &claimed);
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
    struct claim claim = { .worker = worker_named("A"), .queues = queues, .queue_count = 3, .limit = 10 };
    struct claimed *claimed = NULL;
    size_t count = 0;
    add_many(box, (struct wish){0}, 20);
    add_many(box, (struct wish){ .queue = CRITICAL_QUEUE }, 20);
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
    struct contract contract = contract_of(box, &(struct wish){ .queue = CRITICAL_QUEUE });
    struct job first, job;
    bool deduplicated = false;
    contract.idempotency_key = S("first");
    first = must_add(box, &contract);
    contract.idempotency_key = S("");
    add_many(box, (struct wish){ .queue = CRITICAL_QUEUE }, 998);
    add(box, (struct wish){ .queue = CRITICAL_QUEUE, .hold = true });
    REFUSED(PAWL_QUEUE_FULL, job_enqueue(tx, &contract, &job, &deduplicated, err));
    contract.idempotency_key = S("first");
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));  // a repeat gets its job
    EXPECT(deduplicated && id_eq(job.id, first.id));
    struct job waits = add(box, (struct wish){0});
    struct job_change change = { .has_queue = true, .queue = CRITICAL_QUEUE };
    REFUSED(PAWL_QUEUE_FULL, job_change(tx, waits.id, &change, &job, err));
    EXPECT_INT(take(box, 1), 1);  // what runs does not wait
    contract.idempotency_key = S("");
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));
    REFUSED(PAWL_QUEUE_FULL, job_enqueue(tx, &contract, &job, &deduplicated, err));
}

TEST_EACH_DB(OPS_20_a_limit_holds_within_one_transaction)
{
    const struct queue_term rows[] = { { S("small"), 4, 3 } };
    const struct queue_terms terms = { rows, 1 };
    struct contract contract = contract_of(box, &(struct wish){ .queue = S("small") });
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    add(box, (struct wish){ .queue = S("small") });
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
