// A worker that still has what its claim answered need not look before it commits: the fence in the
// statement decides, and when it does not hold the answer is that of somebody who looked.
#include "fixture.h"

static const struct str other_org = { "00000000-0000-7000-8000-00000000000b", 36 };

// A run that was started, with what its worker knows of it.
struct run {
    struct lease lease;
    struct execution known;
};

static struct run must_run(struct box *box, const char *worker)
{
    struct run run = { .lease = must_start(box, worker) };
    run.known = must_execution(box, run.lease.execution);
    return run;
}

static struct commit commit_of(const struct run *run, struct str result)
{
    return (struct commit){ .result = result, .done = true, .known = &run->known };
}

TEST_EACH_DB(EXEC_6_a_known_run_is_committed_like_any_other)
{
    struct job job = must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("{\"pages\":12}"));
    struct execution e;
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    EXPECT_INT(e.status, EXECUTION_DONE);
    EXPECT_INT(must_execution(box, run.lease.execution).status, EXECUTION_DONE);
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
    EXPECT_STR(must_load(box, job.id).result, "{\"pages\":12}");
    EXPECT_INT(events(box, job.id, EVENT_JOB_SUCCEEDED), 1);
}

TEST_EACH_DB(EXEC_3_a_stalled_worker_that_knows_its_run_is_refused)
{
    struct job job = must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("1"));
    struct execution e;
    pass(box, HOURS(1));
    REFUSED(PAWL_FENCED, execution_commit(tx, &run.lease, &commit, &e, err));
    must_sweep(box);
    pass(box, HOURS(1));
    must_sweep(box);
    struct lease next = must_start(box, "B");
    REFUSED(PAWL_FENCED, execution_commit(tx, &run.lease, &commit, &e, err));
    must_commit(box, &next);
    REFUSED(PAWL_FENCED, execution_commit(tx, &run.lease, &commit, &e, err));
    EXPECT_INT(must_load(box, job.id).attempt, 2);
}

TEST_EACH_DB(EXEC_3_what_one_worker_knows_helps_no_other)
{
    must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct lease stolen = run.lease;
    struct commit commit = commit_of(&run, S("1"));
    struct execution e;
    stolen.worker = worker_named("B");
    REFUSED(PAWL_FENCED, execution_commit(tx, &stolen, &commit, &e, err));
    stolen = run.lease;
    stolen.attempt = 2;
    run.known.attempt = 2;
    REFUSED(PAWL_FENCED, execution_commit(tx, &stolen, &commit, &e, err));
}

TEST_EACH_DB(EXEC_6_repeating_a_known_commit_answers_the_same)
{
    struct job job = must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("1"));
    struct execution e;
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    EXPECT_INT(events(box, job.id, EVENT_JOB_SUCCEEDED), 1);
    commit.result = S("2");
    REFUSED(PAWL_ALREADY_COMMITTED, execution_commit(tx, &run.lease, &commit, &e, err));
}

TEST_EACH_DB(EXEC_6_a_known_run_with_a_bad_result_is_refused_as_one_that_is_looked_at)
{
    must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("{"));
    struct execution e;
    REFUSED(PAWL_INVALID, execution_commit(tx, &run.lease, &commit, &e, err));
    pass(box, HOURS(1));
    REFUSED(PAWL_FENCED, execution_commit(tx, &run.lease, &commit, &e, err));
}

TEST_EACH_DB(OPS_16_a_known_commit_that_comes_before_the_answer_to_a_cancellation_wins)
{
    struct job job = must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("1"));
    struct execution e;
    struct job cancelled;
    OK(job_cancel(tx, job.id, &cancelled, err));
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    EXPECT_INT(must_load(box, job.id).state, JOB_SUCCEEDED);
    EXPECT(must_execution(box, run.lease.execution).cancel_requested_at > 0);
}

TEST_EACH_DB(RUN_2_a_known_commit_gives_its_serial_key_to_the_next)
{
    struct contract contract = contract_for(box, "report");
    contract.serial_key = S("doc-1");
    must_add(box, &contract);
    struct job next = must_add(box, &contract);
    struct run run = must_run(box, "A");
    EXPECT_INT(must_load(box, next.id).phase, PHASE_BLOCKED);
    struct commit commit = commit_of(&run, S(""));
    struct execution e;
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    EXPECT_INT(must_load(box, next.id).phase, PHASE_READY);
}

TEST_EACH_DB(OPS_10_what_is_known_does_not_open_another_tenants_run)
{
    must_enqueue(box, "report");
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("1"));
    struct execution e;
    struct caller own = box->caller;
    box->caller.org_id = other_org;
    REFUSED(PAWL_NOT_FOUND, execution_commit(tx, &run.lease, &commit, &e, err));
    box->caller = own;
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
}

TEST_EACH_DB(EXEC_3_what_is_known_of_one_run_commits_no_other)
{
    must_enqueue(box, "report");
    must_enqueue(box, "report");
    struct run run = must_run(box, "A"), other = must_run(box, "A");
    struct commit commit = commit_of(&other, S("1"));
    struct execution e;
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    EXPECT(id_eq(e.id, run.lease.execution));
    EXPECT_INT(must_execution(box, other.lease.execution).status, EXECUTION_IN_PROGRESS);
    other.lease.attempt = 2;
    REFUSED(PAWL_FENCED, execution_commit(tx, &other.lease, &commit, &e, err));
}

TEST_EACH_DB(OPS_18_what_is_known_does_not_open_a_run_of_another_project)
{
    struct contract contract = contract_for(box, "report");
    struct str projects[] = { S("00000000-0000-7000-8000-0000000000a1"),
                              S("00000000-0000-7000-8000-0000000000a2") };
    contract.project_id = projects[0];
    must_add(box, &contract);
    struct run run = must_run(box, "A");
    struct commit commit = commit_of(&run, S("1"));
    struct execution e;
    box->caller.projects = &projects[1];
    box->caller.project_count = 1;
    REFUSED(PAWL_NOT_FOUND, execution_commit(tx, &run.lease, &commit, &e, err));
    box->caller.projects = projects;
    OK(execution_commit(tx, &run.lease, &commit, &e, err));
    box->caller.project_count = 0;
}
