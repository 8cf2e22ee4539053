// RUN: document processing runs. A document is a serial key; the policy is `document`.
#include "fixture.h"

static struct job must_run_for(struct box *box, const char *document)
{
    struct contract contract = contract_with(box, "document.process", "document");
    contract.serial_key = str_of(document);
    return must_add(box, &contract);
}

TEST_EACH_DB(RUN_2_at_most_one_run_of_a_document_is_running)
{
    must_run_for(box, "doc-1");
    must_run_for(box, "doc-1");
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);
    EXPECT_INT(claim_some(box, "B", 10, &claimed), 0);
}

TEST_EACH_DB(RUN_2_the_database_itself_refuses_a_second_running_run)
{
    must_run_for(box, "doc-1");
    must_start(box, "A");
    struct job other = must_run_for(box, "doc-2");
    must_start(box, "B");
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    struct str sql = str_format(test_arena(),
                                "UPDATE executions SET serial_key = 'doc-1' WHERE job = %lld",
                                (long long)other.id.high);
    EXPECT_REFUSED(PAWL_STORE, tx_execute(&tx, sql.s, &err));
}

TEST_EACH_DB(RUN_2_the_same_document_of_another_org_is_another_document)
{
    must_run_for(box, "doc-1");
    struct contract contract = contract_with(box, "document.process", "document");
    contract.serial_key = S("doc-1");
    contract.org_id = S("11111111-1111-7111-8111-111111111111");
    must_add(box, &contract);
    box->caller.org_id = S("");  // Pawl's own runner serves every org
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 2);
}

TEST_EACH_DB(RUN_3_a_run_created_while_another_runs_is_queued_and_history_stays)
{
    struct job first = must_run_for(box, "doc-1");
    struct lease lease = must_start(box, "A");
    struct job second = must_run_for(box, "doc-1");
    EXPECT_INT(second.state, JOB_QUEUED);
    EXPECT_INT(second.phase, PHASE_BLOCKED);
    EXPECT_INT(must_load(box, first.id).state, JOB_RUNNING);
    must_commit(box, &lease);
    EXPECT_INT(must_load(box, first.id).state, JOB_SUCCEEDED);
    EXPECT_INT(must_load(box, second.id).phase, PHASE_READY);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
}

TEST_EACH_DB(RUN_3_stored_runs_are_never_rewritten)
{
    must_run_for(box, "doc-1");
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, tx_execute(&tx, "UPDATE jobs SET payload = '{}'", &err));
    EXPECT_REFUSED(PAWL_STORE, tx_execute(&tx, "DELETE FROM audit_events", &err));
    EXPECT_REFUSED(PAWL_STORE, tx_execute(&tx, "UPDATE audit_events SET at = 1", &err));
}

TEST_EACH_DB(RUN_4_of_two_starters_one_wins)
{
    must_run_for(box, "doc-1");
    struct lease lease = must_claim(box, "A");
    struct lease thief = lease;
    thief.worker = worker_named("B");
    struct execution e;
    REFUSED(PAWL_FENCED, execution_start(tx, &thief, &e, err));
    OK(execution_start(tx, &lease, &e, err));
    EXPECT_INT(e.status, EXECUTION_IN_PROGRESS);
}

TEST_EACH_DB(RUN_4_a_writer_excludes_every_other_writer)
{
    struct db *second = NULL;
    struct pawl_error err = {0};
    struct db_options options = {
        .url = box->url,
        .world = &box->world.world,
        .busy_us = MILLISECONDS(5),
    };
    MUST(db_open(&second, &options, &err));
    struct tx mine = {0}, theirs = {0};
    box_begin(box, &mine);
    EXPECT_REFUSED(PAWL_BUSY, tx_begin(second, TX_WRITE, test_arena(), &theirs, &err));
    box_commit(&mine);
    MUST(tx_begin(second, TX_WRITE, test_arena(), &theirs, &err));
    tx_end(&theirs);
    db_close(second);
}

static struct recovered must_recover(struct box *box, const char *boot_id)
{
    struct recovered recovered;
    struct instance instance = { .name = S("test"), .boot_id = str_of(boot_id) };
    OK(boot_recover(tx, &instance, 100, &recovered, err));
    return recovered;
}

TEST_EACH_DB(RUN_5_a_new_boot_fails_the_runs_of_the_one_before)
{
    struct job started = must_run_for(box, "doc-1");
    must_start(box, "A");
    struct job waiting = must_run_for(box, "doc-1");
    EXPECT_INT(must_recover(box, "boot-1").ended, 0);  // its own runs are no orphans
    EXPECT_INT(must_recover(box, "boot-2").ended, 1);
    started = must_load(box, started.id);
    EXPECT_INT(started.state, JOB_FAILED);
    EXPECT_INT(started.failure_type, FAILURE_PROCESS_TERMINATED);
    EXPECT_INT(must_load(box, waiting.id).phase, PHASE_READY);
    EXPECT_INT(must_recover(box, "boot-2").ended, 0);
}

TEST_EACH_DB(RUN_5_another_instance_is_left_to_its_leases)
{
    struct job job = must_run_for(box, "doc-1");
    must_start(box, "A");
    struct recovered recovered;
    struct instance other = { .name = S("other"), .boot_id = S("boot-9") };
    OK(boot_recover(tx, &other, 100, &recovered, err));
    EXPECT_INT(recovered.ended, 0);
    pass(box, SECONDS(30));
    EXPECT_INT(must_sweep(box).expired, 1);
    EXPECT_INT(must_load(box, job.id).failure_type, FAILURE_LEASE_EXPIRED);
}

TEST_EACH_DB(RUN_5_a_boot_that_was_replaced_leaves_the_runs_of_the_new_one_alone)
{
    struct job job = must_run_for(box, "doc-1");
    struct instance old = { .name = S("test"), .boot_id = S("boot-0") };
    struct instance new = { .name = S("test"), .boot_id = S("boot-1") };
    OK(instance_enter(tx, &old, false, err));
    pass(box, ALIVE_US + SECONDS(1));  // it stalls before it recovers
    OK(instance_enter(tx, &new, false, err));
    must_start(box, "A");  // of boot-1
    struct recovered recovered;
    REFUSED(PAWL_FENCED, boot_recover(tx, &old, 10, &recovered, err));
    EXPECT_INT(must_load(box, job.id).state, JOB_RUNNING);
    struct instance nameless = { .name = S(""), .boot_id = S("boot-1") };
    REFUSED(PAWL_INVALID, boot_recover(tx, &nameless, 10, &recovered, err));
    REFUSED(PAWL_INVALID, instance_enter(tx, &nameless, false, err));
}

TEST_EACH_DB(RUN_5_an_instance_that_lives_is_not_entered_twice)
{
    struct instance first = { .name = S("web-1"), .boot_id = S("one") };
    struct instance second = { .name = S("web-1"), .boot_id = S("two") };
    OK(instance_enter(tx, &first, false, err));
    REFUSED(PAWL_CONFLICT, instance_enter(tx, &second, false, err));
    pass(box, ALIVE_US - SECONDS(1));
    OK(instance_alive(tx, &first, err));
    pass(box, ALIVE_US - SECONDS(1));
    REFUSED(PAWL_CONFLICT, instance_enter(tx, &second, false, err));
    pass(box, SECONDS(2));
    OK(instance_enter(tx, &second, false, err));
    REFUSED(PAWL_FENCED, instance_alive(tx, &first, err));
    OK(instance_leave(tx, &second, err));
    OK(instance_enter(tx, &first, false, err));
}

// Behind a pooler names cannot be held: that its name is free does not say that one is dead.
TEST_EACH_DB(RUN_5_an_instance_that_did_not_hold_its_name_is_believed_to_live)
{
    struct instance unheld = { .name = S("web-1"), .boot_id = S("one") };
    struct instance held = { .name = S("web-1"), .boot_id = S("two") };
    struct instance heir = { .name = S("web-1"), .boot_id = S("three") };
    OK(instance_enter(tx, &unheld, false, err));
    REFUSED(PAWL_CONFLICT, instance_enter(tx, &held, true, err));
    pass(box, ALIVE_US + SECONDS(1));
    OK(instance_enter(tx, &held, true, err));
    REFUSED(PAWL_CONFLICT, instance_enter(tx, &heir, false, err));
    OK(instance_enter(tx, &heir, true, err));
}

TEST_EACH_DB(RUN_6_a_step_has_two_tries_and_a_retry_makes_no_new_run)
{
    struct job job = must_run_for(box, "doc-1");
    struct lease lease = must_start(box, "A");
    struct step step;
    OK(step_fail(tx, &lease, S("extract"), S("unreadable page"), &step, err));
    EXPECT(step.may_retry);
    EXPECT_INT(events(box, job.id, EVENT_STEP_RETRIED), 1);
    OK(step_fail(tx, &lease, S("extract"), S("unreadable page"), &step, err));
    EXPECT(!step.may_retry);
    EXPECT_INT(step.tries, 2);
    EXPECT_INT(events(box, job.id, EVENT_STEP_FAILED), 1);
    REFUSED(PAWL_CONFLICT, step_fail(tx, &lease, S("extract"), S("again"), &step, err));
    EXPECT_INT(events(box, job.id, EVENT_STEP_RETRIED), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM executions"), 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_RUNNING);
}

TEST_EACH_DB(RUN_6_a_step_that_is_done_is_not_computed_again_by_the_next_attempt)
{
    must_enqueue(box, "report");
    struct lease first = must_start(box, "A");
    struct step step;
    OK(step_put(tx, &first, S("fetch"), S("{\"rows\":3}"), &step, err));
    OK(step_fail(tx, &first, S("render"), S("no font"), &step, err));
    pass(box, SECONDS(31));
    must_sweep(box);
    pass(box, SECONDS(10));
    must_sweep(box);
    struct lease second = must_start(box, "B");
    OK(step_get(tx, &second, S("fetch"), &step, err));
    EXPECT(step.done);
    EXPECT_STR(step.result, "{\"rows\":3}");
    OK(step_get(tx, &second, S("render"), &step, err));
    EXPECT(!step.done);
    EXPECT_INT(step.tries, 0);
}

TEST_EACH_DB(RUN_6_the_first_result_of_a_step_stays)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct step step;
    OK(step_put(tx, &lease, S("fetch"), S("1"), &step, err));
    OK(step_put(tx, &lease, S("fetch"), S("1"), &step, err));
    REFUSED(PAWL_CONFLICT, step_put(tx, &lease, S("fetch"), S("2"), &step, err));
    REFUSED(PAWL_CONFLICT, step_fail(tx, &lease, S("fetch"), S("late"), &step, err));
    REFUSED(PAWL_INVALID, step_put(tx, &lease, S(""), S("1"), &step, err));
    REFUSED(PAWL_INVALID, step_put(tx, &lease, S("a\0b"), S("1"), &step, err));
    REFUSED(PAWL_INVALID, step_put(tx, &lease, S("x"), S("{"), &step, err));
}

TEST_EACH_DB(RUN_7_a_run_past_120_s_is_timed_out_and_stays_so)
{
    struct job job = must_run_for(box, "doc-1");
    struct lease lease = must_start(box, "A");
    struct execution e;
    for (int i = 0; i < 5; i++) {
        pass(box, SECONDS(20));
        OK(execution_heartbeat(tx, &lease, NULL, &e, err));
        EXPECT_INT(must_sweep(box).timed_out, 0);
    }
    EXPECT_INT(e.lease_expires_at, e.started_at + SECONDS(120));
    pass(box, SECONDS(20));
    REFUSED(PAWL_FENCED, execution_heartbeat(tx, &lease, NULL, &e, err));
    REFUSED(PAWL_FENCED, execution_commit(tx, &lease, &(struct commit){ .done = true }, &e, err));
    EXPECT_INT(must_sweep(box).timed_out, 1);
    job = must_load(box, job.id);
    EXPECT_INT(job.state, JOB_TIMED_OUT);
    EXPECT_INT(job.failure_type, FAILURE_TIMEOUT);
    REFUSED(PAWL_TERMINAL, job_cancel(tx, job.id, &job, err));
}

TEST_EACH_DB(RUN_7_the_window_counts_from_the_start_not_from_the_claim)
{
    struct job job = must_run_for(box, "doc-1");
    struct lease lease = must_claim(box, "A");
    struct execution e;
    pass(box, SECONDS(29));
    OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    pass(box, SECONDS(29));
    OK(execution_start(tx, &lease, &e, err));
    EXPECT_INT(e.deadline_at, box->world.wall + SECONDS(120));
    EXPECT_INT(must_load(box, job.id).started_at, box->world.wall);
}

TEST_EACH_DB(RUN_8_reprocessing_always_makes_a_new_run)
{
    struct job first = must_run_for(box, "doc-1");
    struct job second = must_run_for(box, "doc-1");
    EXPECT(!id_eq(first.id, second.id));
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    struct job again;
    OK(job_retry(tx, first.id, &again, err));
    EXPECT(!id_eq(again.id, first.id));
    EXPECT(id_eq(again.contract.parent, first.id));
    EXPECT_STR(again.contract.origin, "retry");
    EXPECT_INT(must_load(box, first.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(RUN_9_runs_start_oldest_first_and_one_per_document)
{
    struct job a1 = must_run_for(box, "a"), a2 = must_run_for(box, "a");
    struct job b1 = must_run_for(box, "b"), a3 = must_run_for(box, "a");
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 2);
    EXPECT(id_eq(claimed[0].job.id, a1.id) && id_eq(claimed[1].job.id, b1.id));
    struct worker worker = worker_named("A");
    struct lease lease = lease_of(&claimed[0].execution, &worker);
    struct execution e;
    OK(execution_start(tx, &lease, &e, err));
    must_commit(box, &lease);
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);
    EXPECT(id_eq(claimed[0].job.id, a2.id));
    EXPECT_INT(must_load(box, a3.id).phase, PHASE_BLOCKED);
}

TEST_EACH_DB(RUN_9_order_holds_across_job_types_and_priorities)
{
    struct contract low = contract_for(box, "b"), high = contract_for(box, "a");
    low.priority = -5;
    high.priority = 7;
    struct job j1 = must_add(box, &low);
    struct job j2 = must_enqueue(box, "c");
    struct job j3 = must_enqueue(box, "a");
    struct job j4 = must_add(box, &high);
    const struct job *order[] = { &j4, &j2, &j3, &j1 };
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 4);
    for (size_t i = 0; i < countof(order); i++)
        EXPECT(id_eq(claimed[i].job.id, order[i]->id));
}

TEST_EACH_DB(RUN_9_an_older_run_that_becomes_due_takes_its_turn_back)
{
    struct contract contract = contract_with(box, "document.process", "lifecycle");
    contract.serial_key = S("doc-1");
    struct job old = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    struct job young = must_add(box, &contract);
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(must_load(box, old.id).phase, PHASE_BACKOFF);   // does not hold the key
    EXPECT_INT(must_load(box, young.id).phase, PHASE_READY);
    pass(box, SECONDS(1));
    must_sweep(box);
    EXPECT_INT(must_load(box, old.id).phase, PHASE_READY);
    EXPECT_INT(must_load(box, young.id).phase, PHASE_BLOCKED);
}
