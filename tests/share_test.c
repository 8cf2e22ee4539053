// Orgs share a queue: who has ten jobs there does not wait for another's hundred thousand.
#include "queues.h"

#include "engine/api_key.h"
#include "engine/job.h"

static int of_org(const struct claimed *claimed, size_t count, struct str org)
{
    int found = 0;
    for (size_t i = 0; i < count; i++)
        found += str_eq(claimed[i].job.contract.org_id, org);
    return found;
}

TEST_EACH_DB(SHARE_ten_jobs_do_not_wait_for_the_thousands_of_another_org)
{
    struct turns turns = {0};
    struct claimed *claimed = NULL;
    queue_add_many(box, (struct wish){ .org = ORG_A }, 3000);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 10);
    EXPECT_INT(queue_claim(box, 100, &turns, &claimed), 100);
    EXPECT_INT(of_org(claimed, 100, ORG_B), 10);
    EXPECT_INT(queue_claim(box, 1000, &turns, &claimed), 1000);
    EXPECT_INT(of_org(claimed, 1000, ORG_A), 1000);
}

TEST_EACH_DB(SHARE_workers_that_take_one_job_at_a_time_take_turns_too)
{
    enum { CLAIMS = 4 * SHARE_RUN };
    struct turns turns = {0};
    struct claimed *claimed = NULL;
    int of_b = 0;
    queue_add_many(box, (struct wish){ .org = ORG_A }, CLAIMS);
    queue_add_many(box, (struct wish){ .org = ORG_B }, CLAIMS);
    for (int i = 0; i < CLAIMS; i++) {
        EXPECT_INT(queue_claim(box, 1, &turns, &claimed), 1);
        of_b += of_org(claimed, 1, ORG_B);
    }
    EXPECT_INT(of_b, CLAIMS / 2);
}

TEST_EACH_DB(SHARE_is_by_weight)
{
    enum { LIMIT = 8 * SHARE_RUN };
    struct turns turns = {0};
    struct claimed *claimed = NULL;
    struct org org;
    queue_add_many(box, (struct wish){ .org = ORG_A }, 1000);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 1000);
    speak_for(box, S(""));
    OK(org_weigh(tx, ORG_B, 3, &org, err));
    OK(org_weigh(tx, ORG_B, 3, &org, err));  // nothing new
    EXPECT_INT(org.weight, 3);
    EXPECT_INT(queue_claim(box, LIMIT, &turns, &claimed), LIMIT);
    EXPECT_INT(of_org(claimed, LIMIT, ORG_B), 6 * SHARE_RUN);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'org.weighed'"), 1);
    REFUSED(PAWL_INVALID, org_weigh(tx, ORG_B, 0, &org, err));
    REFUSED(PAWL_INVALID, org_weigh(tx, ORG_B, SHARE_WEIGHT_MAX + 1, &org, err));
    REFUSED(PAWL_NOT_FOUND, org_weigh(tx, S("0198c7a2-0000-7000-8000-0000000000ff"), 2, &org,
                                      err));
}

// A tenant's priorities are among its own jobs.
TEST_EACH_DB(SHARE_priorities_gain_nothing_over_other_orgs)
{
    enum { LIMIT = 2 * SHARE_RUN };
    struct turns turns = {0};
    struct claimed *claimed = NULL;
    queue_add_many(box, (struct wish){ .org = ORG_B }, 10);
    struct contract urgent = queue_contract(box, &(struct wish){ .org = ORG_A });
    urgent.priority = 100;
    for (int i = 0; i < LIMIT; i++)
        must_add(box, &urgent);
    queue_add_many(box, (struct wish){ .org = ORG_A }, 10);
    size_t count = queue_claim(box, LIMIT, &turns, &claimed);
    EXPECT_INT(of_org(claimed, count, ORG_B), 10);
    for (size_t i = 0; i < count; i++)
        EXPECT(claimed[i].job.priority == 100 || str_eq(claimed[i].job.contract.org_id, ORG_B));
}

// Of the types that are asked for, the oldest job of the org whose turn it is comes first.
TEST_EACH_DB(RUN_9_the_types_of_an_org_are_taken_oldest_first)
{
    static const char *const types[] = { "report", "mail", "sync" };
    struct turns turns = {0};
    struct claimed *claimed = NULL;
    for (size_t i = 0; i < 24; i++) {
        struct contract contract = contract_for(box, types[i % countof(types)]);
        contract.org_id = i % 2 ? ORG_B : ORG_A;
        must_add(box, &contract);
    }
    size_t count = queue_claim(box, 100, &turns, &claimed);
    EXPECT_INT(count, 24);
    for (size_t i = 1; i < count; i++)
        EXPECT(i == 12 || claimed[i - 1].job.id.high < claimed[i].job.id.high);
    EXPECT_INT(of_org(claimed, 12, claimed[0].job.contract.org_id), 12);
}

static struct str org_number(int number)
{
    return str_format(test_arena(), "0198c7a2-0000-7000-8000-%012d", number);
}

// More turns than one claim has room for: every job is taken once, and nobody is forgotten.
TEST_EACH_DB(SHARE_of_many_orgs_every_job_is_taken_once)
{
    enum { ORGS = 70, EACH = SHARE_RUN + 3 };
    struct turns turns = {0};
    struct claimed *claimed = NULL;
    size_t taken = 0;
    for (int i = 0; i < ORGS; i++)
        queue_add_many(box, (struct wish){ .org = org_number(i) }, EACH);
    for (size_t count; (count = queue_claim(box, 300, &turns, &claimed)) > 0;)
        taken += count;
    EXPECT_INT(taken, ORGS * EACH);
    EXPECT_INT(box_number(box, "SELECT count(DISTINCT job_id) FROM pawl_executions"),
               ORGS * EACH);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
}

// A worker of one org takes its jobs whatever the turn of the others is.
TEST_EACH_DB(OPS_10_a_worker_of_one_org_waits_for_no_turn)
{
    struct claimed *claimed = NULL;
    queue_add_many(box, (struct wish){ .org = ORG_A }, 200);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 40);
    speak_for(box, ORG_B);
    EXPECT_INT(claim_some(box, "B", 100, &claimed), 40);
    EXPECT_INT(of_org(claimed, 40, ORG_B), 40);
}

// Damaged jobs are passed over, and a claim that finds nothing else comes to an end.
TEST_EACH_DB(SHARE_damaged_jobs_do_not_keep_the_turn)
{
    struct claimed *claimed = NULL;
    box->damaged = true;
    for (int i = 0; i < 3; i++) {
        queue_add_many(box, (struct wish){ .org = org_number(i) }, 2);
        struct job bad = queue_add(box, (struct wish){ .org = org_number(i) });
        struct str sql = str_format(test_arena(), "INSERT INTO parked (job, org, reason) SELECT "
                                                  "id, org, 'held' FROM jobs WHERE id = %lld",
                                    (long long)bad.id.high);
        box_sql(box, sql.s);
    }
    EXPECT_INT(queue_claim(box, 100, NULL, &claimed), 6);
    EXPECT_INT(queue_claim(box, 100, NULL, &claimed), 0);
}
