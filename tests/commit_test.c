// EXEC: the commit boundary, and the commit phase after it.
#include "fixture.h"

#include "engine/finish.h"

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

TEST_EACH_DB(EXEC_5_the_database_itself_keeps_a_finished_execution_as_it_is)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    struct str before = box_contents(box);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, tx_execute(&tx, "UPDATE executions SET progress_percent = 1", &err));
    tx_end(&tx);
    EXPECT(str_eq(box_contents(box), before));
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

// What an application's SQL must not be able to do to the transaction it is part of.
static bool end_the_transaction(struct tx *tx, void *self, struct pawl_error *err)
{
    return tx_execute(tx, "INSERT INTO effects VALUES ('sneaked in')", err)
        && tx_execute(tx, self, err);
}

TEST_EACH_DB(EXEC_6_an_effect_cannot_end_its_transaction)
{
    static char commit_word[] = "COMMIT", rollback_word[] = "ROLLBACK", begin_word[] = "BEGIN",
                conflict[] = "INSERT OR ROLLBACK INTO outcomes SELECT * FROM outcomes";
    char *const attempts[] = { commit_word, rollback_word, begin_word, conflict };
    make_effects(box);
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    size_t count = countof(attempts) - on_postgres();  // there it has no words for the last
    for (size_t i = 0; i < count; i++) {
        struct commit commit = { .apply = end_the_transaction, .self = attempts[i], .done = true };
        struct execution e;
        struct contract other = contract_for(box, "neighbour");
        struct job neighbour;
        bool deduplicated;
        struct pawl_error err = {0};
        struct tx tx = {0};
        box_begin(box, &tx);
        EXPECT(!execution_commit(&tx, &lease, &commit, &e, &err));
        if (attempts[i] == conflict)  // the transaction is gone, and nothing goes on without it
            EXPECT_REFUSED(PAWL_STORE, job_enqueue(&tx, &other, &neighbour, &deduplicated, &err));
        tx_end(&tx);
        EXPECT_INT(effects(box), 0);
    }
    EXPECT_INT(must_load(box, job.id).phase, PHASE_RUNNING);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
}

// A worker that, inside its own effect, gives its lease away.
static bool release_itself(struct tx *tx, void *self, struct pawl_error *err)
{
    struct execution e;
    return tx_execute(tx, "INSERT INTO effects VALUES ('too late')", err)
        && execution_release(tx, self, &e, err);
}

TEST_EACH_DB(EXEC_6_an_effect_belongs_to_who_holds_the_lease)
{
    make_effects(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct commit commit = { .apply = release_itself, .self = &lease, .done = true };
    struct execution e;
    REFUSED(PAWL_ALREADY_COMMITTED, execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(effects(box), 0);
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

// Two notifications that are refused, one for its key and one for its queue, and another job.
TEST_EACH_DB(OPS_2_a_notification_that_is_refused_fails_no_commit_and_is_told)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct contract known = contract_for(box, "mail");
    struct job stored;
    bool deduplicated;
    known.idempotency_key = S("mail-1");
    OK(job_enqueue(tx, &known, &stored, &deduplicated, err));
    struct contract next[] = { contract_for(box, "mail"), contract_for(box, "mail"),
                               contract_for(box, "send") };
    next[0].policy = next[1].policy = *policy_builtin(S("notification"));
    next[0].idempotency_key = S("mail-1");
    next[0].payload = S("{\"another\":\"content\"}");
    next[1].queue = DEADLETTER_QUEUE;
    struct execution e;
    struct commit commit = { .follow_ups = next, .follow_up_count = 3, .done = true };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(events(box, job.id, EVENT_JOB_ANNOTATED), 2);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs WHERE origin = 'follow_up'"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM audit_events WHERE detail LIKE "
                               "'%follow_up_refused%key_reused%'"),
               1);
}

// Any other job among them is part of the commit: all or nothing.
TEST_EACH_DB(OPS_2_another_follow_up_that_is_refused_fails_the_commit)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct contract known = contract_for(box, "send");
    struct job stored;
    bool deduplicated;
    known.idempotency_key = S("send-1");
    OK(job_enqueue(tx, &known, &stored, &deduplicated, err));
    struct contract next = contract_for(box, "send");
    next.idempotency_key = S("send-1");
    next.payload = S("{\"another\":\"content\"}");
    struct execution e;
    struct commit commit = { .follow_ups = &next, .follow_up_count = 1, .done = true };
    REFUSED(PAWL_KEY_REUSED, execution_commit(tx, &lease, &commit, &e, err));
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

TEST_EACH_DB(EXEC_7_an_operator_may_end_a_commit_phase_that_keeps_failing)
{
    struct job job = must_enqueue(box, "report");
    REFUSED(PAWL_CONFLICT, finish_end(tx, job.id, &job, err));
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    must_fail(box, &lease, ERROR_DEPENDENCY);
    must_fail(box, &lease, ERROR_DEPENDENCY);  // said twice, counted once
    EXPECT_INT(must_execution(box, lease.execution).finish_failures, 1);
    OK_FROM(job, finish_end(tx, job.id, &job, err));
    EXPECT_INT(job.state, JOB_SUCCEEDED);
    EXPECT_INT(events(box, job.id, EVENT_JOB_FINISH_ENDED), 1);
    REFUSED(PAWL_CONFLICT, finish_end(tx, job.id, &job, err));
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

TEST_EACH_DB(EXEC_10_before_the_commit_nothing_of_the_effect_is_stored)
{
    make_effects(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(effects(box), 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes"), 0);
}
