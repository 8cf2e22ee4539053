// Whoever observes is told what was committed: all of it, once, and nothing else.
#include "fixture.h"

#include "engine/alert.h"
#include "faults.h"
#include "run/handle.h"
#include "store/driver.h"
#include "store/observe.h"

// What was told, copied: it lives during the call only.
struct ear {
    struct observers observers;
    struct observation events[64];
    size_t count, calls;
    struct observed_ready ready[OBSERVED_READY_MAX];
    struct observed last;
    struct str last_ready;  // the job type of its first kind of ready jobs
};

static void hear(void *self, const struct observed *told)
{
    struct ear *ear = self;
    ear->calls++;
    ear->last = *told;
    for (size_t i = 0; i < told->ready_count; i++)
        ear->ready[i] = told->ready[i];
    if (told->ready_count)
        ear->last_ready = str_dup(test_arena(), told->ready[0].job_type);
    for (size_t i = 0; i < told->count; i++) {
        struct observation *kept = &ear->events[ear->count++ % countof(ear->events)];
        *kept = told->events[i];
        kept->org_id = str_dup(test_arena(), kept->org_id);
        kept->job_type = str_dup(test_arena(), kept->job_type);
        kept->queue_name = str_dup(test_arena(), kept->queue_name);
        kept->request_id = str_dup(test_arena(), kept->request_id);
    }
}

static void forget(struct ear *ear)
{
    ear->count = ear->calls = 0;
    ear->last = (struct observed){0};
}

// The box's own connection, opened again with an ear.
static struct ear *listen_to(struct box *box)
{
    struct ear *ear = arena_new(test_arena(), struct ear, 1);
    struct pawl_error err = {0};
    observers_add(&ear->observers, hear, ear);
    db_close(box->db);
    struct db_options options = { .url = box->url,
                                  .world = &box->world.world,
                                  .fleeting = true,
                                  .observers = &ear->observers };
    MUST(db_open(&box->db, &options, &err));
    return ear;
}

static void heard(const struct ear *ear, const enum event *expected, size_t count)
{
    EXPECT_INT(ear->count, count);
    for (size_t i = 0; i < count; i++)
        EXPECT_INT(ear->events[i].event, expected[i]);
}
#define HEARD(ear, ...) \
    heard((ear), (enum event[]){ __VA_ARGS__ }, countof(((enum event[]){ __VA_ARGS__ })))

static struct contract contract_in(struct box *box, const char *type, const char *queue)
{
    struct contract contract = contract_for(box, type);
    contract.queue = str_of(queue);
    return contract;
}

// Rehearsals leave out stores that are observed, so each call fails here.
TEST_EACH_DB(OPS_12_an_alert_of_which_nothing_can_be_read_is_not_raised)
{
    struct pawl_error err = {0};
    bool raised = false;
    struct job job = must_enqueue(box, "report");
    listen_to(box);
    for (int64_t n = 1; !raised; n++) {
        SCOPED(tx) struct tx tx = {0};
        struct subject subject = { .org = job.keys.org, .job = job.id.high };
        box_begin(box, &tx);
        store_faults_begin(box->db, NULL);
        store_faults = (struct fault_counter){ .fail_at = n };
        raised = alert_raise(&tx, &subject, ALERT_DEAD_LETTER, &err);
        EXPECT(raised == (store_faults.failed == 0));
        store_faults = (struct fault_counter){0};
        store_faults_end(box->db);
    }
    SCOPED(tx) struct tx tx = {0};
    struct subject nobody = { .org = job.keys.org, .job = 1 };
    box_begin(box, &tx);
    MUST(alert_raise(&tx, &nobody, ALERT_DEAD_LETTER, &err));
    EXPECT_INT(nobody.request_id.n, 0);
}

TEST_EACH_DB(OPS_13_a_life_is_told_event_by_event_with_names_and_times)
{
    struct ear *ear = listen_to(box);
    struct contract contract = contract_in(box, "report.export", "q:exports");
    struct job job = must_add(box, &contract);
    HEARD(ear, EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED);
    struct claim claim = { .worker = worker_named("A"), .limit = 1, .start = true };
    claim.queues = &contract.queue;
    claim.queue_count = 1;
    struct claimed *claimed;
    size_t count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 1);
    struct lease lease = lease_of(&claimed->execution, &claim.worker);
    pass(box, SECONDS(3));
    must_commit(box, &lease);
    HEARD(ear, EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED, EVENT_JOB_STARTED, EVENT_JOB_SUCCEEDED);
    const struct observation *end = &ear->events[3];
    EXPECT_STR(end->job_type, "report.export");
    EXPECT_STR(end->queue_name, "q:exports");
    EXPECT(str_eq(end->org_id, box->caller.org_id));
    EXPECT(end->job.high == job.id.high && end->job.low == job.id.low);
    EXPECT_INT(end->state, JOB_SUCCEEDED);
    EXPECT_INT(end->attempt, 1);
    EXPECT_INT(end->attempts, 1);
    EXPECT_INT(ear->last.at - end->started_at, SECONDS(3));
}

TEST_EACH_DB(OPS_13_a_bad_end_is_told_with_its_class_state_and_the_queue_it_came_from)
{
    struct ear *ear = listen_to(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    forget(ear);
    must_fail(box, &lease, ERROR_VALIDATION);
    HEARD(ear, EVENT_JOB_FAILED, EVENT_JOB_DEADLETTERED);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_STR(ear->events[i].queue_name, "q:default");
        EXPECT_INT(ear->events[i].state, JOB_FAILED);
        EXPECT_INT(ear->events[i].error_class, ERROR_VALIDATION);
    }
}

// Jobs that are told of an end are read into memory that is gone before the commit.
TEST_EACH_DB(OPS_8_an_end_that_ends_others_is_told_with_the_request_of_each)
{
    struct ear *ear = listen_to(box);
    struct job first = must_enqueue(box, "first");
    struct contract contract = contract_for(box, "second");
    contract.after = &first.id;
    contract.after_count = 1;
    struct job second = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    forget(ear);
    must_fail(box, &lease, ERROR_VALIDATION);
    size_t alerts = 0;
    for (size_t i = 0; i < ear->count; i++) {
        const struct observation *told = &ear->events[i];
        if (told->alert == ALERT_NONE)
            continue;
        const struct job *job = told->job.high == first.id.high ? &first : &second;
        expect_str(told->request_id, job->contract.request_id, PLACE("the request"));
        alerts++;
    }
    EXPECT_INT(alerts, 2);
}

TEST_EACH_DB(OPS_13_what_is_rolled_back_is_not_told_nor_is_it_told_later)
{
    struct ear *ear = listen_to(box);
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    tx_end(&tx);
    EXPECT_INT(ear->calls, 0);
    must_enqueue(box, "other");
    EXPECT_INT(ear->calls, 1);
    HEARD(ear, EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED);
    EXPECT_STR(ear->events[0].job_type, "other");
    EXPECT_INT(ear->last.ready_count, 1);
}

// Parts within parts: each takes back its own.
TEST_EACH_DB(OPS_13_a_part_that_is_taken_back_is_not_told)
{
    struct ear *ear = listen_to(box);
    static const char *const types[] = { "kept", "taken", "within", "last" };
    struct contract contracts[countof(types)];
    struct job job;
    bool known;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    for (size_t i = 0; i < countof(types); i++)
        contracts[i] = contract_for(box, types[i]);
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contracts[0], &job, &known, &err));
    MUST(tx_mark(&tx, &err));
    MUST(job_enqueue(&tx, &contracts[1], &job, &known, &err));
    MUST(tx_mark(&tx, &err));
    MUST(job_enqueue(&tx, &contracts[2], &job, &known, &err));
    MUST(tx_keep(&tx, &err));
    MUST(tx_take_back(&tx, &err));
    MUST(tx_mark(&tx, &err));
    MUST(job_enqueue(&tx, &contracts[3], &job, &known, &err));
    MUST(tx_keep(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(ear->count, 4);
    EXPECT_STR(ear->events[1].job_type, "kept");
    EXPECT_STR(ear->events[3].job_type, "last");
    EXPECT_INT(ear->last.ready_count, 2);
    EXPECT(!ear->last.incomplete);
}

TEST_EACH_DB(RUN_9_what_becomes_claimable_is_told_once_per_kind)
{
    struct ear *ear = listen_to(box);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < 10; i++) {
        struct contract contract = contract_in(box, i % 2 ? "a" : "b", "q:exports");
        struct job job;
        bool known;
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    }
    box_commit(&tx);
    EXPECT_INT(ear->last.ready_count, 2);
    EXPECT(!ear->last.ready_many);
    EXPECT_INT(ear->ready[0].org, ear->events[0].org);
    EXPECT_INT(ear->ready[0].queue, ear->events[0].queue);
    EXPECT_INT(ear->ready[0].type, ear->events[0].type);
    EXPECT(str_eq(ear->last_ready, S("b")));
    EXPECT(ear->ready[1].type != ear->ready[0].type);
}

TEST_EACH_DB(RUN_9_more_kinds_than_fit_are_told_as_many)
{
    struct ear *ear = listen_to(box);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < OBSERVED_READY_MAX + 2; i++) {
        struct str type = str_format(test_arena(), "type.%d", i);
        struct contract contract = contract_for(box, type.s);
        struct job job;
        bool known;
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    }
    box_commit(&tx);
    EXPECT_INT(ear->last.ready_count, OBSERVED_READY_MAX);
    EXPECT(ear->last.ready_many);
}

TEST_EACH_DB(RUN_9_a_job_whose_time_comes_and_one_that_waited_for_its_key_are_told_as_ready)
{
    struct ear *ear = listen_to(box);
    struct contract first = contract_for(box, "a"), second = contract_for(box, "b");
    first.serial_key = second.serial_key = S("k");
    must_add(box, &first);
    forget(ear);
    must_add(box, &second);
    EXPECT_INT(ear->last.ready_count, 0);  // blocked
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_INT(ear->last.ready_count, 1);  // the second moved up
    pass(box, HOURS(1));
    lease = must_start(box, "A");
    must_commit(box, &lease);
    forget(ear);
    must_sweep(box);
    EXPECT_INT(ear->last.ready_count, 1);  // the first is due again
}

TEST_EACH_DB(OPS_13_an_event_too_many_is_not_told_and_that_is)
{
    struct ear *ear = listen_to(box);
    struct job job = must_enqueue(box, "report");
    struct pawl_error err = {0};
    forget(ear);
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < OBSERVED_EVENTS_MAX + 1; i++)
        MUST(event_append(&tx, job_subject(&job), EVENT_JOB_ANNOTATED, S("{}"), &err));
    box_commit(&tx);
    EXPECT_INT(ear->last.count, OBSERVED_EVENTS_MAX);
    EXPECT(ear->last.incomplete);
    must_enqueue(box, "report");
    EXPECT_INT(ear->last.count, 2);
    EXPECT(!ear->last.incomplete);
}

// ----- through the handle

static struct pawl *shop(const char *directory, struct ear *ear)
{
    struct pawl *pawl;
    struct pawl_error err = {0};
    const char *store = str_format(test_arena(), "sqlite:%s/pawl.db", directory).s;
    MUST(pawl_open(&pawl, &(struct pawl_options){ .store = store, .virtual_time = true }, &err));
    pawl_observe(pawl, hear, ear);
    return pawl;
}

TEST_EACH_DB(OPS_13_a_commit_of_the_pipeline_is_told_with_how_many_operations_it_held)
{
    struct ear *ear = arena_new(test_arena(), struct ear, 1);
    struct pawl *pawl = shop(box->directory, ear);
    struct pawl_error err = {0};
    struct pawl_job jobs[] = { { .job_type = "a", .payload = "{}" },
                               { .job_type = "b", .payload = "{}" } };
    struct pawl_ticket tickets[2];
    MUST(pawl_enqueue_all(pawl, jobs, 2, tickets, &err));
    EXPECT_INT(ear->calls, 1);
    EXPECT_INT(ear->last.operations, 1);
    EXPECT_INT(ear->last.ready_count, 2);
    HEARD(ear, EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED, EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED);
    pawl_close(pawl);
}

// The program's own transaction commits on another connection: it is told too.
TEST_EACH_DB(OPS_13_a_job_enqueued_in_the_programs_own_transaction_is_told)
{
    struct ear *ear = arena_new(test_arena(), struct ear, 1);
    struct pawl *pawl = shop(box->directory, ear);
    struct pawl_error err = {0};
    struct pawl_job job = { .job_type = "a", .payload = "{}" };
    struct pawl_tx *loan;
    MUST(pawl_begin(pawl, &loan, &err));
    MUST(pawl_tx_enqueue(loan, &job, NULL, &err));
    EXPECT_INT(ear->calls, 0);
    MUST(pawl_commit(loan, &err));
    EXPECT_INT(ear->last.operations, 0);
    HEARD(ear, EVENT_JOB_CREATED, EVENT_JOB_ENQUEUED);
    pawl_close(pawl);
}

// ----- in doubt

static const struct db_driver *real;

static bool commit_and_lose_the_reply(struct db *db, struct pawl_error *err)
{
    expect_done(real->commit(db, err), err, PLACE("commit"));
    return fail(err, PAWL_IN_DOUBT, "the reply was lost");
}

// What was noted is gone when it turns out to have happened: whoever waits is told to look.
TEST_EACH_DB(OPS_9_a_commit_in_doubt_is_told_as_one_to_look_after)
{
    struct ear *ear = listen_to(box);
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    real = box->db->driver;
    struct db_driver losing = *real;
    losing.commit = commit_and_lose_the_reply;
    box->db->driver = &losing;
    EXPECT_REFUSED(PAWL_IN_DOUBT, tx_commit(&tx, &err));
    EXPECT_INT(ear->calls, 1);
    EXPECT(ear->last.incomplete && ear->last.ready_many);
    EXPECT_INT(ear->last.commit_us, -1);
    EXPECT_INT(ear->count, 0);
    tx_end(&tx);
    box->db->driver = real;
    box_reopen(box);
}

// What was done is not refused because the words for it cannot be read.
SQLITE_ONLY(OPS_13_a_name_that_cannot_be_read_is_told_as_none,
            "a statement that fails and spoils no other")
TEST_EACH_DB(OPS_13_a_name_that_cannot_be_read_is_told_as_none)
{
    NEEDS_EVERY_ANSWER("it has its own commits");
    struct ear *ear = listen_to(box);
    struct contract contract = contract_for(box, "report");
    struct pawl_error err = {0};
    struct job job;
    bool known, named = false;
    for (int n = 1; !named; n++) {
        SCOPED(tx) struct tx tx = {0};
        forget(ear);
        box_begin(box, &tx);
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
        MUST(tx_wrap_up(&tx, &err));
        db_forget(box->db);
        store_faults_begin(box->db, NULL);
        store_faults = (struct fault_counter){ .fail_at = n };
        bool done = tx_commit(&tx, &err);
        named = ear->count > 0 && ear->events[0].queue_name.n && ear->events[0].org_id.n
             && ear->events[0].job_type.n;
        EXPECT(!done || named || store_faults.failed);
        store_faults = (struct fault_counter){0};
        store_faults_end(box->db);
    }
    EXPECT(box_number(box, "SELECT count(*) FROM jobs") > 1);
}
