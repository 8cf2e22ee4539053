// Batches: counted, ended once, called back once. Every test ends with `verify`.
#include "fixture.h"

#include <string.h>

#include "engine/batch.h"
#include "engine/job_bulk.h"
#include "engine/queue.h"
#include "rich_store.h"

enum { JOBS = 5 };

static struct contract jobs[JOBS];
static struct contract callback;
static struct problems problems;

static struct batch_request request_of(struct box *box, size_t count)
{
    callback = contract_for(box, "callback");
    callback.payload = S("{\"mine\":1}");
    problems = (struct problems){ .arena = test_arena() };
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = contract_for(box, "member");
    return (struct batch_request){
        .org_id = box->caller.org_id,
        .name = S("b"),
        .jobs = jobs,
        .count = count,
        .callback = &callback,
        .problems = &problems,
    };
}

static struct job_batch make(struct box *box, const struct batch_request *request)
{
    struct job_batch batch;
    bool known = true;
    OK(batch_create(tx, request, &batch, &known, err));
    EXPECT(!known);
    return batch;
}

static struct job_batch batch_now(struct box *box, struct id id)
{
    struct job_batch batch;
    OK(batch_load(tx, id, &batch, err));
    return batch;
}

static void end_one(struct box *box, const char *type, bool well)
{
    struct lease lease = take(box, type, true);
    if (well)
        must_commit(box, &lease);
    else
        must_fail(box, &lease, ERROR_VALIDATION);
}

static int64_t callbacks(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM jobs WHERE type = "
                           "(SELECT id FROM job_types WHERE name = 'callback')");
}

TEST_EACH_DB(JOB_6_a_batch_ends_with_its_last_job_and_has_one_callback)
{
    struct batch_request request = request_of(box, 3);
    struct job_batch batch = make(box, &request);
    EXPECT_INT(batch.jobs, 3);
    EXPECT_INT(batch.ended_at, 0);
    end_one(box, "member", true);
    end_one(box, "member", false);
    EXPECT_INT(callbacks(box), 0);
    end_one(box, "member", true);
    batch = batch_now(box, batch.id);
    EXPECT(batch.ended_at != 0);
    EXPECT_INT(batch.succeeded, 2);
    EXPECT_INT(batch.failed, 1);
    EXPECT_INT(callbacks(box), 1);
    struct job made = must_load(box, batch.callback_job);
    struct str wanted = str_format(test_arena(),
                                   "{\"mine\":1,\"batch\":{\"batch_id\":\"%.*s\",\"name\":\"b\","
                                   "\"jobs\":3,\"succeeded\":2,\"failed\":1,\"timed_out\":0}}",
                                   STR(id_text(test_arena(), batch.id)));
    expect_str(made.contract.payload, wanted, PLACE("the payload of the callback"));
    EXPECT_INT(made.phase, PHASE_READY);
}

TEST_EACH_DB(JOB_6_jobs_are_found_by_their_batch_and_know_it)
{
    struct batch_request request = request_of(box, 2);
    struct job_batch batch = make(box, &request);
    must_enqueue(box, "another");
    struct job_list list;
    OK(job_find(tx, &(struct job_filter){ .batch = batch.id }, &list, err));
    EXPECT_INT(list.count, 2);
    EXPECT(id_eq(list.jobs[0].batch, batch.id));
    struct id guessed = { batch.id.high, batch.id.low + 1 };
    OK(job_find(tx, &(struct job_filter){ .batch = guessed }, &list, err));
    EXPECT_INT(list.count, 0);
}

TEST_EACH_DB(JOB_6_others_join_until_the_batch_has_ended)
{
    struct batch_request request = request_of(box, 1);
    struct job_batch batch = make(box, &request);
    struct contract late = contract_for(box, "late");
    late.batch = batch.id;
    must_add(box, &late);
    end_one(box, "member", true);
    EXPECT_INT(batch_now(box, batch.id).ended_at, 0);
    end_one(box, "late", true);
    EXPECT(batch_now(box, batch.id).ended_at != 0);
    struct job job;
    bool known;
    REFUSED(PAWL_CONFLICT, job_enqueue(tx, &late, &job, &known, err));
}

// The last job is not done before its follow-ups are there.
TEST_EACH_DB(JOB_6_a_follow_up_of_the_last_job_can_join_its_batch)
{
    struct batch_request request = request_of(box, 1);
    struct job_batch batch = make(box, &request);
    struct contract next = contract_for(box, "next");
    next.batch = batch.id;
    struct lease lease = take(box, "member", true);
    struct commit commit = { .follow_ups = &next, .follow_up_count = 1, .done = true };
    struct execution e;
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(batch_now(box, batch.id).jobs, 2);
    EXPECT_INT(callbacks(box), 0);
    end_one(box, "next", true);
    EXPECT_INT(callbacks(box), 1);
}

TEST_EACH_DB(JOB_6_a_batch_whose_jobs_end_at_once_ends_at_once)
{
    struct id first = must_enqueue(box, "first").id;
    end_one(box, "first", false);
    struct batch_request request = request_of(box, 2);
    jobs[0].after = jobs[1].after = &first;
    jobs[0].after_count = jobs[1].after_count = 1;
    struct job_batch batch = make(box, &request);
    EXPECT_INT(batch.failed, 2);
    EXPECT(batch.ended_at != 0);
    EXPECT_INT(callbacks(box), 1);
}

TEST_EACH_DB(JOB_6_jobs_of_a_batch_may_fail_with_one_another)
{
    struct batch_request request = request_of(box, 1);
    struct job_batch batch = make(box, &request);
    struct id first = { box_number(box, "SELECT job FROM job_links"), 0 };
    first.low = box_number(box, "SELECT id_low FROM jobs");
    struct contract next = contract_for(box, "next");
    next.batch = batch.id;
    next.after = &first;
    next.after_count = 1;
    must_add(box, &next);
    end_one(box, "member", false);
    batch = batch_now(box, batch.id);
    EXPECT_INT(batch.failed, 2);
    EXPECT_INT(callbacks(box), 1);
}

TEST_EACH_DB(OPS_4_a_known_key_gives_its_batch_and_no_second_one)
{
    struct batch_request request = request_of(box, 2);
    request.idempotency_key = S("k");
    request.content = S("c");
    struct job_batch batch = make(box, &request), same;
    bool known = false;
    OK(batch_create(tx, &request, &same, &known, err));
    EXPECT(known && id_eq(same.id, batch.id));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
    request.content = S("d");
    REFUSED(PAWL_KEY_REUSED, batch_create(tx, &request, &same, &known, err));
}

TEST_EACH_DB(JOB_7_a_batch_is_stored_as_a_whole_or_not_at_all)
{
    struct batch_request request = request_of(box, 3);
    struct contract taken = contract_for(box, "taken");
    taken.idempotency_key = jobs[2].idempotency_key = S("k");
    must_add(box, &taken);
    struct job_batch batch;
    bool known;
    REFUSED(PAWL_KEY_REUSED, batch_create(tx, &request, &batch, &known, err));
    struct id nobody = { 77, 7 };
    jobs[0].after = jobs[2].after = &nobody;
    jobs[0].after_count = jobs[2].after_count = 1;
    REFUSED(PAWL_INVALID, (problems.count = 0, batch_create(tx, &request, &batch, &known, err)));
    EXPECT_INT(problems.count, 2);
    EXPECT_STR(problems.list[1].field, "jobs[2].after[0]");
}

static void fill(struct box *box, struct str queue)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    for (int i = 0; i < 1000; i++) {
        struct contract filler = contract_for(box, "filler");
        struct job job;
        bool known;
        filler.queue = queue;
        MUST(job_enqueue(&tx, &filler, &job, &known, &err));
    }
    box_commit(&tx);
}

// The end of a job does not fail because there is no room for what comes after it.
TEST_EACH_DB(JOB_6_a_callback_that_its_queue_has_no_room_for_is_made_later)
{
    struct batch_request request = request_of(box, 1);
    callback.queue = CRITICAL_QUEUE;
    struct job_batch batch = make(box, &request);
    fill(box, CRITICAL_QUEUE);
    end_one(box, "member", true);
    EXPECT(batch_now(box, batch.id).ended_at != 0);
    EXPECT_INT(callbacks(box), 0);
    struct purge purge = { .queue = CRITICAL_QUEUE };
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 500, err));
    pass(box, SECONDS(11));
    must_sweep(box);
    EXPECT_INT(callbacks(box), 1);
    must_sweep(box);
    EXPECT_INT(callbacks(box), 1);
}

// Somebody took the key of the callback: it is made all the same.
TEST_EACH_DB(JOB_6_the_key_of_a_callback_cannot_be_taken_from_it)
{
    struct batch_request request = request_of(box, 1);
    struct job_batch batch = make(box, &request);
    struct contract thief = contract_for(box, "thief");
    thief.idempotency_key = str_format(test_arena(), "batch:%.*s:callback",
                                       STR(id_text(test_arena(), batch.id)));
    must_add(box, &thief);
    end_one(box, "member", true);
    EXPECT_INT(callbacks(box), 1);
}

// Even when it is the very same: there is no callback before its batch ends.
TEST_EACH_DB(JOB_6_a_job_that_is_like_the_callback_does_not_stand_for_it)
{
    struct batch_request request = request_of(box, 1);
    struct job_batch batch = make(box, &request);
    struct str id = id_text(test_arena(), batch.id);
    struct contract thief = callback;
    thief.idempotency_key = str_format(test_arena(), "batch:%.*s:callback", STR(id));
    thief.payload = str_format(test_arena(),
                               "{\"mine\":1,\"batch\":{\"batch_id\":\"%.*s\",\"name\":\"b\","
                               "\"jobs\":1,\"succeeded\":1,\"failed\":0,\"timed_out\":0}}",
                               STR(id));
    struct job stolen = must_add(box, &thief);
    end_one(box, "member", true);
    EXPECT_INT(callbacks(box), 2);
    struct job made = must_load(box, batch_now(box, batch.id).callback_job);
    EXPECT(!id_eq(made.id, stolen.id));
    EXPECT(str_eq(made.contract.payload, thief.payload));
}

TEST_EACH_DB(OPS_10_a_batch_of_another_org_or_project_is_not_found)
{
    struct batch_request request = request_of(box, 1);
    request.project_id = S("bbbbbbbb-0000-7000-8000-000000000000");
    struct job_batch batch = make(box, &request);
    struct contract late = contract_for(box, "late");
    struct job job;
    bool known;
    late.batch = batch.id;
    struct str org_id = box->caller.org_id, own = S("aaaaaaaa-0000-7000-8000-000000000000");
    box->caller.projects = &own;
    box->caller.project_count = 1;
    REFUSED(PAWL_NOT_FOUND, batch_load(tx, batch.id, &batch, err));
    late.project_id = own;
    REFUSED(PAWL_INVALID, job_enqueue(tx, &late, &job, &known, err));
    box->caller.project_count = 0;
    box->caller.org_id = S("11111111-0000-7000-8000-000000000000");
    late.org_id = box->caller.org_id;
    REFUSED(PAWL_NOT_FOUND, batch_load(tx, batch.id, &batch, err));
    REFUSED(PAWL_INVALID, job_enqueue(tx, &late, &job, &known, err));
    box->caller.org_id = org_id;
}

TEST_EACH_DB(OPS_18_a_limited_key_makes_batches_of_its_projects_only)
{
    struct batch_request request = request_of(box, 1);
    struct job_batch batch;
    bool known;
    const struct str own = S("aaaaaaaa-0000-7000-8000-000000000000");
    request.project_id = S("bbbbbbbb-0000-7000-8000-000000000000");
    box->caller.projects = &own;
    box->caller.project_count = 1;
    REFUSED(PAWL_INVALID, batch_create(tx, &request, &batch, &known, err));
    request.project_id = S("");
    OK(batch_create(tx, &request, &batch, &known, err));
    EXPECT(str_eq(batch.project_id, own));
}

TEST_EACH_DB(JOB_12_a_callback_leaves_room_for_the_numbers_of_its_batch)
{
    char *text = arena_new(test_arena(), char, PAYLOAD_BYTES_MAX);
    EXPECT(text != NULL);
    request_of(box, 1);
    memset(text, 'x', PAYLOAD_BYTES_MAX);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + PAYLOAD_BYTES_MAX - 2, "\"}", 2);
    callback.payload = (struct str){ text, PAYLOAD_BYTES_MAX };
    callback_check(&callback, false, "callback.", &problems);
    EXPECT_INT(problems.count, 1);
    EXPECT_STR(problems.list[0].field, "callback.payload");
}

// ----- many at once

static size_t change_all(struct box *box, struct job_bulk bulk)
{
    size_t all = 0;
    do {
        OK(jobs_change(tx, &bulk, err));
        all += bulk.count;
        bulk.filter.before = bulk.next;
    } while (bulk.next != 0);
    return all;
}

TEST_EACH_DB(OPS_16_the_jobs_of_a_filter_are_cancelled_in_pieces_and_each_tells_of_it)
{
    for (int i = 0; i < 25; i++)
        must_enqueue(box, i % 5 ? "many" : "few");
    struct job_bulk bulk = { .filter = { .job_type = S("many"), .limit = 7 }, .dry_run = true };
    EXPECT_INT(change_all(box, bulk), 20);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes"), 0);
    bulk.dry_run = false;
    EXPECT_INT(change_all(box, bulk), 20);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes"), 20);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM audit_events a JOIN audit_event_names n"
                               " ON n.event = a.event WHERE n.name = 'job.cancelled'"),
               20);
    EXPECT_INT(change_all(box, bulk), 0);
}

TEST_EACH_DB(JOB_2_what_was_retried_is_not_retried_with_others_again)
{
    for (int i = 0; i < 5; i++) {
        must_enqueue(box, "many");
        end_one(box, "many", false);
    }
    struct job_bulk bulk = {
        .filter = { .job_type = S("many"), .has_state = true, .state = JOB_FAILED, .limit = 2 },
        .retry = true,
    };
    EXPECT_INT(change_all(box, bulk), 5);
    EXPECT_INT(change_all(box, bulk), 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 5);
}

// Four pages of jobs with large payloads are looked at, while nobody else can write.
TEST_EACH_DB(OPS_16_a_change_of_many_large_jobs_comes_in_pieces)
{
    enum { COUNT = 22, BYTES = 900 << 10 };
    char *payload = arena_new(test_arena(), char, BYTES);
    EXPECT(payload != NULL);
    memset(payload, 'x', BYTES);
    memcpy(payload, "{\"a\":\"", 6);
    memcpy(payload + BYTES - 2, "\"}", 2);
    struct contract contract = contract_for(box, "large");
    contract.payload = (struct str){ payload, BYTES };
    for (int i = 0; i < COUNT; i++)
        must_add(box, &contract);
    struct job_bulk bulk = { .filter = { .job_type = S("large") }, .dry_run = true };
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(jobs_change(&tx, &bulk, &err));
    EXPECT(bulk.next != 0 && bulk.count < COUNT);
    size_t first = bulk.count;
    bulk.filter.before = bulk.next;
    MUST(jobs_change(&tx, &bulk, &err));
    EXPECT(bulk.next == 0);
    EXPECT_INT(first + bulk.count, COUNT);
}
