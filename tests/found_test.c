// What the reference model and the matrix found wrong in the engine, each as its smallest case.
#include "fixture.h"

static struct lease start_job(struct box *box, const char *policy)
{
    struct contract contract = contract_with(box, "report", policy);
    must_add(box, &contract);
    return must_start(box, "A");
}

static struct id job_of(struct box *box, const struct lease *lease)
{
    return must_execution(box, lease->execution).job;
}

TEST_EACH_DB(JOB_5_a_cancelled_retry_keeps_its_retry_count)
{
    struct lease lease = start_job(box, "default");
    must_fail(box, &lease, ERROR_TRANSIENT);
    struct job job = must_load(box, job_of(box, &lease));
    EXPECT_INT(job.retry_count, 1);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(must_load(box, job.id).retry_count, 1);
}

TEST_EACH_DB(JOB_5_the_last_error_stays_until_the_job_succeeds)
{
    struct lease lease = start_job(box, "lifecycle");
    struct id id = job_of(box, &lease);
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, SECONDS(1));
    must_sweep(box);
    lease = must_start(box, "A");
    EXPECT_STR(must_load(box, id).last_error, "it did not work");
    EXPECT_INT(must_load(box, id).error_class, ERROR_TRANSIENT);
    struct execution e;
    OK(execution_release(tx, &lease, &e, err));
    EXPECT_STR(must_load(box, id).last_error, "it did not work");
    lease = must_start(box, "A");
    must_commit(box, &lease);
    EXPECT_STR(must_load(box, id).last_error, "");
    EXPECT_INT(must_load(box, id).error_class, ERROR_NONE);
}

TEST_EACH_DB(JOB_5_an_error_without_a_message_still_has_its_class)
{
    struct lease lease = start_job(box, "default");
    struct execution e;
    OK(execution_fail(tx, &lease, &(struct work_error){ .class = ERROR_VALIDATION }, &e, err));
    EXPECT_INT(must_load(box, e.job).error_class, ERROR_VALIDATION);
}

TEST_EACH_DB(JOB_11_a_held_job_begins_to_wait_when_it_is_submitted)
{
    struct contract contract = contract_for(box, "report");
    contract.hold = true;
    contract.max_wait_us = MINUTES(1);
    struct job job = must_add(box, &contract);
    pass(box, HOURS(1));
    OK_FROM(job, job_submit(tx, job.id, &job, err));
    EXPECT_INT(must_sweep(box).gave_up, 0);
    pass(box, MINUTES(1) - 1);
    EXPECT_INT(must_sweep(box).gave_up, 0);
    pass(box, 1);
    EXPECT_INT(must_sweep(box).gave_up, 1);
    EXPECT_INT(must_load(box, job.id).failure_type, FAILURE_RESOURCE_EXHAUSTED);
}

TEST_EACH_DB(JOB_11_a_job_put_off_begins_to_wait_at_its_new_time)
{
    struct contract contract = contract_for(box, "report");
    contract.max_wait_us = MINUTES(1);
    struct job job = must_add(box, &contract);
    struct job_change later = { .has_run_at = true, .run_at = box->world.wall + HOURS(1) };
    OK_FROM(job, job_change(tx, job.id, &later, &job, err));
    pass(box, MINUTES(2));
    EXPECT_INT(must_sweep(box).gave_up, 0);
    pass(box, HOURS(1) - MINUTES(2));
    EXPECT_INT(must_sweep(box).due, 1);
    EXPECT_INT(must_load(box, job.id).phase, PHASE_READY);
    pass(box, MINUTES(1));
    EXPECT_INT(must_sweep(box).gave_up, 1);
}

TEST_EACH_DB(JOB_6_a_job_brought_forward_stays_due_when_it_is_changed_again)
{
    struct contract contract = contract_for(box, "report");
    contract.scheduled_for = box->world.wall + HOURS(1);
    struct job job = must_add(box, &contract);
    EXPECT_INT(job.phase, PHASE_DELAYED);
    struct job_change now = { .has_run_at = true, .run_at = box->world.wall };
    OK_FROM(job, job_change(tx, job.id, &now, &job, err));
    EXPECT_INT(must_load(box, job.id).phase, PHASE_READY);
    EXPECT_INT(must_load(box, job.id).run_at, box->world.wall);
    OK(job_change(tx, job.id, &(struct job_change){ .has_priority = true, .priority = 5 }, &job,
                  err));
    EXPECT_INT(must_load(box, job.id).phase, PHASE_READY);
}

TEST_EACH_DB(OPS_4_a_retry_takes_no_key_that_a_caller_may_use)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order#41");
    must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    struct id id = job_of(box, &lease);
    struct job retry, again;
    OK(job_retry(tx, id, &retry, err));
    EXPECT_STR(retry.contract.idempotency_key, "order#41#1");
    contract.idempotency_key = S("order#42");
    must_add(box, &contract);
    OK_FROM(retry, job_cancel(tx, retry.id, &retry, err));
    OK(job_retry(tx, retry.id, &again, err));
    EXPECT_STR(again.contract.idempotency_key, "order#41#2");
}

TEST_EACH_DB(EXEC_3_a_claim_that_names_a_type_twice_takes_each_job_once)
{
    must_enqueue(box, "report");
    must_enqueue(box, "report");
    const struct str queues[] = { S("q:default") }, types[] = { S("report"), S("report") };
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = queues,
        .queue_count = 1,
        .job_types = types,
        .job_type_count = 2,
        .limit = 10,
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 2);
}

TEST_EACH_DB(EXEC_3_a_release_that_ended_a_cancelled_job_can_be_repeated)
{
    struct lease lease = start_job(box, "default");
    struct id id = job_of(box, &lease);
    struct job job;
    struct execution e;
    OK(job_cancel(tx, id, &job, err));
    OK(execution_release(tx, &lease, &e, err));
    EXPECT_INT(must_load(box, job.id).failure_type, FAILURE_CANCELLED);
    OK(execution_release(tx, &lease, &e, err));
}

TEST_EACH_DB(EXEC_3_an_expired_commit_phase_cannot_be_released)
{
    struct lease lease = start_job(box, "default");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    pass(box, SECONDS(30));
    REFUSED(PAWL_FENCED, execution_release(tx, &lease, &e, err));
    struct work_error error = { .class = ERROR_TRANSIENT };
    REFUSED(PAWL_FENCED, execution_fail(tx, &lease, &error, &e, err));
}

TEST_EACH_DB(EXEC_7_a_failed_commit_phase_is_tried_again_within_a_day)
{
    struct lease lease = start_job(box, "default");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    struct work_error error = { ERROR_RATE_LIMITED, S("later"), S(""), DAYS(400) };
    OK(execution_fail(tx, &lease, &error, &e, err));
    pass(box, HOURS(24));
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "B", 1, &claimed), 1);
    EXPECT(claimed[0].finish);
}

TEST_EACH_DB(EXEC_10_after_the_commit_no_step_is_written)
{
    struct lease lease = start_job(box, "default");
    struct execution e;
    struct step step;
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    REFUSED(PAWL_ALREADY_COMMITTED, step_put(tx, &lease, S("fetch"), S("1"), &step, err));
    REFUSED(PAWL_ALREADY_COMMITTED, step_fail(tx, &lease, S("fetch"), S("no"), &step, err));
    REFUSED(PAWL_INVALID, step_fail(tx, &lease, S(""), S("no"), &step, err));
    OK(step_get(tx, &lease, S("fetch"), &step, err));
}

// A clock that is set back while nobody has the store open: the store remembers what time it was.
TEST_EACH_DB(EXEC_8_a_clock_set_back_between_two_processes_damages_no_record)
{
    struct job waiting = must_enqueue(box, "report");
    struct job taken = must_enqueue(box, "report");
    struct contract contract = contract_for(box, "report");
    contract.priority = 1;
    must_add(box, &contract);
    struct lease lease = must_claim(box, "A");
    world_jump(&box->world, -HOURS(1));
    box_reopen(box);
    struct execution e;
    struct job job;
    OK(execution_start(tx, &lease, &e, err));
    OK(execution_commit(tx, &lease, &(struct commit){ .done = true }, &e, err));
    OK(job_cancel(tx, waiting.id, &job, err));
    EXPECT_INT(must_load(box, waiting.id).state, JOB_FAILED);
    EXPECT_INT(must_load(box, e.job).state, JOB_SUCCEEDED);
    EXPECT_INT(must_load(box, taken.id).state, JOB_QUEUED);
}
