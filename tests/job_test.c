// JOB: the life of a job.
#include "fixture.h"

#include <string.h>

TEST_EACH_DB(JOB_1_a_job_cannot_be_submitted_twice)
{
    struct job job = must_enqueue(box, "report");
    REFUSED(PAWL_CONFLICT, job_submit(tx, job.id, &job, err));
    struct lease lease = must_start(box, "A");
    REFUSED(PAWL_CONFLICT, job_submit(tx, job.id, &job, err));
    must_commit(box, &lease);
    REFUSED(PAWL_TERMINAL, job_submit(tx, job.id, &job, err));
}

TEST_EACH_DB(JOB_2_the_database_itself_keeps_terminal_states)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE,
                   tx_execute(&tx, "UPDATE outcomes SET state = 'FAILED', committed_at = NULL,"
                                   " failure_type = 'TIMEOUT'",
                              &err));
    static const char *const bad[] = {
        "UPDATE executions SET progress_percent = 7",
        "UPDATE outcomes SET result = '7'",
        "INSERT OR REPLACE INTO audit_events SELECT * FROM audit_events",
    };
    for (size_t i = 0; i < countof(bad); i++)
        EXPECT_REFUSED(PAWL_STORE, tx_execute(&tx, bad[i], &err));
}

TEST_EACH_DB(JOB_4_the_fourth_transient_failure_of_lifecycle_is_final)
{
    struct contract contract = contract_with(box, "import", "lifecycle");
    struct job job = must_add(box, &contract);
    for (int failures = 1; failures <= 3; failures++) {
        struct lease lease = must_start(box, "A");
        must_fail(box, &lease, ERROR_TRANSIENT);
        job = must_load(box, job.id);
        EXPECT_INT(job.state, JOB_RETRYING);
        EXPECT_INT(job.retry_count, failures);
        EXPECT_INT(job.run_at, box->world.wall + SECONDS(1));
        pass(box, SECONDS(1) - 1);
        EXPECT_INT(must_sweep(box).due, 0);
        pass(box, 1);
        EXPECT_INT(must_sweep(box).due, 1);
    }
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    job = must_load(box, job.id);
    EXPECT_INT(job.state, JOB_FAILED);
    EXPECT_INT(job.failure_type, FAILURE_ATTEMPTS_EXHAUSTED);
    EXPECT_INT(job.retry_count, 3);
    EXPECT_INT(job.attempts_used, 4);
}

TEST_EACH_DB(JOB_3_a_terminal_error_ends_the_job_at_once)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    job = must_load(box, job.id);
    EXPECT_INT(job.state, JOB_FAILED);
    EXPECT_INT(job.failure_type, FAILURE_HANDLER_ERROR);
    EXPECT_INT(job.retry_count, 0);
    EXPECT_STR(job.last_error, "it did not work");
}

TEST_EACH_DB(JOB_5_metadata_follows_the_life_of_the_job)
{
    struct job job = must_enqueue(box, "report");
    pawl_time created = job.created_at;
    EXPECT_INT(job.started_at, 0);
    pass(box, SECONDS(1));
    struct lease first = must_start(box, "A");
    pawl_time started = box->world.wall;
    EXPECT_INT(must_load(box, job.id).started_at, started);
    must_fail(box, &first, ERROR_TRANSIENT);
    job = must_load(box, job.id);
    EXPECT_STR(job.last_error, "it did not work");
    EXPECT_INT(job.error_class, ERROR_TRANSIENT);
    EXPECT_INT(job.completed_at, 0);
    pass(box, SECONDS(10));
    must_sweep(box);
    struct lease second = must_start(box, "A");
    must_commit(box, &second);
    job = must_load(box, job.id);
    EXPECT_INT(job.created_at, created);
    EXPECT_INT(job.started_at, started);  // the first start
    EXPECT_INT(job.completed_at, box->world.wall);
    EXPECT_INT(job.retry_count, 1);
    EXPECT_STR(job.last_error, "");
    EXPECT_INT(job.error_class, ERROR_NONE);
    EXPECT_INT(box_number(box, "SELECT count(error_message) FROM executions"), 1);
}

TEST_EACH_DB(JOB_6_a_job_that_keeps_killing_its_worker_is_ended)
{
    struct contract contract = contract_with(box, "poison", "notification");  // ten attempts
    struct job job = must_add(box, &contract);
    for (int crashes = 0; crashes < 3; crashes++) {
        must_start(box, "A");
        pass(box, SECONDS(30));
        EXPECT_INT(must_sweep(box).expired, 1);
        pass(box, HOURS(1));
        must_sweep(box);
    }
    job = must_load(box, job.id);
    EXPECT_INT(job.state, JOB_FAILED);
    EXPECT_INT(job.failure_type, FAILURE_LEASE_EXPIRED);
    EXPECT_INT(job.attempts_used, 3);
    EXPECT_STR(job.dead_letter, "open");
    EXPECT_STR(job.queue, "q:deadletter");
    EXPECT_STR(job.contract.queue, "q:notifications");
    EXPECT_INT(events(box, job.id, EVENT_JOB_DEADLETTERED), 1);
}

TEST_EACH_DB(JOB_7_a_transaction_that_is_not_committed_leaves_nothing)
{
    struct str before = box_contents(box);
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    tx_end(&tx);
    EXPECT(str_eq(before, box_contents(box)));
    must_add(box, &contract);  // and the connection knows that its names were not stored
}

TEST_EACH_DB(JOB_8_cancelling_a_waiting_job_ends_it)
{
    struct contract held = contract_for(box, "report"), later = contract_for(box, "report");
    held.hold = true;
    later.scheduled_for = box->world.wall + HOURS(1);
    struct job jobs[] = { must_add(box, &held), must_add(box, &later),
                          must_enqueue(box, "report") };
    for (size_t i = 0; i < countof(jobs); i++) {
        struct job job;
        OK(job_cancel(tx, jobs[i].id, &job, err));
        job = must_load(box, jobs[i].id);
        EXPECT_INT(job.state, JOB_FAILED);
        EXPECT_INT(job.failure_type, FAILURE_CANCELLED);
        EXPECT_STR(job.dead_letter, "");
        EXPECT_INT(events(box, job.id, EVENT_JOB_CANCEL_REQUESTED), 1);
        EXPECT_INT(events(box, job.id, EVENT_JOB_CANCELLED), 1);
        REFUSED(PAWL_TERMINAL, job_cancel(tx, job.id, &job, err));
    }
}

TEST_EACH_DB(JOB_8_cancelling_a_retrying_job_ends_it)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(must_load(box, job.id).failure_type, FAILURE_CANCELLED);
}

TEST_EACH_DB(JOB_8_a_running_job_is_asked_to_stop_and_its_worker_answers)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(job.state, JOB_RUNNING);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(events(box, job.id, EVENT_JOB_CANCEL_REQUESTED), 1);
    struct execution e;
    OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    EXPECT(e.cancel_requested_at != 0);
    must_fail(box, &lease, ERROR_CANCELLED);
    job = must_load(box, job.id);
    EXPECT_INT(job.state, JOB_FAILED);
    EXPECT_INT(job.failure_type, FAILURE_CANCELLED);
}

TEST_EACH_DB(JOB_8_after_a_request_every_bad_end_is_a_cancellation)
{
    struct job failed = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    OK_FROM(failed, job_cancel(tx, failed.id, &failed, err));
    must_fail(box, &lease, ERROR_TRANSIENT);
    struct job released = must_enqueue(box, "report");
    lease = must_start(box, "A");
    OK_FROM(released, job_cancel(tx, released.id, &released, err));
    struct execution e;
    OK(execution_release(tx, &lease, &e, err));
    struct job expired = must_enqueue(box, "report");
    must_start(box, "A");
    OK_FROM(expired, job_cancel(tx, expired.id, &expired, err));
    pass(box, MINUTES(1));
    must_sweep(box);
    const struct id ids[] = { failed.id, released.id, expired.id };
    for (size_t i = 0; i < countof(ids); i++) {
        EXPECT_INT(must_load(box, ids[i]).state, JOB_FAILED);
        EXPECT_INT(must_load(box, ids[i]).failure_type, FAILURE_CANCELLED);
        EXPECT_STR(must_load(box, ids[i]).dead_letter, "");
    }
}

TEST_EACH_DB(JOB_8_a_commit_that_comes_first_wins)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    REFUSED(PAWL_ALREADY_COMMITTED, job_cancel(tx, job.id, &job, err));
    OK(execution_done(tx, &lease, &e, err));
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(OPS_16_a_cancellation_is_at_once_before_the_start_and_a_token_after_it)
{
    struct job waiting = must_enqueue(box, "report");
    OK_FROM(waiting, job_cancel(tx, waiting.id, &waiting, err));
    waiting = must_load(box, waiting.id);
    EXPECT_INT(waiting.state, JOB_FAILED);
    EXPECT_INT(waiting.failure_type, FAILURE_CANCELLED);
    EXPECT_INT(events(box, waiting.id, EVENT_JOB_CANCEL_REQUESTED), 1);

    struct job running = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    EXPECT_INT(e.cancel_requested_at, 0);
    OK_FROM(running, job_cancel(tx, running.id, &running, err));
    EXPECT_INT(must_load(box, running.id).state, JOB_RUNNING);
    EXPECT_INT(events(box, running.id, EVENT_JOB_CANCEL_REQUESTED), 1);
    EXPECT_INT(events(box, running.id, EVENT_JOB_CANCELLED), 0);
    OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    EXPECT_INT(e.cancel_requested_at, box->world.wall);
    must_fail(box, &lease, ERROR_CANCELLED);
    EXPECT_INT(must_load(box, running.id).failure_type, FAILURE_CANCELLED);
    EXPECT_INT(events(box, running.id, EVENT_JOB_CANCELLED), 1);
}

TEST_EACH_DB(JOB_9_a_job_may_be_created_first_and_submitted_later)
{
    struct contract contract = contract_for(box, "report");
    contract.hold = true;
    struct job job = must_add(box, &contract);
    EXPECT_INT(job.state, JOB_CREATED);
    EXPECT_INT(events(box, job.id, EVENT_JOB_ENQUEUED), 0);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 0);
    OK_FROM(job, job_submit(tx, job.id, &job, err));
    EXPECT_INT(job.state, JOB_QUEUED);
    EXPECT_INT(events(box, job.id, EVENT_JOB_ENQUEUED), 1);
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
}

TEST_EACH_DB(JOB_10_no_event_shows_what_is_in_the_payload)
{
    struct contract contract = contract_for(box, "report");
    contract.payload = S("{\"name\":\"the-word-to-look-for\"}");
    struct job job = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE detail LIKE '%word-to-look%'"
                               " OR actor_id LIKE '%word-to-look%'"),
               0);
}

TEST_EACH_DB(JOB_11_a_job_that_waited_too_long_ends_without_running)
{
    struct contract contract = contract_for(box, "report");
    contract.max_wait_us = MINUTES(5);
    struct job waits = must_add(box, &contract);
    contract.scheduled_for = box->world.wall + MINUTES(10);
    struct job delayed = must_add(box, &contract);
    pass(box, MINUTES(5));
    EXPECT_INT(must_sweep(box).gave_up, 1);
    waits = must_load(box, waits.id);
    EXPECT_INT(waits.state, JOB_FAILED);
    EXPECT_INT(waits.failure_type, FAILURE_RESOURCE_EXHAUSTED);
    EXPECT_INT(must_load(box, delayed.id).state, JOB_QUEUED);
    pass(box, MINUTES(9));  // due since 4 minutes
    must_sweep(box);
    EXPECT_INT(must_load(box, delayed.id).phase, PHASE_READY);
    must_start(box, "A");
    pass(box, SECONDS(1));
    pass(box, MINUTES(2));
    must_sweep(box);
    EXPECT(must_load(box, delayed.id).failure_type != FAILURE_RESOURCE_EXHAUSTED);
}

TEST_EACH_DB(OPS_4_a_known_key_gives_the_same_job_in_its_current_state)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order-1");
    contract.payload = S("{\"a\":1,\"b\":2}");
    struct job first = must_add(box, &contract), again;
    bool deduplicated = false;
    must_start(box, "A");
    contract.payload = S("{\"b\":2,\"a\":1}");
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(deduplicated && id_eq(first.id, again.id));
    EXPECT_INT(again.state, JOB_RUNNING);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    EXPECT_INT(box_number(box, "SELECT last_seen_at FROM idempotency_keys"), box->world.wall);
}

TEST_EACH_DB(OPS_4_a_known_key_with_other_content_is_refused)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order-1");
    must_add(box, &contract);
    struct job job;
    bool deduplicated;
    struct contract other = contract;
    other.payload = S("{\"x\":1}");
    REFUSED(PAWL_KEY_REUSED, job_enqueue(tx, &other, &job, &deduplicated, err));
    other = contract;
    other.job_type = S("export");
    REFUSED(PAWL_KEY_REUSED, job_enqueue(tx, &other, &job, &deduplicated, err));
    other = contract;
    other.serial_key = S("s");
    REFUSED(PAWL_KEY_REUSED, job_enqueue(tx, &other, &job, &deduplicated, err));
    other = contract;
    other.project_id = S("22222222-2222-7222-8222-222222222222");
    must_add(box, &other);  // the key of another project is another key
}

TEST_EACH_DB(OPS_5_a_key_is_forgotten_after_its_time_but_not_before_its_job_ended)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order-1");
    struct job first = must_add(box, &contract), again;
    bool deduplicated = false;
    pass(box, DAYS(8));
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(deduplicated);
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(!deduplicated && !id_eq(first.id, again.id));
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(deduplicated);
}

TEST_EACH_DB(OPS_10_another_org_finds_nothing)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    struct step step;
    box->caller.org_id = S("33333333-3333-7333-8333-333333333333");
    REFUSED(PAWL_NOT_FOUND, job_load(tx, job.id, &job, err));
    REFUSED(PAWL_NOT_FOUND, job_cancel(tx, job.id, &job, err));
    REFUSED(PAWL_NOT_FOUND, job_submit(tx, job.id, &job, err));
    REFUSED(PAWL_NOT_FOUND, job_retry(tx, job.id, &job, err));
    REFUSED(PAWL_NOT_FOUND, job_change(tx, job.id, &(struct job_change){0}, &job, err));
    REFUSED(PAWL_NOT_FOUND, execution_heartbeat(tx, &lease, NULL, &e, err));
    REFUSED(PAWL_NOT_FOUND, execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    REFUSED(PAWL_NOT_FOUND, execution_release(tx, &lease, &e, err));
    REFUSED(PAWL_NOT_FOUND, step_put(tx, &lease, S("s"), S("1"), &step, err));
    struct job_list list;
    OK(job_find(tx, &(struct job_filter){ .limit = 10 }, &list, err));
    EXPECT_INT(list.count, 0);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 0);
}

TEST_EACH_DB(jobs_are_found_by_all_that_is_asked_for_at_once)
{
    struct contract contract = contract_for(box, "report");
    struct job_list list;
    contract.serial_key = S("account-1");
    for (int i = 0; i < 2; i++) {
        contract.correlation_id = i ? S("one") : S("other");
        must_add(box, &contract);
    }
    struct job_filter filter = { .serial_key = S("account-1"), .limit = 10 };
    OK(job_find(tx, &filter, &list, err));
    EXPECT_INT(list.count, 2);
    filter.correlation_id = S("one");
    OK(job_find(tx, &filter, &list, err));
    EXPECT_INT(list.count, 1);
    filter = (struct job_filter){ .has_state = true, .state = JOB_TIMED_OUT, .limit = 10 };
    OK(job_find(tx, &filter, &list, err));
    EXPECT_INT(list.count, 0);
    box->caller.org_id = S("");
    filter.state = JOB_FAILED;
    OK(job_find(tx, &filter, &list, err));
    EXPECT_INT(list.count, 0);
}

TEST_EACH_DB(OPS_11_the_audit_trail_tells_the_whole_story)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_claim(box, "A");
    struct execution e;
    OK(execution_start(tx, &lease, &e, err));
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, SECONDS(10));
    must_sweep(box);
    lease = must_start(box, "A");
    must_commit(box, &lease);
    const enum event story[] = { EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED, EVENT_JOB_LEASED,
                                 EVENT_JOB_STARTED, EVENT_JOB_RETRIED, EVENT_JOB_ENQUEUED,
                                 EVENT_JOB_STARTED, EVENT_JOB_SUCCEEDED };
    struct audit_event *trail = NULL;
    size_t count = 0;
    OK(events_of_job(tx, job.id.high, &trail, &count, err));
    EXPECT_INT(count, countof(story));
    for (size_t i = 0; i < countof(story); i++)
        EXPECT_INT(trail[i].event, story[i]);
    EXPECT_STR(trail[0].actor_id, "tester");
    EXPECT_STR(trail[0].request_id, "request-1");
    EXPECT_STR(trail[0].correlation_id, "correlation-1");
}

TEST_EACH_DB(OPS_19_what_pawl_does_by_itself_is_audited_as_such)
{
    struct job job = must_enqueue(box, "report");
    must_start(box, "A");
    pass(box, SECONDS(30));
    struct swept swept;
    {
        struct pawl_error err = {0};
        struct tx tx = {0};
        box_begin(box, &tx);
        tx.caller = NULL;
        MUST(sweep(&tx, 10, &swept, &err));
        box_commit(&tx);
    }
    struct audit_event *trail = NULL;
    size_t count = 0;
    OK(events_of_job(tx, job.id.high, &trail, &count, err));
    EXPECT_INT(trail[count - 1].event, EVENT_JOB_RETRIED);
    EXPECT_INT(trail[count - 1].actor_type, ACTOR_SYSTEM);
    EXPECT_STR(trail[count - 1].actor_id, "pawl");
}

TEST_EACH_DB(OPS_15_a_time_within_the_clock_drift_is_now_and_an_older_one_is_refused)
{
    struct contract contract = contract_for(box, "report");
    contract.scheduled_for = box->world.wall - SECONDS(60);
    EXPECT_INT(must_add(box, &contract).phase, PHASE_READY);
    struct job job;
    bool deduplicated;
    contract.scheduled_for--;
    REFUSED(PAWL_INVALID, job_enqueue(tx, &contract, &job, &deduplicated, err));
}

TEST_EACH_DB(OPS_15_a_job_that_came_due_is_not_leased_before_its_time_when_the_calendar_goes_back)
{
    struct contract contract = contract_for(box, "report");
    contract.scheduled_for = box->world.wall + SECONDS(30);
    must_add(box, &contract);
    world_jump(&box->world, SECONDS(31));
    EXPECT_INT(must_sweep(box).due, 1);
    world_jump(&box->world, -SECONDS(31));
    box_reopen(box);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 0);
    pass(box, SECONDS(31));
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
}

TEST_EACH_DB(OPS_15_repeating_a_request_after_its_time_gives_the_same_job)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("later");
    contract.scheduled_for = box->world.wall + HOURS(1);
    struct job job = must_add(box, &contract), again;
    bool deduplicated = false;
    pass(box, HOURS(5));
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(deduplicated && id_eq(job.id, again.id));
}

TEST_EACH_DB(change_moves_a_waiting_job_and_only_a_waiting_one)
{
    struct job job = must_enqueue(box, "report");
    struct job_change change = {
        .has_queue = true,
        .queue = S("q:critical"),
        .has_priority = true,
        .priority = 50,
        .has_run_at = true,
        .run_at = box->world.wall + HOURS(1),
    };
    OK_FROM(job, job_change(tx, job.id, &change, &job, err));
    job = must_load(box, job.id);
    EXPECT_STR(job.queue, "q:critical");
    EXPECT_INT(job.priority, 50);
    EXPECT_INT(job.phase, PHASE_DELAYED);
    pass(box, HOURS(1));
    must_sweep(box);
    struct lease lease = must_start(box, "A");
    REFUSED(PAWL_CONFLICT, job_change(tx, job.id, &change, &job, err));
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, SECONDS(10));
    must_sweep(box);
    EXPECT_STR(must_load(box, job.id).queue, "q:critical");  // a retry goes back where it was put
    lease = must_start(box, "A");
    must_commit(box, &lease);
    REFUSED(PAWL_TERMINAL, job_change(tx, job.id, &change, &job, err));
    struct job other = must_enqueue(box, "report");
    struct job_change dead = { .has_queue = true, .queue = S("q:deadletter") };
    struct job_change beyond = { .has_priority = true, .priority = 101 };
    struct job_change never = { .has_run_at = true, .run_at = INT64_MAX };
    REFUSED(PAWL_INVALID, job_change(tx, other.id, &never, &job, err));
    REFUSED(PAWL_INVALID, job_change(tx, other.id, &dead, &job, err));
    REFUSED(PAWL_INVALID, job_change(tx, other.id, &beyond, &job, err));
    struct job_change below = { .has_priority = true, .priority = PRIORITY_MIN - 1 };
    REFUSED(PAWL_INVALID, job_change(tx, other.id, &below, &job, err));
    static char long_name[NAME_BYTES_MAX + 2];
    memset(long_name, 'q', NAME_BYTES_MAX + 1);
    const char *const queues[] = { "", "q space", long_name };
    for (size_t i = 0; i < countof(queues); i++) {
        struct job_change odd = { .has_queue = true, .queue = str_of(queues[i]) };
        REFUSED(PAWL_INVALID, job_change(tx, other.id, &odd, &job, err));
    }
}

TEST_EACH_DB(retry_numbers_the_key_and_closes_the_dead_letter)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order-1");
    struct job job = must_add(box, &contract), first, second;
    REFUSED(PAWL_CONFLICT, job_retry(tx, job.id, &first, err));
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    EXPECT_STR(must_load(box, job.id).dead_letter, "open");
    OK(job_retry(tx, job.id, &first, err));
    EXPECT_STR(first.contract.idempotency_key, "order-1#1");
    EXPECT_STR(must_load(box, job.id).dead_letter, "replayed");
    EXPECT_INT(events(box, job.id, EVENT_JOB_LETTER_CLOSED), 1);
    OK(job_retry(tx, job.id, &second, err));
    EXPECT_STR(second.contract.idempotency_key, "order-1#2");
    lease = must_start(box, "A");
    must_commit(box, &lease);
    OK(job_retry(tx, first.id, &job, err));
    EXPECT_STR(job.contract.idempotency_key, "order-1#3");
}
