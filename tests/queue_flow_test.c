// How much goes through a queue: jobs that came and that ended in the last minute.
#include "queues.h"

#include "store/flows.h"

static int64_t came(struct box *box)
{
    return queue_seen(box, S("q:default")).a_minute[FLOW_ENQUEUED];
}

static int64_t ended(struct box *box)
{
    return queue_seen(box, S("q:default")).a_minute[FLOW_ENDED];
}

// To where a period of ten seconds begins.
static void pass_to_period(struct box *box)
{
    pass(box, SECONDS(10) - box->world.wall % SECONDS(10));
}

TEST(OPS_3_the_last_minute_is_six_periods_and_a_part_of_the_seventh)
{
    pawl_time now = SECONDS(1000) + SECONDS(4);
    int64_t period = flow_period(now);
    EXPECT_INT(flow_weight(period, now), FLOW_WHOLE);
    EXPECT_INT(flow_weight(period - 5, now), FLOW_WHOLE);
    EXPECT_INT(flow_weight(period - 6, now), FLOW_WHOLE * 6 / 10);
    EXPECT_INT(flow_weight(period - 7, now), 0);
    EXPECT_INT(flow_weight(period + 1, now), 0);  // the calendar was set back
}

TEST_EACH_DB(OPS_3_a_queue_says_how_many_jobs_came_in_the_last_minute)
{
    pass_to_period(box);
    queue_add_many(box, (struct wish){0}, 4);
    EXPECT_INT(came(box), 4);
    pass(box, SECONDS(30));
    queue_add(box, (struct wish){ .hold = true });
    EXPECT_INT(came(box), 5);
    pass(box, SECONDS(30));
    EXPECT_INT(came(box), 5);
    pass(box, SECONDS(5));
    EXPECT_INT(came(box), 3);  // of the four, half a period is over
    pass(box, SECONDS(5));
    EXPECT_INT(came(box), 1);
    pass(box, HOURS(1));
    EXPECT_INT(came(box), 0);
    EXPECT_INT(ended(box), 0);
}

// Also what was written down long ago is not counted as of now.
TEST_EACH_DB(OPS_3_rates_are_right_however_many_transactions_there_are)
{
    pass_to_period(box);
    for (int i = 0; i < 130; i++)
        queue_add(box, (struct wish){0});
    EXPECT_INT(came(box), 130);
    pass(box, SECONDS(80));  // a ring of periods later
    EXPECT_INT(came(box), 0);
    for (int i = 0; i < 30; i++) {
        queue_add(box, (struct wish){0});
        pass(box, SECONDS(2));
    }
    EXPECT_INT(came(box), 30);
    box_reopen(box);
    EXPECT_INT(came(box), 30);
    for (int i = 0; i < 70; i++) {
        queue_add(box, (struct wish){0});
        pass(box, MINUTES(1));
    }
    EXPECT_INT(came(box), 1);
    EXPECT(box_number(box, "SELECT count(*) FROM queue_flows WHERE org = 0") <= 8);
}

TEST_EACH_DB(OPS_3_every_end_of_a_job_counts_and_another_attempt_does_not)
{
    queue_add_many(box, (struct wish){0}, 5);
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    EXPECT_INT(ended(box), 1);
    lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(ended(box), 1);
    lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    EXPECT_INT(ended(box), 2);
    struct job job = queue_add(box, (struct wish){0});
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(ended(box), 3);
    struct purge purge = { .queue = S("q:default") };
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 10, err));
    EXPECT_INT(ended(box), 6);
    EXPECT_INT(came(box), 6);
    OK_FROM(purge, queue_purge(tx, &purge, 10, err));  // once more: there is nothing to do
    EXPECT_INT(purge.ended, 0);
}

TEST_EACH_DB(OPS_10_an_org_sees_the_rates_of_its_own_jobs)
{
    queue_add_many(box, (struct wish){ .org = ORG_A }, 3);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 4);
    speak_for(box, ORG_A);
    EXPECT_INT(came(box), 3);
    speak_for(box, ORG_B);
    EXPECT_INT(came(box), 4);
    speak_for(box, S(""));
    EXPECT_INT(came(box), 7);
}

TEST_EACH_DB(OPS_3_what_is_taken_back_has_no_rate)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    tx_end(&tx);
    EXPECT_INT(came(box), 0);
}

// Rows that an earlier version left have fewer numbers.
SQLITE_ONLY(OPS_3_the_changes_of_an_earlier_store_are_counted_on, "an earlier schema")
TEST_EACH_DB(OPS_3_the_changes_of_an_earlier_store_are_counted_on)
{
    queue_add(box, (struct wish){0});
    queue_add(box, (struct wish){0});
    box_as_of(box, 5);
    box_sql(box, "UPDATE count_deltas"
                 " SET changes = '[[1,1,1,0,0,0,0,0],[7,1,0,0,0,0,0,0]]'");
    box_reopen(box);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 2);
    EXPECT_INT(came(box), 0);
}
