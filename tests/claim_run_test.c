// A claim takes a run of places away in one statement: never one that it did not take.
#include "fixture.h"

enum { JOBS = 100, DAMAGED = 70 };  // more than are read at once

static struct id add_all(struct box *box, struct contract *contract, size_t count, size_t nth)
{
    struct id id = {0};
    for (size_t i = 0; i < count; i++) {
        struct job job = must_add(box, contract);
        if (i == nth)
            id = job.id;
    }
    return id;
}

static size_t claim_type(struct box *box, const char *worker, const char *type)
{
    struct claimed *claimed = NULL;
    size_t count = 0;
    struct str types[] = { str_of(type) }, queues[] = { S("q:default") };
    struct claim claim = {
        .worker = worker_named(worker),
        .queues = queues,
        .queue_count = 1,
        .job_types = types,
        .job_type_count = 1,
        .limit = CLAIM_MAX,
    };
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    return count;
}

TEST_EACH_DB(RUN_9_a_job_that_is_passed_over_keeps_its_place)
{
    struct contract contract = contract_for(box, "report");
    struct id id = add_all(box, &contract, JOBS, DAMAGED);
    box->damaged = true;
    struct str sql = str_format(test_arena(), "INSERT INTO parked (job, org, reason)"
                                              " SELECT id, org, 'held' FROM jobs WHERE id = %lld",
                                (long long)id.high);
    box_sql(box, sql.s);
    EXPECT_INT(claim_type(box, "A", "report"), JOBS - 1);
    EXPECT_INT(box_number(box, "SELECT job FROM ready"), id.high);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM executions"), JOBS - 1);
}

TEST_EACH_DB(OPS_10_a_claim_of_one_org_leaves_the_places_of_others_in_between)
{
    struct contract own = contract_for(box, "report"), other = own;
    other.org_id = S("00000000-0000-7000-8000-00000000000b");
    for (size_t i = 0; i < JOBS; i++)
        must_add(box, i % 3 ? &own : &other);
    int64_t others = box_number(box, "SELECT count(*) FROM ready r JOIN orgs o ON o.id = r.org"
                                     " WHERE o.org_id LIKE '%0b'");
    struct caller everybody = box->caller;
    box->caller.org_id = own.org_id;
    EXPECT_INT(claim_type(box, "A", "report"), JOBS - others);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), others);
    box->caller = everybody;
}

// Types that take turns leave their places in a run each, also types with few jobs and many.
TEST_EACH_DB(RUN_9_of_several_types_each_job_is_taken_once_and_in_the_order_of_age)
{
    static const char *const types[] = { "report", "mail", "report", "sum", "report", "mail" };
    struct claimed *claimed = NULL;
    for (size_t i = 0; i < JOBS; i++) {
        struct contract contract = contract_for(box, i < JOBS / 2 ? types[i % countof(types)]
                                                                  : "late");
        must_add(box, &contract);
    }
    EXPECT_INT(claim_some(box, "A", JOBS - 10, &claimed), JOBS - 10);
    for (size_t i = 1; i < JOBS - 10; i++)
        EXPECT(claimed[i - 1].job.id.high < claimed[i].job.id.high);
    EXPECT_INT(claim_some(box, "A", JOBS, &claimed), 10);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
    EXPECT_INT(box_number(box, "SELECT count(DISTINCT job) FROM executions"), JOBS);
}

TEST_EACH_DB(RUN_9_runs_end_where_the_priority_or_the_history_of_a_job_is_another)
{
    struct contract contract = contract_for(box, "report");
    add_all(box, &contract, 10, 0);
    contract.priority = 5;
    add_all(box, &contract, 10, 0);
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_release(tx, &lease, &e, err));  // ready again, with an attempt behind it
    EXPECT_INT(claim_type(box, "A", "report"), 20);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
    EXPECT_INT(box_number(box, "SELECT max(attempt) FROM executions"), 2);
}
