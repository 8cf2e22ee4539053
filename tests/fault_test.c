// Faults that a program's own tests ask for: what each does, and that only tests can ask.
#include <string.h>

#include "shop.h"

static void arm(struct shop *shop, enum pawl_fault fault, int64_t nth)
{
    struct pawl_error err = {0};
    MUST(pawl_test_fault(shop->pawl, fault, nth, &err));
}

static void restart(struct shop *shop)
{
    struct pawl_error err = {0};
    MUST(pawl_test_restart(shop->pawl, &err));
}

static const struct pawl_job keyed = { .job_type = "plain", .idempotency_key = "one" };

static bool plain(struct pawl_run *run, void *context)
{
    (void)run;
    ++*(int *)context;
    return true;
}

TEST_SHOP(OPS_9_faults_are_refused_outside_of_virtual_time, .workers = 1)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_fault(shop->pawl, PAWL_FAULT_REFUSE, 1, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_restart(shop->pawl, &err));
    EXPECT(!pawl_test_fault_waits(shop->pawl));
    shop_enqueue(shop, keyed);
}

TEST_SHOP(OPS_9_a_fault_that_is_none_is_refused, .virtual_time = true)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_fault(NULL, PAWL_FAULT_REFUSE, 1, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_restart(NULL, &err));
    EXPECT(!pawl_test_fault_waits(NULL));
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_fault(shop->pawl, (enum pawl_fault)99, 1, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_fault(shop->pawl, (enum pawl_fault) - 1, 1, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_fault(shop->pawl, PAWL_FAULT_REFUSE, 0, &err));
    EXPECT(!pawl_test_fault_waits(shop->pawl));
}

TEST_SHOP(OPS_9_a_refused_commit_leaves_nothing_and_the_next_works, .virtual_time = true)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    arm(shop, PAWL_FAULT_REFUSE, 1);
    EXPECT(pawl_test_fault_waits(shop->pawl));
    EXPECT_REFUSED(PAWL_DISK_FULL, pawl_enqueue(shop->pawl, &keyed, &ticket, &err));
    EXPECT(!pawl_test_fault_waits(shop->pawl));
    EXPECT(!shop_enqueue(shop, keyed).deduplicated);
}

TEST_SHOP(OPS_9_a_lost_answer_is_in_doubt_and_the_job_is_there, .virtual_time = true)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    arm(shop, PAWL_FAULT_LOSE_ANSWER, 1);
    EXPECT_REFUSED(PAWL_IN_DOUBT, pawl_enqueue(shop->pawl, &keyed, &ticket, &err));
    EXPECT(shop_enqueue(shop, keyed).deduplicated);
}

TEST_SHOP(OPS_9_the_nth_commit_fails_and_no_other, .virtual_time = true)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    struct pawl_job job = { .job_type = "plain" };
    arm(shop, PAWL_FAULT_REFUSE, 3);
    shop_enqueue(shop, job);
    shop_enqueue(shop, job);
    EXPECT_REFUSED(PAWL_DISK_FULL, pawl_enqueue(shop->pawl, &job, &ticket, &err));
    shop_enqueue(shop, job);
    arm(shop, PAWL_FAULT_REFUSE, 1);
    arm(shop, PAWL_FAULT_NONE, 1);
    shop_enqueue(shop, job);
}

TEST_SHOP(OPS_9_a_crash_before_a_commit_loses_it_and_one_after_does_not, .virtual_time = true)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    arm(shop, PAWL_FAULT_CRASH_BEFORE, 1);
    EXPECT_REFUSED(PAWL_STORE, pawl_enqueue(shop->pawl, &keyed, &ticket, &err));
    EXPECT_REFUSED(PAWL_STORE, pawl_enqueue(shop->pawl, &keyed, &ticket, &err));
    restart(shop);
    EXPECT(!shop_enqueue(shop, keyed).deduplicated);

    struct pawl_job other = { .job_type = "plain", .idempotency_key = "two" };
    arm(shop, PAWL_FAULT_CRASH_AFTER, 1);
    EXPECT_REFUSED(PAWL_STORE, pawl_enqueue(shop->pawl, &other, &ticket, &err));
    restart(shop);
    EXPECT(shop_enqueue(shop, other).deduplicated);
}

// A loan's commit is one of the handle's.
TEST_SHOP(OPS_9_a_transaction_of_the_program_itself_fails_as_well, .virtual_time = true)
{
    struct pawl_error err = {0};
    struct pawl_tx *tx = NULL;
    struct pawl_ticket ticket;
    arm(shop, PAWL_FAULT_REFUSE, 1);
    MUST(pawl_begin(shop->pawl, &tx, &err));
    MUST(pawl_tx_enqueue(tx, &keyed, &ticket, &err));
    EXPECT_REFUSED(PAWL_DISK_FULL, pawl_commit(tx, &err));
    EXPECT(!shop_enqueue(shop, keyed).deduplicated);
}

// ----- runs

struct dying {
    struct shop *shop;
    enum pawl_fault fault;
    int begun;
};

// Asks for the fault at its first attempt, so that the next commit, which is its own, meets it.
static bool dying(struct pawl_run *run, void *context)
{
    struct dying *work = context;
    work->begun++;
    if (pawl_attempt(run) == 1)
        arm(work->shop, work->fault, 1);
    return true;
}

static struct pawl_status after_death(struct shop *shop, struct dying *work)
{
    struct pawl_error err = {0};
    work->shop = shop;
    shop_handle(shop, (struct pawl_handler){ "dying", .prepare = dying, .context = work,
                                             .policy = "lifecycle" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "dying" });
    EXPECT_REFUSED(PAWL_STORE, pawl_run_until_idle(shop->pawl, &err));
    bool stored = strcmp(shop_status(shop, &ticket).state, "SUCCEEDED") == 0;
    EXPECT_INT(stored, work->fault == PAWL_FAULT_CRASH_AFTER);
    restart(shop);
    shop_pass(shop, SECONDS(5));  // less than its lease: the next start knows whose it was
    return shop_status(shop, &ticket);
}

TEST_SHOP(RUN_5_a_crash_before_its_commit_is_another_attempt, .virtual_time = true)
{
    struct dying work = { .fault = PAWL_FAULT_CRASH_BEFORE };
    struct pawl_status status = after_death(shop, &work);
    EXPECT_STR(str_of(status.state), "SUCCEEDED");
    EXPECT_INT(status.attempt, 2);
    EXPECT_INT(work.begun, 2);
    EXPECT_INT(pawl_figures(shop->pawl).recovered, 1);
}

TEST_SHOP(RUN_5_a_crash_after_its_commit_is_not, .virtual_time = true)
{
    struct dying work = { .fault = PAWL_FAULT_CRASH_AFTER };
    struct pawl_status status = after_death(shop, &work);
    EXPECT_STR(str_of(status.state), "SUCCEEDED");
    EXPECT_INT(status.attempt, 1);
    EXPECT_INT(work.begun, 1);
}

// The end of a run that the store did not take is written later; one in doubt is said again.
TEST_SHOP(EXEC_5_an_end_that_was_refused_or_not_answered_is_written_once, .virtual_time = true)
{
    static const enum pawl_fault faults[] = { PAWL_FAULT_REFUSE, PAWL_FAULT_LOSE_ANSWER };
    struct dying work = { .shop = shop };
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "dying", .prepare = dying, .context = &work });
    for (size_t i = 0; i < countof(faults); i++) {
        work.fault = faults[i];
        work.begun = 0;
        struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "dying" });
        for (int tries = 0; tries < 3 && !pawl_advance(shop->pawl, SECONDS(10), &err); tries++) {}
        EXPECT_STR(str_of(shop_status(shop, &ticket).state), "SUCCEEDED");
        EXPECT_INT(work.begun, 1);
        EXPECT(!pawl_test_fault_waits(shop->pawl));
    }
}

// ----- starting again

TEST_SHOP(RUN_5_a_restart_keeps_handlers_time_and_what_was_asked, .virtual_time = true)
{
    int ran = 0;
    shop_handle(shop, (struct pawl_handler){ "plain", .prepare = plain, .context = &ran });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "plain" });
    shop_pass(shop, SECONDS(7));
    EXPECT_INT(ran, 1);
    pawl_time before = pawl_now(shop->pawl);
    restart(shop);
    EXPECT_INT(pawl_now(shop->pawl), before);
    EXPECT_STR(str_of(shop_status(shop, &ticket).state), "SUCCEEDED");
    shop_enqueue(shop, (struct pawl_job){ .job_type = "plain" });
    shop_work(shop);
    EXPECT_INT(ran, 2);
}

static bool restarts(struct pawl_run *run, void *context)
{
    (void)run;
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_USAGE, pawl_test_restart(((struct shop *)context)->pawl, &err));
    return true;
}

TEST_SHOP(RUN_5_a_handler_cannot_start_its_own_program_again, .virtual_time = true)
{
    shop_handle(shop, (struct pawl_handler){ "plain", .prepare = restarts, .context = shop });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "plain" });
    shop_work(shop);
    EXPECT_STR(str_of(shop_status(shop, &ticket).state), "SUCCEEDED");
}
