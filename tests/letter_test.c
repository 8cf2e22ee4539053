// Dead letters: who sees them, what is made of them, and that each is closed once.
#include "fixture.h"

#include <string.h>

#include "engine/letter.h"
#include "engine/queue.h"

static const struct str other_org = { "11111111-0000-7000-8000-000000000000", 36 };

static struct lease start_type(struct box *box, const char *job_type, const char *queue)
{
    const struct str queues[] = { str_of(queue) }, type = str_of(job_type);
    struct claim claim = {
        .worker = worker_named("A"), .queues = queues, .queue_count = 1,
        .job_types = &type, .job_type_count = 1, .limit = 1, .start = true,
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 1);
    return lease_of(&claimed[0].execution, &claim.worker);
}

// A job of this contract that failed for good with this message.
static struct job dead_of(struct box *box, const struct contract *contract, const char *message)
{
    struct job job = must_add(box, contract);
    const char *type = str_cstr(test_arena(), contract->job_type);
    const char *queue = str_cstr(test_arena(), contract->queue);
    struct lease lease = start_type(box, type, queue);
    struct work_error error = { .class = ERROR_VALIDATION, .message = str_of(message) };
    struct execution execution;
    OK(execution_fail(tx, &lease, &error, &execution, err));
    return must_load(box, job.id);
}

static struct job dead(struct box *box, const char *job_type, const char *message)
{
    struct contract contract = contract_for(box, job_type);
    return dead_of(box, &contract, message);
}

static struct letter_list find(struct box *box, struct letter_filter filter)
{
    struct letter_list list = {0};
    OK(letters_find(tx, &filter, &list, err));
    return list;
}

static struct letter_record record_of(struct box *box, struct id id)
{
    struct letter_record record;
    OK(letter_load(tx, id, &record, err));
    return record;
}

// ----- looking

TEST_EACH_DB(OPS_8_open_letters_are_listed_newest_first_by_type_error_and_queue)
{
    struct contract other = contract_for(box, "mail");
    other.queue = S("q:exports");
    struct job a = dead(box, "report", "order 41 failed");
    struct job b = dead(box, "report", "order 7 failed");
    struct job c = dead(box, "report", "disk full"), d = dead_of(box, &other, "order 1 failed");
    must_enqueue(box, "report");
    struct letter_list all = find(box, (struct letter_filter){0});
    EXPECT_INT(all.count, 4);
    EXPECT(id_eq(all.letters[0].job.id, d.id) && id_eq(all.letters[3].job.id, a.id));
    EXPECT_INT(all.next, 0);
    EXPECT_INT(find(box, (struct letter_filter){ .job_type = S("report") }).count, 3);
    EXPECT_INT(find(box, (struct letter_filter){ .queue = S("q:exports") }).count, 1);
    EXPECT_INT(find(box, (struct letter_filter){ .queue = S("q:none") }).count, 0);
    struct letter_list same = find(box, (struct letter_filter){
                                            .fingerprint = all.letters[3].fingerprint });
    EXPECT_INT(same.count, 2);
    EXPECT(id_eq(same.letters[0].id, b.id) && id_eq(same.letters[1].id, a.id));
    EXPECT_STR(same.letters[0].pattern, "order <n> failed");
    EXPECT_STR(same.letters[0].kind, "validation");
    OK(letter_discard(tx, c.id, S("known"), &c, err));
    EXPECT_INT(find(box, (struct letter_filter){0}).count, 3);
}

static struct str origin_queue(const struct job *job)
{
    SCOPED(json) json_t *object = job_json(test_arena(), job);
    const char *queue = json_string_value(json_object_get(object, "origin_queue"));
    return str_dup(test_arena(), str_of(queue));
}

// One ended while it waited, one failed: both had been moved.
TEST_EACH_DB(OPS_8_the_letter_of_a_moved_job_keeps_the_queue_that_it_was_in_when_it_ended)
{
    struct job purged = must_enqueue(box, "report"), failed = must_enqueue(box, "mail");
    struct job_change change = { .has_queue = true, .queue = S("q:exports") };
    struct purge purge = { .queue = S("q:exports") };
    struct work_error error = { .class = ERROR_VALIDATION, .message = S("no") };
    struct execution execution;
    OK(job_change(tx, failed.id, &change, &failed, err));
    EXPECT_STR(origin_queue(&failed), "q:default");
    struct lease lease = start_type(box, "mail", "q:exports");
    OK(execution_fail(tx, &lease, &error, &execution, err));
    OK(job_change(tx, purged.id, &change, &purged, err));
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 100, err));
    purged = must_load(box, purged.id);
    failed = must_load(box, failed.id);
    EXPECT_STR(purged.queue, "q:deadletter");
    EXPECT_STR(origin_queue(&purged), "q:exports");
    EXPECT_STR(origin_queue(&failed), "q:exports");
    EXPECT_INT(find(box, (struct letter_filter){ .queue = S("q:exports") }).count, 2);
    EXPECT_INT(find(box, (struct letter_filter){ .queue = S("q:default") }).count, 0);
}

TEST_EACH_DB(OPS_8_pages_of_letters_have_each_once)
{
    enum { LETTERS = 23 };
    for (int i = 0; i < LETTERS; i++)
        dead(box, i % 2 ? "odd" : "even", "no");
    struct letter_filter filter = { .limit = 5, .job_type = S("odd") };
    size_t seen = 0;
    int64_t last = INT64_MAX;
    do {
        struct letter_list page = find(box, filter);
        for (size_t i = 0; i < page.count; i++) {
            EXPECT(page.letters[i].id.high < last);
            EXPECT_STR(page.letters[i].job.contract.job_type, "odd");
            last = page.letters[i].id.high;
        }
        seen += page.count;
        filter.before = page.next;
    } while (filter.before);
    EXPECT_INT(seen, LETTERS / 2);
}

TEST_EACH_DB(OPS_8_letters_are_grouped_by_what_went_wrong_the_largest_group_first)
{
    for (int i = 0; i < 5; i++)
        dead(box, "report",
             str_cstr(test_arena(), str_format(test_arena(), "order %d failed", i)));
    struct job newest = dead(box, "report", "order 99 failed");
    dead(box, "report", "disk full");
    struct letter_groups groups;
    OK(letters_group(tx, &(struct letter_filter){0}, &groups, err));
    EXPECT_INT(groups.count, 2);
    EXPECT_INT(groups.letters, 7);
    EXPECT(!groups.more);
    EXPECT_INT(groups.groups[0].count, 6);
    EXPECT_STR(groups.groups[0].pattern, "order <n> failed");
    EXPECT(id_eq(groups.groups[0].newest, newest.id));
    EXPECT(groups.groups[0].oldest_at <= groups.groups[0].newest_at);
    EXPECT_INT(groups.groups[1].count, 1);
}

// The jobs are met newest first, their ends are not.
TEST_EACH_DB(OPS_8_the_newest_of_a_group_is_the_one_that_died_last)
{
    struct work_error error = { .class = ERROR_VALIDATION, .message = S("disk full") };
    struct contract contract = contract_for(box, "report");
    const char *queue = str_cstr(test_arena(), contract.queue);
    struct execution execution;
    struct letter_groups groups;
    struct job first = must_add(box, &contract);
    struct lease lease = start_type(box, "report", queue);
    dead(box, "report", "disk full");
    pass(box, SECONDS(1));
    OK(execution_fail(tx, &lease, &error, &execution, err));
    OK(letters_group(tx, &(struct letter_filter){0}, &groups, err));
    EXPECT_INT(groups.count, 1);
    EXPECT_INT(groups.groups[0].count, 2);
    EXPECT(id_eq(groups.groups[0].newest, first.id));
    EXPECT_INT(groups.groups[0].newest_at - groups.groups[0].oldest_at, SECONDS(1));
}

TEST_EACH_DB(OPS_8_groups_are_in_the_order_of_their_numbers_however_they_are_met)
{
    static const char *const errors[] = { "a", "b", "b", "b", "c", "c" };
    struct letter_groups groups;
    for (size_t i = 0; i < countof(errors); i++)
        dead(box, "report", errors[i]);
    OK(letters_group(tx, &(struct letter_filter){0}, &groups, err));
    EXPECT_INT(groups.count, 3);
    for (size_t i = 0; i < groups.count; i++)
        EXPECT_INT(groups.groups[i].count, 3 - (int64_t)i);
}

TEST_EACH_DB(OPS_8_a_letter_without_an_error_is_grouped_by_its_failure)
{
    struct contract contract = contract_for(box, "slow");
    contract.max_wait_us = SECONDS(5);
    struct job job = must_add(box, &contract);
    pass(box, SECONDS(10));
    must_sweep(box);
    struct letter_record record = record_of(box, job.id);
    EXPECT(record.letter.kind.n > 0 && record.letter.fingerprint.n > 0);
    EXPECT_STR(record.letter.job.dead_letter, "open");
    EXPECT_INT(record.execution_count, 0);
}

TEST_EACH_DB(OPS_8_one_letter_has_every_attempt_with_its_error_made_clean)
{
    struct job job = must_enqueue(box, "report");
    struct execution e;
    for (int i = 0; i < 2; i++) {
        struct lease lease = must_start(box, "A");
        struct work_error error = {
            .class = i ? ERROR_VALIDATION : ERROR_TRANSIENT,
            .message = S("login with password=hunter2 failed"),
        };
        OK(execution_fail(tx, &lease, &error, &e, err));
        pass(box, HOURS(1));
        must_sweep(box);
    }
    struct letter_record record = record_of(box, job.id);
    EXPECT_INT(record.execution_count, 2);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_INT(record.executions[i].attempt, (int64_t)i + 1);
        EXPECT_STR(record.executions[i].error_message, "login with password=*** failed");
    }
    EXPECT(!record.closed);
    EXPECT_INT(record.successor.id.high, 0);
}

TEST_EACH_DB(OPS_8_what_is_no_letter_is_not_found)
{
    struct job waiting = must_enqueue(box, "report"), job;
    struct letter_record record;
    REFUSED(PAWL_NOT_FOUND, letter_load(tx, waiting.id, &record, err));
    REFUSED(PAWL_NOT_FOUND, letter_replay(tx, waiting.id, &job, err));
    REFUSED(PAWL_NOT_FOUND, letter_discard(tx, waiting.id, S("r"), &job, err));
    OK(job_cancel(tx, waiting.id, &job, err));
    REFUSED(PAWL_NOT_FOUND, letter_replay(tx, waiting.id, &job, err));
}

TEST_EACH_DB(OPS_18_letters_of_another_org_or_project_do_not_exist)
{
    static const struct str mine[] = { { "00000000-0000-7000-8000-0000000000a1", 36 } };
    struct contract contract = contract_for(box, "report");
    contract.project_id = S("00000000-0000-7000-8000-0000000000a2");
    struct job job = dead_of(box, &contract, "no"), made;
    struct letter_sweep sweep = { .filter.job_type = S("report") };
    struct letter_groups groups;
    for (int guise = 0; guise < 2; guise++) {
        struct caller before = box->caller;
        if (guise == 0)
            box->caller.org_id = other_org;
        box->caller.projects = mine;
        box->caller.project_count = (size_t)guise;
        REFUSED(PAWL_NOT_FOUND, letter_replay(tx, job.id, &made, err));
        REFUSED(PAWL_NOT_FOUND, letter_discard(tx, job.id, S("r"), &made, err));
        EXPECT_INT(find(box, (struct letter_filter){0}).count, 0);
        OK(letters_group(tx, &(struct letter_filter){0}, &groups, err));
        EXPECT_INT(groups.letters, 0);
        OK(letters_close(tx, &sweep, err));
        EXPECT_INT(sweep.count, 0);
        box->caller = before;
    }
    EXPECT_STR(must_load(box, job.id).dead_letter, "open");
}

// ----- closing

TEST_EACH_DB(OPS_8_a_replay_is_a_new_job_and_closes_the_letter_once)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order-1");
    contract.payload = S("{\"n\":1}");
    struct job old = dead_of(box, &contract, "no"), made;
    OK(letter_replay(tx, old.id, &made, err));
    EXPECT_STR(made.contract.idempotency_key, "order-1#1");
    EXPECT_STR(made.contract.origin, "replay");
    EXPECT_STR(made.contract.payload, "{\"n\":1}");
    EXPECT(id_eq(made.contract.parent, old.id));
    EXPECT_STR(made.queue, "q:default");
    EXPECT_INT(made.state, JOB_QUEUED);
    struct letter_record record = record_of(box, old.id);
    EXPECT_STR(record.letter.job.dead_letter, "replayed");
    EXPECT_INT(record.letter.job.state, JOB_FAILED);
    EXPECT(id_eq(record.successor.id, made.id));
    EXPECT(record.closed && record.closing.at > 0);
    struct job again;
    REFUSED(PAWL_CLOSED, letter_replay(tx, old.id, &again, err));
    REFUSED(PAWL_CLOSED, letter_discard(tx, old.id, S("r"), &again, err));
    EXPECT_INT(events(box, old.id, EVENT_JOB_LETTER_CLOSED), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
}

TEST_EACH_DB(OPS_8_a_replay_that_was_not_committed_never_happened)
{
    struct job old = dead(box, "report", "no"), made;
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    MUST(letter_replay(&tx, old.id, &made, &err));
    tx_end(&tx);
    box_reopen(box);
    EXPECT_STR(must_load(box, old.id).dead_letter, "open");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
}

TEST_EACH_DB(OPS_8_a_discard_has_a_reason_that_is_kept)
{
    struct job old = dead(box, "report", "no"), job;
    char long_text[LETTER_REASON_BYTES_MAX + 1];
    memset(long_text, 'x', sizeof long_text);
    REFUSED(PAWL_INVALID, letter_discard(tx, old.id, S(""), &job, err));
    REFUSED(PAWL_INVALID, letter_discard(tx, old.id, ((struct str){ long_text, sizeof long_text }),
                                         &job, err));
    REFUSED(PAWL_INVALID, letter_discard(tx, old.id, S("\xff"), &job, err));
    OK(letter_discard(tx, old.id, S("the \"customer\" left"), &job, err));
    EXPECT_STR(job.dead_letter, "discarded");
    struct letter_record record = record_of(box, old.id);
    EXPECT_STR(record.closing.detail,
               "{\"as\":\"discarded\",\"reason\":\"the \\\"customer\\\" left\"}");
    EXPECT(str_eq(record.closing.actor_id, box->caller.actor_id));
    EXPECT_INT(record.successor.id.high, 0);
    // A later retry is another job, but did not close it.
    OK(job_retry(tx, old.id, &job, err));
    EXPECT_INT(record_of(box, old.id).successor.id.high, 0);
    EXPECT_STR(must_load(box, old.id).dead_letter, "discarded");
}

static bool fix_with(struct tx *tx, struct id id, const char *payload, struct problems *problems,
                     struct job *job, struct pawl_error *err)
{
    SCOPED(json) json_t *value = json_of(str_of(payload));
    struct contract_rules rules = {
        .caller = tx->caller,
        .now = tx->now,
        .policy = policy_builtin_or_default,
    };
    struct letter_fix fix = { .payload = value, .rules = &rules, .problems = problems };
    *problems = (struct problems){ .arena = test_arena() };
    return letter_fix(tx, id, &fix, job, err);
}

TEST_EACH_DB(OPS_8_a_fix_is_a_new_job_with_another_payload_and_the_original_is_kept)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("order-1");
    contract.payload = S("{\"n\":1}");
    struct job old = dead_of(box, &contract, "no"), made;
    static struct problems problems;
    OK(fix_with(tx, old.id, "{\"n\":2}", &problems, &made, err));
    EXPECT_STR(made.contract.payload, "{\"n\":2}");
    EXPECT_STR(made.contract.origin, "fix");
    EXPECT_STR(made.contract.idempotency_key, "order-1#1");
    EXPECT(id_eq(made.contract.parent, old.id));
    struct letter_record record = record_of(box, old.id);
    EXPECT_STR(record.letter.job.contract.payload, "{\"n\":1}");
    EXPECT_STR(record.letter.job.dead_letter, "fixed");
    EXPECT_STR(record.successor.contract.payload, "{\"n\":2}");
    REFUSED(PAWL_CLOSED, fix_with(tx, old.id, "{\"n\":3}", &problems, &made, err));
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    EXPECT_INT(must_load(box, made.id).state, JOB_SUCCEEDED);
}

TEST_EACH_DB(OPS_8_a_fix_that_breaks_the_contract_is_refused_with_every_problem)
{
    struct job old = dead(box, "report", "no"), made;
    static struct problems problems;
    REFUSED(PAWL_INVALID, fix_with(tx, old.id, "[]", &problems, &made, err));
    REFUSED(PAWL_INVALID, fix_with(tx, old.id, "{\"password\":\"hunter2hunter2\",\"a\":"
                                               "{\"api_key\":\"0123456789abcdef\"}}",
                                   &problems, &made, err));
    EXPECT_INT(problems.count, 2);
    EXPECT_STR(must_load(box, old.id).dead_letter, "open");
}

TEST_EACH_DB(OPS_8_many_letters_are_closed_by_a_filter_so_many_at_a_time)
{
    for (int i = 0; i < 7; i++)
        dead(box, "report", "order failed");
    dead(box, "mail", "order failed");
    struct letter_sweep sweep = { .filter = { .job_type = S("report"), .limit = 5 },
                                  .dry_run = true };
    OK(letters_close(tx, &sweep, err));
    EXPECT_INT(sweep.count, 5);
    EXPECT(sweep.more);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 8);
    sweep.dry_run = false;
    OK(letters_close(tx, &sweep, err));
    EXPECT_INT(sweep.count, 5);
    EXPECT_STR(must_load(box, sweep.ids[0]).contract.origin, "replay");
    sweep = (struct letter_sweep){ .filter.job_type = S("report"), .discard = true };
    REFUSED(PAWL_INVALID, letters_close(tx, &sweep, err));
    sweep.reason = S("not needed");
    OK(letters_close(tx, &sweep, err));
    EXPECT_INT(sweep.count, 2);
    EXPECT(!sweep.more);
    EXPECT_INT(find(box, (struct letter_filter){0}).count, 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 13);
}

TEST_EACH_DB(OPS_8_the_store_itself_keeps_a_closed_letter_closed)
{
    struct job old = dead(box, "report", "no"), made;
    OK(letter_replay(tx, old.id, &made, err));
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    EXPECT(!tx_execute(&tx, "UPDATE outcomes SET dead_letter = 'open'", &err));
    EXPECT(strstr(err.message, "a closed dead letter never changes"));
    tx_end(&tx);
}
