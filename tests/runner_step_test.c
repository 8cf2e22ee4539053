// Steps through the runner (RUN-6): tries, results that are kept, and what is no step.
#include "shop.h"

struct plan {
    _Atomic int reads, sums;
    int fail_reads;  // how many tries of the first step fail
    enum pawl_class class;
    int fail_runs;   // how many runs fail after both steps
    const char *name, *result;
};

static bool read_it(struct pawl_run *run, void *context)
{
    struct plan *plan = context;
    if (plan->reads++ < plan->fail_reads)
        return pawl_fail(run, plan->class, "cannot read");
    return pawl_step_result(run, plan->result ? plan->result : "{\"words\":42}");
}

static bool sum_up(struct pawl_run *run, void *context)
{
    struct plan *plan = context;
    (void)run;
    plan->sums++;
    return true;  // a step without a result has null
}

static bool in_steps(struct pawl_run *run, void *context)
{
    struct plan *plan = context;
    const char *read = NULL, *sum = NULL;
    if (!pawl_step(run, plan->name ? plan->name : "read", read_it, plan, &read)
        || !pawl_step(run, "sum", sum_up, plan, &sum))
        return false;
    if (strcmp(read, "{\"words\":42}") != 0 || strcmp(sum, "null") != 0)
        return pawl_fail(run, PAWL_VALIDATION, "%s and %s", read, sum);
    if (pawl_attempt(run) <= plan->fail_runs)
        return pawl_fail(run, PAWL_TRANSIENT, "not this time");
    return true;
}

static struct pawl_ticket run_steps(struct shop *shop, struct plan *plan)
{
    shop_handle(shop, (struct pawl_handler){ "steps", .prepare = in_steps, .context = plan,
                                             .policy = "document" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "steps" });
    shop_work(shop);
    return ticket;
}

TEST_SHOP(RUN_6_a_step_is_tried_twice_within_one_run, .virtual_time = true)
{
    struct plan plan = { .fail_reads = 1 };
    struct pawl_ticket ticket = run_steps(shop, &plan);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(plan.reads, 2);
    EXPECT_INT(shop_status(shop, &ticket).attempt, 1);
    EXPECT_INT(shop_lines(shop, "RUN_STARTED steps 1"), 1);
    EXPECT_INT(shop_lines(shop, "STEP_RETRIED steps 1 step read is tried again: cannot read"), 1);
    EXPECT_INT(pawl_figures(shop->pawl).steps_retried, 1);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_audit"
                                 " WHERE event = 'step.retried'"),
               1);
}

TEST_SHOP(RUN_6_a_step_that_fails_twice_fails_the_run, .virtual_time = true)
{
    struct plan plan = { .fail_reads = 2 };
    struct pawl_ticket ticket = run_steps(shop, &plan);
    EXPECT_STATE(shop, ticket, "FAILED");
    EXPECT_STR(str_of(shop_status(shop, &ticket).error), "step read: cannot read");
    EXPECT_INT(plan.reads, 2);
    EXPECT_INT(plan.sums, 0);
    EXPECT_INT(shop_lines(shop, "STEP_FAILED"), 1);
    EXPECT_INT(shop_lines(shop, "STEP_RETRIED"), 1);
}

TEST_SHOP(RUN_6_a_terminal_failure_in_a_step_is_not_retried, .virtual_time = true)
{
    struct plan plan = { .fail_reads = 1, .class = PAWL_INVALID_INPUT };
    struct pawl_ticket ticket = run_steps(shop, &plan);
    EXPECT_STATE(shop, ticket, "FAILED");
    EXPECT_INT(plan.reads, 1);
    EXPECT_INT(shop_lines(shop, "STEP_RETRIED"), 0);
}

TEST_SHOP(RUN_6_results_of_steps_are_not_computed_again_by_the_next_attempt, .virtual_time = true)
{
    struct plan plan = { .fail_runs = 2 };
    shop_handle(shop, (struct pawl_handler){ "steps", .prepare = in_steps, .context = &plan,
                                             .policy = "lifecycle" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "steps" });
    shop_pass(shop, SECONDS(10));
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(shop_status(shop, &ticket).attempt, 3);
    EXPECT_INT(plan.reads, 1);
    EXPECT_INT(plan.sums, 1);
}

// ----- what is no step

static void refused(struct shop *shop, struct plan *plan, const char *reason)
{
    struct pawl_ticket ticket = run_steps(shop, plan);
    EXPECT_STATE(shop, ticket, "FAILED");
    const char *said = shop_status(shop, &ticket).error;
    if (!strstr(said, reason))
        print_error("%s\n", said);
    EXPECT(strstr(said, reason));
    EXPECT_INT(plan->sums, 0);
}

TEST_SHOP(RUN_6_a_step_must_have_a_name, .virtual_time = true)
{
    refused(shop, &(struct plan){ .name = "" }, "step : ");
}

TEST_SHOP(RUN_6_the_name_of_a_step_is_bounded, .virtual_time = true)
{
    char name[1000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    refused(shop, &(struct plan){ .name = name }, "step xxx");
}

TEST_SHOP(RUN_6_the_result_of_a_step_must_be_json, .virtual_time = true)
{
    struct plan plan = { .result = "{words" };
    refused(shop, &plan, "step read: step result: ");
    EXPECT_INT(plan.reads, 1);  // another try would say the same
}

static bool nested(struct pawl_run *run, void *context)
{
    return pawl_step(run, "inner", sum_up, context, NULL);
}

static bool with_a_nested_step(struct pawl_run *run, void *context)
{
    return pawl_step(run, "outer", nested, context, NULL);
}

static bool result_outside(struct pawl_run *run, void *context)
{
    (void)context;
    return pawl_step_result(run, "1");
}

TEST_SHOP(RUN_6_a_step_within_a_step_and_a_result_outside_are_refused, .virtual_time = true)
{
    struct plan plan = {0};
    shop_handle(shop, (struct pawl_handler){ "nest", .prepare = with_a_nested_step,
                                             .context = &plan });
    shop_handle(shop, (struct pawl_handler){ "outside", .prepare = result_outside });
    struct pawl_ticket nest = shop_enqueue(shop, (struct pawl_job){ .job_type = "nest" });
    struct pawl_ticket outside = shop_enqueue(shop, (struct pawl_job){ .job_type = "outside" });
    shop_work(shop);
    EXPECT_STATE(shop, nest, "FAILED");
    EXPECT_STATE(shop, outside, "FAILED");
    EXPECT_INT(plan.sums, 0);
}

static bool no_steps(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

static bool finish_in_steps(struct pawl_run *run, void *context)
{
    struct plan *plan = context;
    if (plan->reads++ == 0)
        return pawl_step(run, "late", sum_up, context, NULL);
    return true;
}

// The commit phase repeats as a whole: a step in it is refused, and the next try goes without.
TEST_SHOP(RUN_6_the_commit_phase_has_no_steps, .virtual_time = true)
{
    struct plan plan = {0};
    shop_handle(shop, (struct pawl_handler){ "late", .prepare = no_steps,
                                             .finish = finish_in_steps, .context = &plan });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "late" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "RUNNING");
    shop_pass(shop, MINUTES(1));
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(plan.sums, 0);
}
