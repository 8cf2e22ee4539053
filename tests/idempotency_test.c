// What the record of an idempotency key tells, and that a repeat gets its job whatever happened to
// the first request.
#include "fixture.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY S("order-41")

static struct contract keyed(struct box *box)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = KEY;
    return contract;
}

static struct str told(struct box *box, const char *column)
{
    struct str sql = str_format(test_arena(), "SELECT %s FROM pawl_idempotency_keys", column);
    return box_text(box, sql.s);
}

TEST_EACH_DB(OPS_5_a_record_tells_status_times_and_where_the_result_is)
{
    struct contract contract = keyed(box);
    struct job job = must_add(box, &contract);
    struct str id = id_text(test_arena(), job.id);
    EXPECT_STR(told(box, "status"), "pending");
    EXPECT_STR(told(box, "last_seen_at - first_seen_at"), "0");
    pass(box, SECONDS(5));
    bool deduplicated = false;
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));
    EXPECT_STR(told(box, "last_seen_at - first_seen_at"), "5000000");
    struct lease lease = must_start(box, "A");
    EXPECT_STR(told(box, "status"), "running");
    must_fail(box, &lease, ERROR_TRANSIENT);
    EXPECT_STR(told(box, "status"), "pending");
    EXPECT_STR(told(box, "coalesce(error_ref, 'none')"), "none");
    pass(box, HOURS(1));
    must_sweep(box);
    struct execution e;
    lease = must_start(box, "A");
    struct commit commit = { .result = S("{\"rows\":3}"), .done = true };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_STR(told(box, "status"), "succeeded");
    EXPECT(str_eq(told(box, "result_ref"), id));
    EXPECT(str_eq(told(box, "job_id"), id));
}

TEST_EACH_DB(OPS_5_a_record_of_what_failed_names_the_execution_and_dead_letters)
{
    struct contract contract = keyed(box);
    must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    EXPECT_STR(told(box, "status"), "dead");
    EXPECT(str_eq(told(box, "error_ref"), id_text(test_arena(), lease.execution)));
    EXPECT_STR(told(box, "coalesce(result_ref, 'none')"), "none");
}

TEST_EACH_DB(OPS_5_a_record_of_what_ended_without_running_names_the_job)
{
    struct contract contract = keyed(box);
    struct job job = must_add(box, &contract);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_STR(told(box, "status"), "failed");
    EXPECT(str_eq(told(box, "error_ref"), id_text(test_arena(), job.id)));
}

// ----- keys of jobs that are made again

static struct str key_after(struct box *box, const struct job *job, const char *key)
{
    struct job old = *job, made;
    old.contract.idempotency_key = str_of(key);
    old.contract.origin = S("fix");
    OK(job_remake(tx, &old, &(struct remake){ .origin = S("retry") }, &made, err));
    return made.contract.idempotency_key;
}

// Only a number that Pawl has put there is counted on from.
TEST_EACH_DB(OPS_4_a_key_that_ends_in_no_number_of_pawls_is_a_stem)
{
    struct contract contract = keyed(box);
    struct job job = must_add(box, &contract);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_STR(key_after(box, &job, "a#3"), "a#4");
    EXPECT_STR(key_after(box, &job, "b#x"), "b#x#1");
    EXPECT_STR(key_after(box, &job, "c#0"), "c#0#1");
    EXPECT_STR(key_after(box, &job, "d#99999999999"), "d#99999999999#1");
    EXPECT_STR(key_after(box, &job, "e"), "e#1");
}

// Each of them in vain: a caller has taken all numbers that a retry may have.
TEST_EACH_DB(OPS_4_a_key_can_be_retried_so_often_and_no_more)
{
    enum { RETRIES_MAX = 10000 };
    struct contract contract = keyed(box);
    struct job job = must_add(box, &contract), other;
    bool deduplicated = false;
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 1; i <= RETRIES_MAX; i++) {
        contract.idempotency_key =
            str_format(test_arena(), "%.*s#%d", STR(job.contract.idempotency_key), i);
        MUST(job_enqueue(&tx, &contract, &other, &deduplicated, &err));
    }
    EXPECT_REFUSED(PAWL_CONFLICT, job_retry(&tx, job.id, &other, &err));
    EXPECT(strstr(err.message, "has been retried 10000 times") != NULL);
}

TEST_EACH_DB(OPS_5_a_key_may_live_for_ever)
{
    struct contract contract = keyed(box);
    contract.policy.key_ttl_us = INT64_MAX;
    struct job job = must_add(box, &contract), again;
    bool deduplicated = false;
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    pass(box, DAYS(4000));
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(deduplicated && id_eq(again.id, job.id));
}

// A record may outlive its job by a moment: then nobody has the key.
TEST_EACH_DB(OPS_5_a_key_whose_job_is_gone_is_free)
{
    struct contract contract = keyed(box);
    struct job job = must_add(box, &contract), again;
    bool deduplicated = true;
    box->damaged = true;
    box_sql(box, "UPDATE idempotency_keys SET job = job + 1000000");
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(!deduplicated && !id_eq(again.id, job.id));
}

TEST_EACH_DB(OPS_5_a_record_that_names_a_job_of_another_project_is_nobodys)
{
    struct contract contract = keyed(box), other = contract;
    other.project_id = S("00000000-0000-7000-8000-0000000000a1");
    struct job job = must_add(box, &contract), theirs = must_add(box, &other), again;
    bool deduplicated = true;
    box->damaged = true;
    box_sql(box, str_format(test_arena(), "UPDATE idempotency_keys SET job = %lld WHERE job = %lld",
                            (long long)theirs.id.high, (long long)job.id.high)
                     .s);
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(!deduplicated);
}

// ----- a process that dies

enum moment { BEFORE_COMMIT, AFTER_COMMIT };

static void die_at(struct box *box, enum moment moment)
{
    struct contract contract = keyed(box);
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    struct db *db = box_second(box, false);
    bool enqueued = tx_begin(db, TX_WRITE, test_arena(), &tx, &err)
                 && job_enqueue(&tx, &contract, &job, &deduplicated, &err);
    if (enqueued && (moment == BEFORE_COMMIT || tx_commit(&tx, &err)))
        raise(SIGKILL);  // nobody was answered
    _exit(1);
}

// A process sends the request and is killed before it could answer; then it is sent again.
static bool repeated_after(struct box *box, enum moment moment)
{
    int status = 0;
    db_close(box->db);
    box->db = NULL;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0)
        die_at(box, moment);
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    box_reopen(box);
    struct contract contract = keyed(box);
    struct job job;
    bool deduplicated = false;
    OK(job_enqueue(tx, &contract, &job, &deduplicated, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM idempotency_keys"), 1);
    return deduplicated;
}

TEST_EACH_DB(OPS_4_a_repeat_after_a_kill_behind_the_commit_gets_the_same_job)
{
    EXPECT(repeated_after(box, AFTER_COMMIT));
}

TEST_EACH_DB(OPS_4_a_repeat_after_a_kill_before_the_commit_makes_the_job)
{
    EXPECT(!repeated_after(box, BEFORE_COMMIT));
}
