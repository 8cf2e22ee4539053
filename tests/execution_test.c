// EXEC: executions, leases and the commit boundary.
#include "fixture.h"

static size_t effects(struct box *box)
{
    return (size_t)box_number(box, "SELECT count(*) FROM effects");
}

// The application's own table, and its own row in the transaction of the commit.
static void make_effects(struct box *box)
{
    OK(tx_execute(tx, "CREATE TABLE effects (note TEXT)", err));
}

static bool apply_effect(struct tx *tx, void *self, struct pawl_error *err)
{
    (void)self;
    return tx_execute(tx, "INSERT INTO effects VALUES ('applied')", err);
}

static bool refuse_effect(struct tx *tx, void *self, struct pawl_error *err)
{
    (void)self;
    return tx_execute(tx, "INSERT INTO effects VALUES ('half')", err)
        && fail(err, PAWL_CONFLICT, "the application says no");
}

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

TEST_EACH_DB(EXEC_3_many_leases_are_renewed_at_once_and_each_has_its_answer)
{
    enum { COUNT = 5 };
    struct renewal renewals[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        must_enqueue(box, "report");
        renewals[i].lease = must_start(box, "A");
    }
    must_commit(box, &renewals[3].lease);
    pass(box, SECONDS(10));
    OK(executions_renew(tx, renewals, COUNT, err));
    for (int i = 0; i < COUNT; i++) {
        EXPECT_INT(renewals[i].error.code, i == 3 ? PAWL_FENCED : PAWL_OK);
        if (i != 3)
            EXPECT_INT(renewals[i].execution.lease_expires_at, box->world.wall + SECONDS(30));
    }
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

TEST_EACH_DB(EXEC_5_the_database_itself_refuses_a_second_commit)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE,
                   tx_execute(&tx, "INSERT INTO outcomes SELECT * FROM outcomes", &err));
}

TEST_EACH_DB(EXEC_5_a_later_attempt_finds_the_commit_and_does_nothing)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    pass(box, HOURS(1));
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "B", 10, &claimed), 0);
    EXPECT_INT(must_load(box, job.id).attempt, 1);
}

TEST_EACH_DB(EXEC_6_the_effect_and_the_mark_are_one_transaction)
{
    make_effects(box);
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct commit commit = { .apply = apply_effect, .done = true, .result = S("1") };
    struct execution e;
    {
        struct pawl_error err = {0};
        struct tx tx = {0};
        box_begin(box, &tx);
        MUST(execution_commit(&tx, &lease, &commit, &e, &err));
        tx_end(&tx);  // the process dies before COMMIT
    }
    EXPECT_INT(effects(box), 0);
    EXPECT_INT(must_load(box, job.id).phase, PHASE_RUNNING);
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(effects(box), 1);
}

TEST_EACH_DB(EXEC_6_repeating_a_commit_does_not_repeat_its_effect)
{
    make_effects(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct commit commit = { .apply = apply_effect, .done = true, .result = S("1") };
    struct execution e;
    OK(execution_commit(tx, &lease, &commit, &e, err));
    OK(execution_commit(tx, &lease, &commit, &e, err));
    pass(box, HOURS(1));
    OK(execution_commit(tx, &lease, &commit, &e, err));  // even after the lease
    EXPECT_INT(effects(box), 1);
    commit.result = S("2");
    REFUSED(PAWL_ALREADY_COMMITTED, execution_commit(tx, &lease, &commit, &e, err));
}

TEST_EACH_DB(EXEC_6_an_effect_that_is_refused_leaves_nothing_and_its_neighbours_stay)
{
    make_effects(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    struct contract other = contract_for(box, "neighbour");
    struct job neighbour;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &other, &neighbour, &deduplicated, &err));
    struct commit refused = { .apply = refuse_effect, .done = true };
    EXPECT_REFUSED(PAWL_CONFLICT, execution_commit(&tx, &lease, &refused, &e, &err));
    box_commit(&tx);
    EXPECT_INT(effects(box), 0);
    EXPECT_INT(must_load(box, neighbour.id).state, JOB_QUEUED);
    EXPECT_INT(must_execution(box, lease.execution).status, EXECUTION_IN_PROGRESS);
}

TEST_EACH_DB(EXEC_6_a_commit_brings_its_follow_ups_and_annotations)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct contract next = contract_for(box, "send");
    const struct str note = S("{\"diff\":\"one line\"}");
    struct execution e;
    struct commit commit = {
        .follow_ups = &next,
        .follow_up_count = 1,
        .annotations = &note,
        .annotation_count = 1,
        .done = true,
    };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(events(box, job.id, EVENT_JOB_ANNOTATED), 1);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 5, &claimed), 1);
    EXPECT_STR(claimed[0].job.contract.job_type, "send");
    EXPECT(id_eq(claimed[0].job.contract.parent, job.id));
    EXPECT_STR(claimed[0].job.contract.origin, "follow_up");
}

TEST_EACH_DB(EXEC_6_a_bad_commit_is_refused_with_every_problem)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct contract next = contract_for(box, "send");
    next.org_id = S("44444444-4444-7444-8444-444444444444");
    next.queue = DEADLETTER_QUEUE;
    const struct str note = S("{");
    struct commit commit = {
        .result = S("nonsense"),
        .follow_ups = &next,
        .follow_up_count = 1,
        .annotations = &note,
        .annotation_count = 1,
    };
    struct execution e;
    REFUSED(PAWL_INVALID, execution_commit(tx, &lease, &commit, &e, err));
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT(!execution_commit(&tx, &lease, &commit, &e, &err));
    struct str message = str_of(err.message);
    const struct str fields[] = { S("result"), S("annotations"), S("enqueue[0].queue"),
                                  S("enqueue[0].org_id") };
    for (size_t i = 0; i < countof(fields); i++) {
        bool named = false;
        for (size_t at = 0; at + fields[i].n <= message.n; at++)
            named = named || str_eq((struct str){ message.s + at, fields[i].n }, fields[i]);
        EXPECT(named);
    }
}

TEST_EACH_DB(EXEC_7_a_commit_whose_worker_died_is_finished_without_a_second_effect)
{
    make_effects(box);
    struct contract contract = contract_for(box, "report");
    contract.serial_key = S("key");
    struct job job = must_add(box, &contract), next = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){ .apply = apply_effect }, &e, err));
    EXPECT_INT(must_load(box, next.id).phase, PHASE_BLOCKED);  // the key is held until DONE
    pass(box, SECONDS(30));
    EXPECT_INT(must_sweep(box).finished, 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
    EXPECT_INT(must_load(box, next.id).phase, PHASE_READY);
    EXPECT_INT(effects(box), 1);
    OK(execution_done(tx, &lease, &e, err));  // its own outcome, already so
}

TEST_EACH_DB(EXEC_7_a_commit_phase_is_leased_again_as_the_same_attempt)
{
    struct job job = must_enqueue(box, "report");
    struct lease first = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &first, &(struct commit){ .finish = true }, &e, err));
    pass(box, SECONDS(30));
    EXPECT_INT(must_sweep(box).finished, 1);
    EXPECT_INT(must_load(box, job.id).phase, PHASE_FINISHING);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "B", 5, &claimed), 1);
    EXPECT(claimed[0].finish && id_eq(claimed[0].execution.id, first.execution));
    EXPECT_INT(claimed[0].execution.attempt, 1);
    REFUSED(PAWL_FENCED, execution_done(tx, &first, &e, err));
    struct worker b = worker_named("B");
    struct lease second = lease_of(&claimed[0].execution, &b);
    must_fail(box, &second, ERROR_TRANSIENT);  // tried again later; nothing is undone
    EXPECT_INT(must_load(box, job.id).phase, PHASE_FINISHING);
    EXPECT_INT(claim_some(box, "B", 5, &claimed), 0);
    pass(box, SECONDS(10));
    EXPECT_INT(claim_some(box, "B", 5, &claimed), 1);
    OK(execution_done(tx, &second, &e, err));
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(EXEC_7_a_commit_phase_that_kills_its_workers_is_tried_ever_more_slowly)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    struct claimed *claimed = NULL;
    for (int deaths = 1; deaths <= 3; deaths++) {
        pass(box, SECONDS(30));
        struct swept swept = must_sweep(box);
        EXPECT_INT(swept.finished, 1);
        EXPECT_INT(events(box, job.id, EVENT_JOB_FINISH_FAILED), deaths);
        if (deaths > 1) {
            EXPECT_INT(claim_some(box, "B", 5, &claimed), 0);
            EXPECT(swept.next > box->world.wall);
            pass(box, swept.next - box->world.wall);
        }
        EXPECT_INT(claim_some(box, "B", 5, &claimed), 1);
    }
    struct worker worker = worker_named("B");
    lease = lease_of(&claimed[0].execution, &worker);
    OK(execution_release(tx, &lease, &e, err));  // gives it back: no failure, no delay
    EXPECT_INT(events(box, job.id, EVENT_JOB_FINISH_RELEASED), 1);
    EXPECT_INT(claim_some(box, "B", 5, &claimed), 1);
    OK(execution_done(tx, &lease, &e, err));
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(EXEC_7_a_commit_repeated_with_done_is_done)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct commit commit = { .result = S("1") };
    struct execution e;
    OK(execution_commit(tx, &lease, &commit, &e, err));
    commit.done = true;
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(e.status, EXECUTION_DONE);
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
    must_enqueue(box, "report");
    lease = must_start(box, "A");
    commit.finish = true;  // something follows, and it is done: one of the two is wrong
    REFUSED(PAWL_INVALID, execution_commit(tx, &lease, &commit, &e, err));
}

TEST_EACH_DB(EXEC_7_a_new_boot_finishes_what_the_old_one_committed)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    struct recovered recovered;
    struct instance again = { .name = S("test"), .boot_id = S("boot-2") };
    OK(boot_recover(tx, &again, 10, &recovered, err));
    EXPECT_INT(recovered.finished, 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(EXEC_8_a_job_in_two_places_is_not_believed)
{
    struct job job = must_enqueue(box, "report");
    box->damaged = true;
    box_sql(box, "INSERT INTO parked (job, org, reason) SELECT id, org, 'held' FROM jobs");
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, job_load(&tx, job.id, &job, &err));
}

TEST_EACH_DB(EXEC_10_before_the_commit_nothing_of_the_effect_is_stored)
{
    make_effects(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(effects(box), 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes"), 0);
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
