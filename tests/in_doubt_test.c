// The reply to a COMMIT is lost: `enqueue` and `import` open the store again and tell the truth.
#include "fixture.h"

#include "engine/job.h"
#include "engine/log.h"
#include "store/driver.h"

// The way from a job object to the store, without the program around it.
#include "cli/batch.c"    // NOLINT(bugprone-suspicious-include)
#include "cli/request.c"  // NOLINT(bugprone-suspicious-include)
#include "cli/session.c"  // NOLINT(bugprone-suspicious-include)

static const struct db_driver *real;

// The disk has it, the answer does not arrive.
static bool commit_and_lose_the_reply(struct db *db, struct pawl_error *err)
{
    expect_done(real->commit(db, err), err, PLACE("commit"));
    return fail(err, PAWL_IN_DOUBT, "the reply was lost");
}

static bool lose_the_commit(struct db *db, struct pawl_error *err)
{
    real->rollback(db);
    return fail(err, PAWL_IN_DOUBT, "the reply was lost");
}

// A session on the box's store whose next commit goes wrong in this way.
static struct cli session_with(struct box *box, bool (*commit)(struct db *, struct pawl_error *))
{
    static struct db_driver broken;
    struct pawl_error err = {0};
    struct cli cli = { .world = &box->world.world, .caller = box->caller };
    cli.given[OPTION_STORE] = true;
    cli.value[OPTION_STORE] = box->url;
    MUST(session_open(&cli, STORE_CREATE, &err));
    real = cli.db->driver;
    broken = *real;
    broken.commit = commit;
    cli.db->driver = &broken;
    return cli;
}

static json_t *job_object(const char *key)
{
    return json_pack("{s:s, s:{}, s:s}", "job_type", "a", "payload", "idempotency_key", key);
}

static struct batch batch_of(struct entry *entries, size_t count)
{
    return (struct batch){
        .arena = test_arena(),
        .entries = entries,
        .count = count,
        .wants_jobs = true,
    };
}

static void expect_stored_once(struct box *box, struct cli *cli)
{
    struct entry entries[] = { { .object = job_object("a") }, { .object = job_object("b") } };
    struct batch batch = batch_of(entries, countof(entries));
    struct pawl_error err = {0};
    MUST(batch_store(cli, &batch, &err));
    for (size_t i = 0; i < countof(entries); i++) {
        struct id id;
        EXPECT(entry_open(&entries[i]));
        EXPECT(!entries[i].known);
        EXPECT(id_parse(str_of(json_string_value(json_object_get(entries[i].job, "job_id"))), &id));
        EXPECT_INT(must_load(box, id).state, JOB_QUEUED);
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
    batch_end(&batch);
    session_close(cli);
}

TEST_EACH_DB(OPS_4_a_commit_whose_reply_was_lost_is_found_and_not_called_known)
{
    struct cli cli = session_with(box, commit_and_lose_the_reply);
    expect_stored_once(box, &cli);
}

TEST_EACH_DB(OPS_4_a_commit_that_was_lost_is_made_again)
{
    struct cli cli = session_with(box, lose_the_commit);
    expect_stored_once(box, &cli);
}

TEST_EACH_DB(OPS_4_a_job_from_before_is_still_called_known)
{
    struct contract contract = contract_for(box, "a");
    contract.idempotency_key = S("a");
    contract.request_id = S("an-earlier-request");
    must_add(box, &contract);
    struct entry entry = { .object = job_object("a") };
    struct batch batch = batch_of(&entry, 1);
    struct pawl_error err = {0};
    struct cli cli = session_with(box, lose_the_commit);
    MUST(batch_store(&cli, &batch, &err));
    EXPECT(entry.known);
    batch_end(&batch);
    session_close(&cli);
}

SQLITE_ONLY(OPS_4_what_cannot_be_found_out_is_said_to_be_in_doubt, "a file that is not there")
TEST_EACH_DB(OPS_4_what_cannot_be_found_out_is_said_to_be_in_doubt)
{
    struct entry entry = { .object = job_object("a") };
    struct batch batch = batch_of(&entry, 1);
    struct pawl_error err = {0};
    struct cli cli = session_with(box, commit_and_lose_the_reply);
    cli.value[OPTION_STORE] = str_format(test_arena(), "%.*s-gone", STR(box->url));
    EXPECT_REFUSED(PAWL_IN_DOUBT, batch_store(&cli, &batch, &err));
    EXPECT(!entry.job);
    batch_end(&batch);
    session_close(&cli);
}

static void append_in_vain(struct box *box, struct id execution, struct log_line *line)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    MUST(log_append(&tx, execution, line, 1, &err));
    tx_end(&tx);
}

// They leave no event by which a commit in doubt could be looked up, so they are stored again.
TEST_EACH_DB(OPS_12_lines_that_are_stored_again_after_a_lost_answer_are_there_once)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "w");
    struct log_line lost = { .text = S("first"), .at = 1 }, next = { .text = S("next"), .at = 1 };
    append_in_vain(box, lease.execution, &lost);
    OK(log_append(tx, lease.execution, &lost, 1, err));  // it had not happened
    OK(log_append(tx, lease.execution, &lost, 1, err));  // it had
    OK(log_append(tx, lease.execution, &next, 1, err));
    OK(log_append(tx, lease.execution, &lost, 1, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM execution_logs"), 2);
}
