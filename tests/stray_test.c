// Rows that contradict each other, and statements that a store does not carry out though it says it
// did: what is wrong is named, nothing is half done, and nobody else is kept from work.
#include "engine/queue.h"
#include "fixture.h"

#define OTHER_ORG S("00000000-0000-7000-8000-00000000000b")

// A statement that ends with the number of a job.
static void sql(struct box *box, const char *text, struct id id)
{
    box->damaged = true;
    box_sql(box, str_format(test_arena(), "%s%lld", text, (long long)id.high).s);
}

// A place in `ready` for a job, by the values of the row.
static void stray(struct box *box, const struct job *job, const char *place)
{
    struct str text = str_format(test_arena(), "INSERT INTO ready (queue, type, org, rank, job, "
                                               "attempt) SELECT %s FROM jobs j WHERE j.id = ",
                                 place);
    sql(box, text.s, job->id);
}

// ----- claims

TEST_EACH_DB(OPS_10_a_place_that_is_not_its_jobs_gives_the_job_to_nobody)
{
    static const char *const places[] = {
        "j.queue, j.type, j.org, -7, j.id, 0",
        "j.queue, (SELECT id FROM job_types WHERE name = 'other'), j.org, -j.priority, j.id, 0",
        "(SELECT id FROM queues WHERE name = 'q:exports'), j.type, j.org, -j.priority, j.id, 0",
        "j.queue, j.type, (SELECT o.id FROM orgs o WHERE o.id <> j.org), -j.priority, j.id, 0",
    };
    struct claimed *claimed = NULL;
    struct contract other = contract_for(box, "other");
    other.org_id = OTHER_ORG;
    other.queue = S("q:exports");
    must_add(box, &other);
    for (size_t i = 0; i < countof(places); i++) {
        struct job job = must_enqueue(box, "report");
        stray(box, &job, places[i]);
    }
    box->caller.org_id = OTHER_ORG;
    EXPECT_INT(claim_some(box, "B", 10, &claimed), 1);
    EXPECT_STR(claimed[0].job.contract.job_type, "other");
    box->caller.org_id = S("");
    EXPECT_INT(claim_some(box, "A", 10, &claimed), countof(places));
    for (size_t i = 0; i < countof(places); i++)
        EXPECT_STR(claimed[i].job.contract.job_type, "report");
}

TEST_EACH_DB(EXEC_4_a_stray_place_of_a_job_that_ran_keeps_no_other_waiting)
{
    struct claimed *claimed = NULL;
    struct job runs = must_enqueue(box, "report");
    must_start(box, "A");
    struct job waits = must_enqueue(box, "report");
    struct lease lease = must_claim(box, "A");
    struct execution e;
    OK(execution_release(tx, &lease, &e, err));
    stray(box, &runs, "j.queue, j.type, j.org, -8, j.id, 1");
    stray(box, &waits, "j.queue, j.type, j.org, -7, j.id, 1");
    EXPECT_INT(claim_some(box, "B", 10, &claimed), 1);
    EXPECT(id_eq(claimed[0].job.id, waits.id));
}

// Where jobs are read with their places, and where they are read one by one.
TEST_EACH_DB(EXEC_4_a_place_without_a_job_keeps_no_other_waiting)
{
    struct claimed *claimed = NULL;
    size_t count = 0;
    struct job job = must_enqueue(box, "report"), next = must_enqueue(box, "report");
    struct str both[] = { S("q:default"), S("q:exports") };
    struct claim claim = { .worker = worker_named("A"), .queues = both, .limit = 1 };
    stray(box, &job, "j.queue, j.type, j.org, -9, j.id - 1, 0");
    for (claim.queue_count = 1; claim.queue_count <= 2; claim.queue_count++) {
        OK(execution_claim(tx, &claim, &claimed, &count, err));
        EXPECT_INT(count, 1);
        EXPECT(id_eq(claimed[0].job.id, claim.queue_count == 1 ? job.id : next.id));
    }
}

// ----- words that nobody knows

TEST_EACH_DB(EXEC_8_an_execution_with_a_word_that_nobody_knows_is_damaged)
{
    struct execution e;
    struct job job;
    must_enqueue(box, "report");
    struct lease classed = must_claim(box, "A");
    must_enqueue(box, "report");
    struct lease ended = must_claim(box, "A");
    struct id of_classed = must_execution(box, classed.execution).job;
    sql(box, "UPDATE executions SET error_class = 'bad_luck' WHERE job = ", of_classed);
    sql(box, "UPDATE executions SET status = 'ABORTED', finished_at = leased_at, "
             "end_reason = 'bored' WHERE job = ",
        must_execution(box, ended.execution).job);
    REFUSED(PAWL_DAMAGED, execution_load(tx, classed.execution, &e, err));
    REFUSED(PAWL_DAMAGED, execution_load(tx, ended.execution, &e, err));
    REFUSED(PAWL_DAMAGED, job_load(tx, of_classed, &job, err));
}

SQLITE_ONLY(EXEC_8_a_job_parked_for_a_reason_that_nobody_knows_is_damaged,
            "PostgreSQL checks what is written")
TEST_EACH_DB(EXEC_8_a_job_parked_for_a_reason_that_nobody_knows_is_damaged)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    sql(box, "PRAGMA ignore_check_constraints = ON; UPDATE parked SET reason = 'lost' "
             "WHERE job = ",
        job.id);
    REFUSED(PAWL_DAMAGED, job_load(tx, job.id, &job, err));
}

// ----- the sweep

// By its other records the job waits for its next attempt already.
TEST_EACH_DB(EXEC_4_an_execution_that_lives_on_beside_its_job_stops_no_sweep)
{
    struct claimed *claimed = NULL;
    struct job bad = must_enqueue(box, "report"), good = must_enqueue(box, "report");
    EXPECT_INT(claim_some(box, "A", 2, &claimed), 2);
    sql(box, "INSERT INTO executions (id, id_low, org, job, attempt, status, worker, queue, type, "
             "policy, lease_us, lease_expires_at, leased_at, finished_at, attempts_used, "
             "retry_count, crash_count, end_reason) SELECT id + 1000000, id_low, org, job, 2, "
             "'ABORTED', worker, queue, type, policy, lease_us, lease_expires_at, leased_at, "
             "leased_at, 1, 1, 1, 'lease_expired' FROM executions WHERE job = ",
        bad.id);
    sql(box, "INSERT INTO parked (job, org, reason, due_at) SELECT id, org, 'backoff', "
             "9000000000000000 FROM jobs WHERE id = ",
        bad.id);
    EXPECT_INT(must_load(box, bad.id).state, JOB_RETRYING);
    pass(box, SECONDS(31));
    struct swept swept = must_sweep(box);
    EXPECT_INT(swept.damaged, 1);
    EXPECT_INT(swept.expired, 1);
    EXPECT_INT(must_load(box, good.id).state, JOB_RETRYING);
    struct lease lease = { claimed[0].execution.id, 1, worker_named("A") };
    EXPECT_INT(must_execution(box, lease.execution).status, EXECUTION_LEASED);
}

SQLITE_ONLY(EXEC_4_a_job_that_is_held_and_due_stops_no_sweep, "PostgreSQL checks what is written")
TEST_EACH_DB(EXEC_4_a_job_that_is_held_and_due_stops_no_sweep)
{
    struct contract contract = contract_for(box, "report");
    contract.hold = true;
    struct job bad = must_add(box, &contract);
    contract.hold = false;
    contract.scheduled_for = box->world.wall + SECONDS(10);
    struct job good = must_add(box, &contract);
    sql(box, "PRAGMA ignore_check_constraints = ON; UPDATE parked SET due_at = 1 WHERE job = ",
        bad.id);
    pass(box, SECONDS(11));
    struct swept swept = must_sweep(box);
    EXPECT_INT(swept.damaged, 1);
    EXPECT_INT(swept.due, 1);
    EXPECT_INT(must_load(box, good.id).phase, PHASE_READY);
    EXPECT_INT(must_load(box, bad.id).phase, PHASE_HELD);
}

// ----- statements that change nothing

// From now on changes to a table are passed over, as if somebody else had been quicker.
static void ignore(struct box *box, const char *change, const char *table)
{
    const char *how = "BEGIN SELECT RAISE(IGNORE); END";
    if (on_postgres()) {
        box_sql(box, "CREATE FUNCTION passed_over() RETURNS trigger LANGUAGE plpgsql "
                     "AS 'BEGIN RETURN NULL; END'");
        how = "FOR EACH ROW EXECUTE FUNCTION passed_over()";
    }
    struct str text = str_format(test_arena(), "CREATE TRIGGER passed_over BEFORE %s ON %s %s",
                                 change, table, how);
    box->damaged = true;
    box_sql(box, text.s);
}

static bool apply_nothing(struct tx *tx, void *self, struct pawl_error *err)
{
    (void)tx, (void)self, (void)err;
    return true;
}

TEST_EACH_DB(EXEC_3_whoever_changed_no_row_does_not_hold_the_execution)
{
    struct execution e;
    struct commit plain = { .done = true }, effect = { .apply = apply_nothing };
    struct commit finish = { .finish = true };
    struct work_error error = { .class = ERROR_TRANSIENT };
    for (int i = 0; i < 4; i++)
        must_enqueue(box, "report");
    struct lease leased = must_claim(box, "A"), started = must_start(box, "A");
    struct lease committed = must_start(box, "A"), finishing = must_start(box, "A");
    OK(execution_commit(tx, &committed, &(struct commit){0}, &e, err));
    OK(execution_commit(tx, &finishing, &finish, &e, err));
    ignore(box, "UPDATE", "executions");
    REFUSED(PAWL_FENCED, execution_start(tx, &leased, &e, err));
    REFUSED(PAWL_FENCED, execution_heartbeat(tx, &started, NULL, &e, err));
    REFUSED(PAWL_FENCED, execution_commit(tx, &started, &plain, &e, err));
    REFUSED(PAWL_FENCED, execution_commit(tx, &started, &effect, &e, err));
    REFUSED(PAWL_FENCED, execution_done(tx, &committed, &e, err));
    REFUSED(PAWL_FENCED, execution_fail(tx, &finishing, &error, &e, err));
    REFUSED(PAWL_STORE, execution_fail(tx, &started, &error, &e, err));
}

TEST_EACH_DB(EXEC_3_a_claim_that_leaves_the_places_where_they_are_takes_nothing)
{
    struct claimed *claimed = NULL;
    size_t count = 0;
    must_enqueue(box, "report");
    struct str queues[] = { S("q:default") };
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = queues,
        .queue_count = 1,
        .limit = 1,
    };
    ignore(box, "DELETE", "ready");
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, execution_claim(&tx, &claim, &claimed, &count, &err));
}

// ----- a purge

TEST_EACH_DB(OPS_3_a_purge_leaves_a_job_alone_that_runs_though_it_has_a_place)
{
    struct job runs = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct job waits = must_enqueue(box, "report");
    stray(box, &runs, "j.queue, j.type, j.org, -8, j.id, 1");
    struct purge purge = { .queue = S("q:default") };
    int64_t ended = 0;
    while (!purge.done) {
        OK_FROM_EACH(purge, queue_purge(tx, &purge, 10, err));
        ended += (int64_t)purge.ended;
    }
    EXPECT_INT(ended, 1);
    EXPECT_INT(must_load(box, waits.id).state, JOB_FAILED);
    EXPECT_INT(must_execution(box, lease.execution).status, EXECUTION_IN_PROGRESS);
}

// ----- the trail

SQLITE_ONLY(OPS_11_an_event_of_no_kind_is_not_listed_and_hides_no_other,
            "a trigger in the words of SQLite")
TEST_EACH_DB(OPS_11_an_event_of_no_kind_is_not_listed_and_hides_no_other)
{
    struct event_list before, after;
    struct event_filter all = {0};
    must_enqueue(box, "report");
    OK(events_of_org(tx, &all, &before, err));
    box->damaged = true;
    box_sql(box, "DROP TRIGGER audit_no_update; UPDATE audit_events SET event = 0"
                 " WHERE id = (SELECT max(id) FROM audit_events)");
    OK(events_of_org(tx, &all, &after, err));
    EXPECT_INT(after.count, before.count - 1);
}
