// Rows that are inserted together: whoever looks sees them, and a part taken back takes its own.
#include "fixture.h"

enum { MANY = 1603 };  // more than are written at once, and some more

static bool note(struct tx *tx, int64_t job, struct pawl_error *err)
{
    struct subject subject = { .org = 1, .job = job };
    return event_append(tx, subject, EVENT_JOB_ANNOTATED, S("{}"), err);
}

static size_t notes(struct tx *tx, int64_t job)
{
    struct audit_event *all;
    size_t count = 0, notes = 0;
    struct pawl_error err = {0};
    MUST(events_of_job(tx, job, &all, &count, &err));
    for (size_t i = 0; i < count; i++) {
        EXPECT(i == 0 || all[i].id > all[i - 1].id);
        notes += all[i].event == EVENT_JOB_ANNOTATED;
    }
    return notes;
}

TEST_EACH_DB(OPS_11_events_are_seen_in_their_own_transaction_and_in_order)
{
    struct id id = must_enqueue(box, "report").id;
    int64_t job = id.high;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 1; i <= MANY; i++) {
        MUST(note(&tx, job, &err));
        if (i % 7 == 0)
            EXPECT_INT(notes(&tx, job), i);
    }
    box_commit(&tx);
    EXPECT_INT(events(box, id, EVENT_JOB_ANNOTATED), MANY);
}

TEST_EACH_DB(OPS_11_a_part_that_is_taken_back_takes_its_events_along)
{
    struct id id = must_enqueue(box, "report").id;
    int64_t job = id.high;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(note(&tx, job, &err));
    MUST(tx_mark(&tx, &err));
    for (int i = 0; i < MANY; i++)  // some are inserted, some are held
        MUST(note(&tx, job, &err));
    MUST(tx_take_back(&tx, &err));
    EXPECT_INT(notes(&tx, job), 1);
    MUST(tx_mark(&tx, &err));
    MUST(note(&tx, job, &err));
    MUST(tx_keep(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(events(box, id, EVENT_JOB_ANNOTATED), 2);
}

TEST_EACH_DB(OPS_11_events_of_a_transaction_that_ended_do_not_reach_the_next)
{
    struct id id = must_enqueue(box, "report").id;
    int64_t job = id.high;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(note(&tx, job, &err));
    tx_end(&tx);
    EXPECT_INT(events(box, id, EVENT_JOB_ANNOTATED), 0);
}

TEST_EACH_DB(OPS_11_the_application_sees_the_events_before_its_own_sql)
{
    int64_t job = must_enqueue(box, "report").id.high;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(note(&tx, job, &err));
    MUST(tx_execute(&tx, "CREATE TABLE seen AS SELECT count(*) AS n FROM audit_events"
                         " WHERE job IS NOT NULL",
                    &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT n FROM seen"), 3);
}

// A place that is taken: noticed when the row is inserted, and nothing of the transaction stays.
TEST_EACH_DB(a_row_the_database_refuses_refuses_the_transaction)
{
    struct str before = box_contents(box);
    struct contract contract = contract_for(box, "report");
    struct pawl_error err = {0};
    struct job job;
    bool known;
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    MUST(sql_later(&tx, Q_READY_INSERT, &err, INT(job.keys.queue), INT(job.keys.type),
                   INT(job.keys.org), INT(0), INT(job.id.high), INT(0), NONE, NONE));
    EXPECT_REFUSED(PAWL_STORE, tx_commit(&tx, &err));
    EXPECT_REFUSED(PAWL_STORE, tx_commit(&tx, &err));  // and stays refused
    tx_end(&tx);
    EXPECT(str_eq(box_contents(box), before));
    must_enqueue(box, "report");  // the next one is not concerned
}

TEST_EACH_DB(EXEC_5_two_ends_of_one_job_cannot_commit_together)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution e;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(execution_commit(&tx, &lease, &(struct commit){ .done = true }, &e, &err));
    MUST(sql_later(&tx, Q_OUTCOME_COMMIT_DONE, &err, INT(job.id.high), INT(1), INT(e.id.high),
                   INT(tx.now), NONE));
    EXPECT_REFUSED(PAWL_STORE, tx_commit(&tx, &err));
    tx_end(&tx);
    EXPECT_INT(must_load(box, job.id).state, JOB_RUNNING);
}

TEST_EACH_DB(OPS_11_events_with_and_without_detail_stay_in_the_order_they_came)
{
    struct id id = must_enqueue(box, "report").id;
    struct subject subject = { .org = 1, .job = id.high };
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    struct audit_event *all;
    size_t count = 0, before = 2;  // created, enqueued
    box_begin(box, &tx);
    for (int i = 0; i < MANY; i++) {
        struct str detail = i % 3 == 0 ? S("{}") : S("");
        MUST(detail.n ? event_append(&tx, subject, EVENT_JOB_ANNOTATED, detail, &err)
                      : event_append_by_creator(&tx, subject, EVENT_JOB_ANNOTATED, &err));
    }
    MUST(events_of_job(&tx, id.high, &all, &count, &err));
    EXPECT_INT(count, before + MANY);
    for (size_t i = before; i < count; i++)
        EXPECT_INT(all[i].detail.n, (i - before) % 3 == 0 ? 2 : 0);
    box_commit(&tx);
}
