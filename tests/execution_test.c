// EXEC: executions and leases.
#include "fixture.h"

TEST_EACH_DB(EXEC_1_a_job_runs_from_enqueue_to_success)
{
    struct job job = must_enqueue(box, "report");
    EXPECT_INT(job.state, JOB_QUEUED);
    EXPECT_INT(job.phase, PHASE_READY);
    struct lease lease = must_claim(box, "A");
    EXPECT_INT(must_load(box, job.id).phase, PHASE_LEASED);
    struct execution e;
    OK(execution_start(tx, &lease, &e, err));
    EXPECT_INT(must_load(box, job.id).phase, PHASE_RUNNING);
    OK(execution_commit(tx, &lease, &(struct commit){ .result = S("{\"n\":1}") }, &e, err));
    EXPECT_INT(must_load(box, job.id).phase, PHASE_FINISHING);
    EXPECT_INT(must_load(box, job.id).state, JOB_RUNNING);
    OK(execution_done(tx, &lease, &e, err));
    job = must_load(box, job.id);
    EXPECT_INT(job.state, JOB_SUCCEEDED);
    EXPECT_STR(job.result, "{\"n\":1}");
    EXPECT_INT(job.attempt, 1);
    EXPECT_INT(events(box, job.id, EVENT_JOB_SUCCEEDED), 1);
}

TEST_EACH_DB(EXEC_1_what_was_answered_is_there_after_reopening)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_progress(tx, &lease, &(struct progress){ 40, S("two of five") }, &e, err));
    box_reopen(box);
    e = must_execution(box, lease.execution);
    EXPECT_INT(e.status, EXECUTION_IN_PROGRESS);
    EXPECT_STR(e.lease_owner, "A");
    EXPECT_INT(e.progress_percent, 40);
    EXPECT_STR(must_load(box, job.id).progress_message, "two of five");
    must_commit(box, &lease);
}

TEST_EACH_DB(EXEC_2_work_cannot_skip_a_step)
{
    must_enqueue(box, "report");
    struct lease lease = must_claim(box, "A");
    struct execution e;
    REFUSED(PAWL_NOT_STARTED, execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    REFUSED(PAWL_NOT_STARTED, execution_done(tx, &lease, &e, err));
    struct progress some = { 1, S("") };
    REFUSED(PAWL_NOT_STARTED, execution_progress(tx, &lease, &some, &e, err));
    OK(execution_start(tx, &lease, &e, err));
    REFUSED(PAWL_CONFLICT, execution_done(tx, &lease, &e, err));
}

TEST_EACH_DB(EXEC_3_a_stalled_worker_is_refused)
{
    struct job job = must_enqueue(box, "report");
    struct lease old = must_start(box, "A");
    struct execution e;
    struct step step;
    pass(box, SECONDS(30));  // expired, though nobody has swept
    REFUSED(PAWL_FENCED, execution_commit(tx, &old, &(struct commit){ .done = true }, &e, err));
    EXPECT_INT(must_sweep(box).expired, 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_RETRYING);
    pass(box, SECONDS(10));
    EXPECT_INT(must_sweep(box).due, 1);
    struct lease new = must_start(box, "B");
    struct work_error error = { .class = ERROR_TRANSIENT };
    REFUSED(PAWL_FENCED, execution_start(tx, &old, &e, err));
    REFUSED(PAWL_FENCED, execution_heartbeat(tx, &old, NULL, &e, err));
    REFUSED(PAWL_FENCED, execution_progress(tx, &old, &(struct progress){ 1, S("") }, &e, err));
    REFUSED(PAWL_FENCED, step_put(tx, &old, S("s"), S("1"), &step, err));
    REFUSED(PAWL_FENCED, execution_commit(tx, &old, &(struct commit){ .done = true }, &e, err));
    REFUSED(PAWL_FENCED, execution_done(tx, &old, &e, err));
    REFUSED(PAWL_FENCED, execution_fail(tx, &old, &error, &e, err));
    REFUSED(PAWL_FENCED, execution_release(tx, &old, &e, err));
    must_commit(box, &new);
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(EXEC_3_the_fence_is_execution_attempt_and_owner)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    struct lease wrong = lease;
    wrong.attempt = 2;
    REFUSED(PAWL_FENCED, execution_heartbeat(tx, &wrong, NULL, &e, err));
    wrong = lease;
    wrong.worker = worker_named("B");
    REFUSED(PAWL_FENCED, execution_heartbeat(tx, &wrong, NULL, &e, err));
    wrong = lease;
    wrong.worker.boot_id = S("boot-2");  // the same name after a restart is not the same worker
    REFUSED(PAWL_FENCED, execution_heartbeat(tx, &wrong, NULL, &e, err));
    wrong = lease;
    wrong.execution.low ^= 1;
    REFUSED(PAWL_NOT_FOUND, execution_heartbeat(tx, &wrong, NULL, &e, err));
    OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    EXPECT_INT(e.lease_expires_at, box->world.wall + SECONDS(30));
}

TEST_EACH_DB(EXEC_3_what_a_worker_holds_is_renewed_at_once_and_the_rest_is_not)
{
    enum { COUNT = 5 };
    struct lease leases[COUNT];
    struct contract brief = contract_with(box, "brief", "lifecycle");
    brief.policy.timeout_us = SECONDS(25);
    for (int i = 0; i < COUNT; i++) {
        must_enqueue(box, "report");
        leases[i] = must_start(box, i == 1 ? "B" : "A");
    }
    must_add(box, &brief);
    struct lease bounded = must_start(box, "A");
    must_commit(box, &leases[3]);
    struct id asked = must_execution(box, leases[4].execution).job;
    OK(job_cancel(tx, asked, &(struct job){0}, err));
    pass(box, SECONDS(10));
    struct worker a = worker_named("A");
    struct holding *held = NULL;
    size_t count = 0;
    OK(executions_held(tx, &a, &held, &count, err));
    EXPECT_INT(count, 4);
    EXPECT_INT(must_execution(box, leases[0].execution).lease_expires_at,
               box->world.wall + SECONDS(20));
    OK(executions_renew(tx, &a, &held, &count, err));
    EXPECT_INT(count, 4);
    size_t cancelled = 0;
    for (size_t i = 0; i < count; i++)
        cancelled += held[i].cancel_requested && id_eq(held[i].execution, leases[4].execution);
    EXPECT_INT(cancelled, 1);
    EXPECT_INT(must_execution(box, leases[0].execution).lease_expires_at,
               box->world.wall + SECONDS(30));
    EXPECT_INT(must_execution(box, leases[1].execution).lease_expires_at,
               box->world.wall + SECONDS(20));  // another worker's
    EXPECT_INT(must_execution(box, bounded.execution).lease_expires_at,
               box->world.wall + SECONDS(15));  // not past its deadline
    pass(box, SECONDS(15));
    OK(executions_renew(tx, &a, &held, &count, err));
    EXPECT_INT(count, 3);  // the bounded one has ended
}

TEST_EACH_DB(EXEC_4_an_expired_lease_sends_the_job_back_by_its_policy)
{
    struct contract once = contract_with(box, "document", "document");
    struct contract often = contract_with(box, "import", "lifecycle");
    struct job fails = must_add(box, &once), retries = must_add(box, &often);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 2, &claimed), 2);
    pass(box, SECONDS(30));
    EXPECT_INT(must_sweep(box).expired, 2);
    EXPECT_INT(must_load(box, fails.id).state, JOB_FAILED);
    EXPECT_INT(must_load(box, fails.id).failure_type, FAILURE_LEASE_EXPIRED);
    EXPECT_INT(must_load(box, retries.id).state, JOB_RETRYING);
    EXPECT_INT(must_execution(box, claimed[0].execution.id).status, EXECUTION_ABORTED);
}

TEST_EACH_DB(EXEC_4_a_worker_that_fell_silent_is_a_crash_however_late_it_is_noticed)
{
    struct contract contract = contract_with(box, "document", "document");
    struct job job = must_add(box, &contract);
    must_start(box, "A");
    pass(box, SECONDS(200));  // past the lease of 30 s, and past the deadline of 120 s too
    EXPECT_INT(must_sweep(box).expired, 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_FAILED);
    EXPECT_INT(must_load(box, job.id).failure_type, FAILURE_LEASE_EXPIRED);
}

TEST_EACH_DB(EXEC_4_one_damaged_job_does_not_stop_the_others)
{
    struct job bad = must_enqueue(box, "report"), good = must_enqueue(box, "report");
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 2, &claimed), 2);
    struct job head = must_enqueue(box, "report"), next = must_enqueue(box, "report");
    struct str sql = str_format(test_arena(),
                                "INSERT INTO parked (job, org, reason) SELECT id, org, 'held'"
                                " FROM jobs WHERE id IN (%lld, %lld)",
                                (long long)bad.id.high, (long long)head.id.high);
    box->damaged = true;
    box_sql(box, sql.s);
    EXPECT_INT(claim_some(box, "B", 2, &claimed), 1);
    EXPECT(id_eq(claimed[0].job.id, next.id));
    pass(box, SECONDS(30));
    struct swept swept = must_sweep(box);
    EXPECT_INT(swept.expired, 2);
    EXPECT_INT(swept.damaged, 1);
    EXPECT_INT(must_load(box, good.id).state, JOB_RETRYING);
}

TEST_EACH_DB(EXEC_4_the_sweep_is_bounded_and_says_when_there_is_more)
{
    for (int i = 0; i < 5; i++)
        must_enqueue(box, "report");
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 5, &claimed), 5);
    pass(box, SECONDS(30));
    struct swept swept;
    OK(sweep(tx, 2, &swept, err));
    EXPECT(swept.more && swept.expired == 2);
    OK(sweep(tx, 2, &swept, err));
    EXPECT(swept.more && swept.expired == 2);
    OK(sweep(tx, 2, &swept, err));
    EXPECT(!swept.more && swept.expired == 1);
    EXPECT(swept.next > box->world.wall);
}

TEST_EACH_DB(EXEC_8_a_job_in_two_places_is_not_believed)
{
    struct job job = must_enqueue(box, "report");
    box->damaged = true;
    box_sql(box, "INSERT INTO parked (job, org, reason) SELECT id, org, 'held' FROM jobs");
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_DAMAGED, job_load(&tx, job.id, &job, &err));
}

TEST_EACH_DB(release_burns_no_attempt)
{
    struct contract contract = contract_with(box, "document", "document");  // one attempt
    struct job job = must_add(box, &contract);
    for (int i = 1; i <= 5; i++) {
        struct lease lease = must_start(box, "A");
        struct execution e;
        OK(execution_release(tx, &lease, &e, err));
        OK(execution_release(tx, &lease, &e, err));
        job = must_load(box, job.id);
        EXPECT_INT(job.phase, PHASE_READY);
        EXPECT_INT(job.attempt, i);
        EXPECT_INT(job.attempts_used, 0);
        EXPECT_INT(job.retry_count, 0);
    }
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
}

TEST_EACH_DB(a_claim_takes_only_the_types_and_queues_it_names)
{
    for (int i = 0; i < 3; i++)
        must_enqueue(box, "foreign");
    struct job mine = must_enqueue(box, "mine");
    const struct str queue = S("q:default"), type = S("mine");
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = &queue,
        .queue_count = 1,
        .job_types = &type,
        .job_type_count = 1,
        .limit = 10,
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 1);
    EXPECT(id_eq(claimed[0].job.id, mine.id));
    const struct str nobody = S("q:nobody");
    claim.queues = &nobody;
    claim.job_type_count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 0);
    claim.limit = 0;
    REFUSED(PAWL_INVALID, execution_claim(tx, &claim, &claimed, &count, err));
    claim.limit = 1001;
    REFUSED(PAWL_INVALID, execution_claim(tx, &claim, &claimed, &count, err));
    const struct str dead = DEADLETTER_QUEUE;
    claim.queues = &dead;
    claim.limit = 1;
    REFUSED(PAWL_INVALID, execution_claim(tx, &claim, &claimed, &count, err));
}

TEST_EACH_DB(a_claim_of_many_takes_them_in_order)
{
    enum { COUNT = 300 };
    for (int i = 0; i < COUNT; i++)
        must_enqueue(box, i % 3 ? "a" : "b");
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 250, &claimed), 250);
    for (size_t i = 1; i < 250; i++)
        EXPECT(claimed[i - 1].job.id.high < claimed[i].job.id.high);
    EXPECT_INT(claim_some(box, "A", 250, &claimed), 50);
}

TEST_EACH_DB(a_failure_with_retry_after_waits_at_least_that_long)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    struct work_error error = { .class = ERROR_RATE_LIMITED, .retry_after_us = MINUTES(7) };
    OK(execution_fail(tx, &lease, &error, &e, err));
    OK(execution_fail(tx, &lease, &error, &e, err));  // repeated: the same answer
    EXPECT_INT(must_load(box, job.id).run_at, box->world.wall + MINUTES(7));
    EXPECT_INT(must_load(box, job.id).retry_count, 1);
}
