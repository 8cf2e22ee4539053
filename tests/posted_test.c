// Jobs that came in SQL, taken in: their rows are put here by hand, as the function of PostgreSQL's
// does (postgres/enqueue_test has that).
#include "fixture.h"

#include "engine/posted.h"
#include "model/weight.h"

// The columns that differ, with their values.
static void post(struct box *box, int64_t id, const char *columns, const char *values)
{
    box_sql(box, str_format(test_arena(),
                            "INSERT INTO posted_jobs (id, id_low, org_id, idempotency_key,"
                            " job_type, payload, priority, submit, posted_by, posted_at%s)"
                            " VALUES (%lld, 1, '%.*s', 'key-%lld', 'report', '{\"n\":1}', 5, 1,"
                            " 'shop', 1800000000000000%s)",
                            columns, (long long)id, STR(box->caller.org_id), (long long)id, values)
                     .s);
}

static size_t take_in(struct box *box)
{
    size_t taken = 0;
    bool more = false;
    OK(posted_take(tx, 100, &taken, &more, err));
    EXPECT(!more);
    return taken;
}

TEST_EACH_DB(OPS_1_a_job_that_came_in_sql_is_taken_in_with_all_that_was_said)
{
    post(box, 7, "", "");
    post(box, 9,
         ", project_id, queue, serial_key, limit_key, policy, scheduled_for, max_wait_ms,"
         " correlation_id",
         ", '00000000-0000-7000-8000-000000000001', 'q:exports', 'one', 'two', 'document',"
         " 1800000100000000, 60000, 'c-1'");
    EXPECT_INT(take_in(box), 2);
    EXPECT_INT(take_in(box), 0);
    struct job plain = must_load(box, (struct id){ 7, 1 });
    struct job full = must_load(box, (struct id){ 9, 1 });
    EXPECT_INT(plain.state, JOB_QUEUED);
    EXPECT_INT(plain.contract.priority, 5);
    EXPECT_STR(plain.contract.actor_id, "shop");
    EXPECT_STR(full.contract.serial_key, "one");
    EXPECT_STR(full.contract.limit_key, "two");
    EXPECT_STR(full.contract.correlation_id, "c-1");
    EXPECT_STR(full.queue, "q:exports");
    EXPECT_INT(full.phase, PHASE_DELAYED);
}

TEST_EACH_DB(OPS_1_a_job_in_sql_that_breaks_the_contract_ends_and_keeps_nobody_waiting)
{
    post(box, 7, ", policy", ", 'nobodys'");
    post(box, 9, "", "");
    EXPECT_INT(take_in(box), 2);
    struct job broken = must_load(box, (struct id){ 7, 1 });
    EXPECT_INT(broken.state, JOB_FAILED);
    EXPECT_STR(broken.contract.payload, "{}");
    EXPECT_INT(must_load(box, (struct id){ 9, 1 }).state, JOB_QUEUED);
}

TEST_EACH_DB(OPS_20_jobs_in_sql_are_taken_in_as_many_as_are_asked_for)
{
    size_t taken = 0;
    bool more = false;
    post(box, 7, "", "");
    post(box, 9, "", "");
    OK(posted_take(tx, 1, &taken, &more, err));
    EXPECT(taken == 1 && more);
    EXPECT_INT(take_in(box), 1);
}

TEST_EACH_DB(OPS_20_a_job_in_sql_for_a_full_queue_is_looked_at_again)
{
    const struct queue_term rows[] = { { S("q:default"), 4, 1 } };
    const struct queue_terms terms = { rows, countof(rows) };
    size_t taken = 0;
    bool more = false;
    post(box, 7, "", "");
    post(box, 9, "", "");
    OK((tx->queue_terms = &terms, posted_take(tx, 100, &taken, &more, err)));
    EXPECT_INT(taken, 1);
    EXPECT_INT(take_in(box), 0);
    pass(box, SECONDS(2));
    EXPECT_INT(take_in(box), 1);
}

// Its time was looked at when it was posted: that nobody took it in for long is not its fault.
TEST_EACH_DB(OPS_1_a_job_in_sql_that_waited_past_its_time_is_taken_in)
{
    post(box, 7, ", scheduled_for", ", 1800000005000000");
    pass(box, MINUTES(10));
    EXPECT_INT(take_in(box), 1);
    EXPECT_INT(must_load(box, (struct id){ 7, 1 }).state, JOB_QUEUED);
}

TEST_EACH_DB(OPS_20_when_none_of_those_asked_for_can_be_taken_in_there_is_no_more)
{
    const struct queue_term rows[] = { { S("q:default"), 4, 1 } };
    const struct queue_terms terms = { rows, countof(rows) };
    size_t taken = 1;
    bool more = true;
    must_enqueue(box, "report");
    post(box, 7, "", "");
    OK((tx->queue_terms = &terms, posted_take(tx, 1, &taken, &more, err)));
    EXPECT(taken == 0 && !more);
}

TEST_EACH_DB(OPS_20_a_sweep_that_took_in_as_many_as_it_may_says_that_there_is_more)
{
    struct swept swept;
    post(box, 7, "", "");
    post(box, 9, "", "");
    OK(sweep(tx, 1, &swept, err));
    EXPECT(swept.more && swept.posted == 1);
}
