// Jobs that wait for others (JOB-11): when they run, when they fail, and that none is forgotten.
// Every test ends with `verify`.
#include "explained.h"

#include <string.h>

#include "damage.h"
#include "engine/links.h"
#include "engine/queue.h"
#include "rich_store.h"

#define OTHER_ORG S("11111111-0000-7000-8000-000000000000")
#define PROJECT_A S("aaaaaaaa-0000-7000-8000-000000000000")
#define PROJECT_B S("bbbbbbbb-0000-7000-8000-000000000000")

static struct contract waiter(struct box *box, const char *type, const struct id *after,
                              size_t count)
{
    struct contract contract = contract_for(box, type);
    contract.after = after;
    contract.after_count = count;
    return contract;
}

static struct job add_after(struct box *box, const char *type, struct id after)
{
    struct contract contract = waiter(box, type, &after, 1);
    return must_add(box, &contract);
}

static void succeed(struct box *box, const char *type)
{
    struct lease lease = take(box, type, true);
    must_commit(box, &lease);
}

static void break_off(struct box *box, const char *type)
{
    struct lease lease = take(box, type, true);
    must_fail(box, &lease, ERROR_VALIDATION);
}

static void expect_ended(struct box *box, struct id id, enum job_state state,
                         enum failure_type type)
{
    struct job job = must_load(box, id);
    EXPECT_INT(job.state, state);
    EXPECT_INT(job.failure_type, type);
}

static void sweep_all(struct box *box)
{
    while (must_sweep(box).more) {}
}

// ----- running

TEST_EACH_DB(JOB_11_a_job_waits_until_all_it_names_have_succeeded)
{
    struct id after[] = { must_enqueue(box, "first").id, must_enqueue(box, "second").id };
    struct contract contract = waiter(box, "last", after, 2);
    struct job last = must_add(box, &contract);
    EXPECT_INT(last.state, JOB_QUEUED);
    EXPECT_INT(last.phase, PHASE_BLOCKED);
    EXPECT_INT(must_load(box, last.id).waits_for, 2);
    succeed(box, "second");
    EXPECT_INT(must_load(box, last.id).phase, PHASE_BLOCKED);
    succeed(box, "first");
    EXPECT_INT(must_load(box, last.id).phase, PHASE_READY);
    succeed(box, "last");
    expect_ended(box, last.id, JOB_SUCCEEDED, FAILURE_NONE);
}

TEST_EACH_DB(JOB_11_the_job_object_keeps_what_was_waited_for)
{
    struct id first = must_enqueue(box, "first").id;
    struct job last = add_after(box, "last", first);
    struct str wanted = str_format(test_arena(), "[\"%.*s\"]", STR(id_text(test_arena(), first)));
    expect_str(last.after, wanted, PLACE("when it is made"));
    expect_str(must_load(box, last.id).after, wanted, PLACE("while it waits"));
    succeed(box, "first");
    expect_str(must_load(box, last.id).after, wanted, PLACE("when it may run"));
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 5, &claimed), 1);
    expect_str(claimed[0].job.after, wanted, PLACE("when it is claimed"));
}

TEST_EACH_DB(JOB_11_what_has_succeeded_before_is_not_waited_for)
{
    struct id first = must_enqueue(box, "first").id;
    succeed(box, "first");
    EXPECT_INT(add_after(box, "last", first).phase, PHASE_READY);
}

// The mark that a run began with says nothing of who came to wait since.
TEST_EACH_DB(JOB_11_somebody_may_come_to_wait_while_the_job_runs)
{
    struct id first = must_enqueue(box, "first").id;
    const struct str queue = S("q:default");
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = &queue,
        .queue_count = 1,
        .limit = 1,
        .start = true,
    };
    struct claimed *claimed = NULL;
    struct execution e;
    size_t count = 0;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    struct job last = add_after(box, "last", first);
    struct lease lease = lease_of(&claimed[0].execution, &claim.worker);
    struct commit commit = { .done = true, .known = &claimed[0].execution };
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(must_load(box, last.id).phase, PHASE_READY);
}

// The follow-up exists before its parent is done.
TEST_EACH_DB(JOB_11_a_follow_up_may_wait_for_its_own_parent)
{
    struct id first = must_enqueue(box, "first").id;
    struct lease lease = take(box, "first", true);
    struct contract next = waiter(box, "next", &first, 1);
    struct commit commit = { .follow_ups = &next, .follow_up_count = 1, .done = true };
    struct execution e;
    OK(execution_commit(tx, &lease, &commit, &e, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 1);
    succeed(box, "next");
}

TEST_EACH_DB(JOB_11_the_sweep_finishes_a_dead_workers_job_and_tells_those_that_wait)
{
    struct id first = must_enqueue(box, "first").id;
    struct job last = add_after(box, "last", first);
    struct lease lease = take(box, "first", true);
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    EXPECT_INT(must_load(box, last.id).phase, PHASE_BLOCKED);
    pass(box, MINUTES(2));
    sweep_all(box);
    EXPECT_INT(must_load(box, last.id).phase, PHASE_READY);
}

TEST_EACH_DB(JOB_11_a_time_and_a_job_are_both_waited_for)
{
    struct id first = must_enqueue(box, "first").id, second = must_enqueue(box, "second").id;
    struct contract late = waiter(box, "late", &first, 1), early = waiter(box, "early", &second, 1);
    late.scheduled_for = early.scheduled_for = box->world.wall + HOURS(1);
    struct job a = must_add(box, &late), b = must_add(box, &early);
    EXPECT_INT(a.phase, PHASE_DELAYED);
    succeed(box, "first");
    EXPECT_INT(must_load(box, a.id).phase, PHASE_DELAYED);
    pass(box, HOURS(2));
    sweep_all(box);
    EXPECT_INT(must_load(box, a.id).phase, PHASE_READY);
    EXPECT_INT(must_load(box, b.id).phase, PHASE_BLOCKED);
    succeed(box, "second");
    EXPECT_INT(must_load(box, b.id).phase, PHASE_READY);
}

TEST_EACH_DB(JOB_11_a_serial_key_is_asked_for_when_the_jobs_are_done)
{
    struct contract holder = contract_for(box, "holder");
    struct id first = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", &first, 1);
    holder.serial_key = contract.serial_key = S("k");
    struct job last = must_add(box, &contract);
    struct job other = must_add(box, &holder);
    EXPECT_INT(other.phase, PHASE_READY);
    struct lease lease = take(box, "holder", true);
    succeed(box, "first");
    EXPECT_INT(must_load(box, last.id).phase, PHASE_BLOCKED);
    EXPECT_INT(must_load(box, last.id).waits_for, 0);
    must_commit(box, &lease);
    EXPECT_INT(must_load(box, last.id).phase, PHASE_READY);
}

TEST_EACH_DB(JOB_11_a_job_that_waits_can_be_changed_and_waits_on)
{
    struct id first = must_enqueue(box, "first").id;
    struct job last = add_after(box, "last", first);
    struct job_change change = {
        .has_priority = true,
        .priority = 7,
        .has_queue = true,
        .queue = S("q:exports"),
    };
    OK_FROM(last, job_change(tx, last.id, &change, &last, err));
    EXPECT_INT(last.phase, PHASE_BLOCKED);
    succeed(box, "first");
    EXPECT_INT(must_load(box, last.id).phase, PHASE_READY);
    succeed(box, "last");
}

// ----- failing

TEST_EACH_DB(JOB_11_a_job_fails_when_one_it_waits_for_does_and_so_do_those_behind_it)
{
    struct id first = must_enqueue(box, "first").id;
    struct job second = add_after(box, "second", first);
    struct job third = add_after(box, "third", second.id);
    break_off(box, "first");
    expect_ended(box, second.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
    expect_ended(box, third.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
    struct str why = str_format(test_arena(),
                                "job %.*s, which it was to wait for, ended FAILED (HANDLER_ERROR)",
                                STR(id_text(test_arena(), first)));
    expect_str(must_load(box, second.id).last_error, why, PLACE("the reason"));
    EXPECT_INT(events(box, third.id, EVENT_JOB_FAILED), 1);
}

// What happens to those that wait is nobody's doing but Pawl's (OPS-19).
TEST_EACH_DB(OPS_19_a_job_that_fails_with_another_is_failed_by_the_system)
{
    struct id first = must_enqueue(box, "first").id;
    struct job second = add_after(box, "second", first), job;
    box->caller.actor_type = ACTOR_USER;
    box->caller.actor_id = S("alice");
    OK(job_cancel(tx, first, &job, err));
    expect_ended(box, second.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
    struct audit_event *trail = NULL;
    size_t count = 0;
    OK(events_of_job(tx, second.id.high, &trail, &count, err));
    EXPECT_INT(count, 4);
    EXPECT_INT(trail[2].event, EVENT_JOB_FAILED);
    EXPECT_INT(trail[2].actor_type, ACTOR_SYSTEM);
}

TEST_EACH_DB(JOB_11_every_way_to_end_badly_fails_those_that_wait)
{
    struct contract impatient = contract_for(box, "impatient");
    impatient.max_wait_us = SECONDS(5);
    struct id gave_up = must_add(box, &impatient).id;
    struct contract slow = contract_with(box, "slow", "document");
    struct id timed_out = must_add(box, &slow).id;
    struct job a = add_after(box, "a", gave_up), b = add_after(box, "b", timed_out);
    struct lease lease = take(box, "slow", true);
    struct execution e;
    for (int i = 0; i < 5; i++) {
        pass(box, SECONDS(25));
        if (i < 4)
            OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    }
    sweep_all(box);
    expect_ended(box, timed_out, JOB_TIMED_OUT, FAILURE_TIMEOUT);
    expect_ended(box, a.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
    expect_ended(box, b.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
}

// A refusal would make it a matter of luck whether a job can be sent.
TEST_EACH_DB(JOB_11_a_job_that_waits_for_a_failed_one_ends_at_once)
{
    struct id first = must_enqueue(box, "first").id, second = must_enqueue(box, "second").id;
    break_off(box, "first");
    struct id after[] = { second, first };
    struct contract contract = waiter(box, "last", after, 2);
    struct job last = must_add(box, &contract);
    EXPECT_INT(last.state, JOB_FAILED);
    EXPECT_INT(last.failure_type, FAILURE_DEPENDENCY_FAILED);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_waits"), 0);
    EXPECT_INT(events(box, last.id, EVENT_JOB_ENQUEUED), 1);
}

// CREATED -> FAILED is for cancellation only (JOB-1).
TEST_EACH_DB(JOB_11_a_held_job_fails_when_it_is_submitted)
{
    struct id first = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", &first, 1);
    contract.hold = true;
    struct job last = must_add(box, &contract), behind = add_after(box, "behind", last.id);
    break_off(box, "first");
    EXPECT_INT(must_load(box, last.id).state, JOB_CREATED);
    OK_FROM(last, job_submit(tx, last.id, &last, err));
    EXPECT_INT(last.state, JOB_FAILED);
    expect_ended(box, last.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
    expect_ended(box, behind.id, JOB_FAILED, FAILURE_DEPENDENCY_FAILED);
}

TEST_EACH_DB(JOB_11_a_held_job_that_names_a_failed_one_is_held_until_it_is_submitted)
{
    struct id first = must_enqueue(box, "first").id;
    break_off(box, "first");
    struct contract contract = waiter(box, "last", &first, 1);
    contract.hold = true;
    struct job last = must_add(box, &contract);
    EXPECT_INT(last.state, JOB_CREATED);
    OK_FROM(last, job_submit(tx, last.id, &last, err));
    EXPECT_INT(last.failure_type, FAILURE_DEPENDENCY_FAILED);
}

TEST_EACH_DB(JOB_11_a_held_job_that_cannot_run_any_more_waits_for_no_other)
{
    struct id after[] = { must_enqueue(box, "first").id, must_enqueue(box, "second").id };
    break_off(box, "first");
    struct contract contract = waiter(box, "last", after, 2);
    contract.hold = true;
    struct job last = must_add(box, &contract);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_waits"), 0);
    succeed(box, "second");
    OK_FROM(last, job_submit(tx, last.id, &last, err));
    EXPECT_INT(last.failure_type, FAILURE_DEPENDENCY_FAILED);
}

TEST_EACH_DB(JOB_11_a_held_job_waits_on_after_it_is_submitted)
{
    struct id first = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", &first, 1);
    contract.hold = true;
    struct job last = must_add(box, &contract);
    OK_FROM(last, job_submit(tx, last.id, &last, err));
    EXPECT_INT(last.phase, PHASE_BLOCKED);
    succeed(box, "first");
    EXPECT_INT(must_load(box, last.id).phase, PHASE_READY);
}

TEST_EACH_DB(JOB_11_max_wait_counts_while_a_job_waits_for_others)
{
    struct id first = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", &first, 1);
    contract.max_wait_us = SECONDS(5);
    struct job last = must_add(box, &contract);
    pass(box, SECONDS(6));
    sweep_all(box);
    expect_ended(box, last.id, JOB_FAILED, FAILURE_RESOURCE_EXHAUSTED);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_waits"), 0);
    succeed(box, "first");
}

TEST_EACH_DB(JOB_11_a_purge_ends_what_waits_for_others)
{
    struct id first = must_enqueue(box, "first").id;
    struct job last = add_after(box, "last", first);
    struct purge purge = { .queue = S("q:default") };
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 10, err));
    expect_ended(box, first, JOB_FAILED, FAILURE_RESOURCE_EXHAUSTED);
    expect_ended(box, last.id, JOB_FAILED, FAILURE_RESOURCE_EXHAUSTED);
}

TEST_EACH_DB(JOB_11_a_retried_job_waits_for_nothing)
{
    struct id first = must_enqueue(box, "first").id;
    struct job last = add_after(box, "last", first), again;
    break_off(box, "first");
    OK(job_retry(tx, last.id, &again, err));
    EXPECT_INT(again.phase, PHASE_READY);
    EXPECT_INT(again.after.n, 0);
}

// ----- many

enum { CHAIN = 1000 };

static void chain(struct box *box, struct id *jobs)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    for (size_t i = 0; i < CHAIN; i++) {
        struct contract contract = waiter(box, i ? "link" : "first", i ? &jobs[i - 1] : NULL,
                                          i > 0);
        struct job job;
        bool known;
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
        jobs[i] = job.id;
    }
    box_commit(&tx);
}

// Kill the process wherever you like: what is to be told is in the store.
TEST_EACH_DB(JOB_6_a_long_chain_fails_in_pieces_and_none_is_forgotten)
{
    static struct id jobs[CHAIN];
    chain(box, jobs);
    break_off(box, "first");
    int64_t failed = box_number(box, "SELECT count(*) FROM outcomes WHERE state = 'FAILED'");
    EXPECT_INT(failed, TOLD_MAX + 1);
    EXPECT(box_number(box, "SELECT count(*) FROM job_endings") > 0);
    for (int i = 0; box_number(box, "SELECT count(*) FROM job_endings") > 0; i++) {
        struct swept swept;
        box_reopen(box);
        OK(sweep(tx, 100, &swept, err));
        EXPECT(i < CHAIN / 100);
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes WHERE failure_type = "
                               "'DEPENDENCY_FAILED'"),
               CHAIN - 1);
}

TEST_EACH_DB(JOB_6_a_thousand_that_wait_for_one_are_told_in_pieces)
{
    struct id first = must_enqueue(box, "first").id;
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    for (int i = 0; i < CHAIN; i++) {
        struct contract contract = waiter(box, "many", &first, 1);
        struct job job;
        bool known;
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    }
    box_commit(&tx);
    succeed(box, "first");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), TOLD_MAX);
    sweep_all(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), CHAIN);
}

SQLITE_ONLY(JOB_6_an_end_that_cannot_be_read_is_told_to_nobody, "drops guards of SQLite")
TEST_EACH_DB(JOB_6_an_end_that_cannot_be_read_is_told_to_nobody)
{
    struct id first = must_enqueue(box, "first").id;
    bool more;
    for (int i = 0; i <= TOLD_MAX; i++)
        add_after(box, "many", first);
    break_off(box, "first");
    box->damaged = true;
    static const char damaged[] = "UPDATE outcomes SET failure_type = 'BAD_LUCK'";
    box_sql(box, str_format(test_arena(), "%s%s", no_guards, damaged).s);
    REFUSED(PAWL_DAMAGED, links_tell(tx, 10, &more, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM parked"), 1);
}

// The second end finds that its transaction has told as many as it may.
TEST_EACH_DB(JOB_6_what_a_transaction_may_not_tell_any_more_is_told_by_the_sweep)
{
    struct id first = must_enqueue(box, "first").id, second = must_enqueue(box, "second").id;
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct job job;
    bool known;
    box_begin(box, &tx);
    for (int i = 0; i <= TOLD_MAX; i++) {
        struct contract contract = waiter(box, "many", i < TOLD_MAX ? &first : &second, 1);
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    }
    box_commit(&tx);
    box_begin(box, &tx);
    MUST(job_cancel(&tx, first, &job, &err));
    MUST(job_cancel(&tx, second, &job, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM parked"), 1);
    sweep_all(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM parked"), 0);
}

// ----- who may be named

TEST_EACH_DB(OPS_10_jobs_of_another_org_or_project_cannot_be_waited_for)
{
    struct contract foreign = contract_for(box, "foreign");
    foreign.org_id = OTHER_ORG;
    struct contract hidden = contract_for(box, "hidden");
    hidden.project_id = PROJECT_B;
    struct id after[] = {
        must_add(box, &foreign).id,
        must_add(box, &hidden).id,
        { must_enqueue(box, "guessed").id.high, 7 },
    };
    struct contract contract = waiter(box, "last", after, 3);
    struct job job;
    bool known;
    contract.project_id = PROJECT_A;
    struct str own = PROJECT_A;
    box->caller.projects = &own;
    box->caller.project_count = 1;
    struct problems problems = { .arena = test_arena() };
    struct link_plan plan;
    OK_FROM(problems, links_plan(tx, &contract, "jobs[4].", &problems, &plan, err));
    EXPECT_INT(problems.count, 3);
    EXPECT_STR(problems.list[0].field, "jobs[4].after[0]");
    EXPECT_STR(problems.list[2].field, "jobs[4].after[2]");
    REFUSED(PAWL_INVALID, job_enqueue(tx, &contract, &job, &known, err));
}

TEST_EACH_DB(OPS_4_a_repeat_gets_its_job_whatever_became_of_those_it_names)
{
    struct id first = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", &first, 1);
    contract.idempotency_key = S("k");
    struct job last = must_add(box, &contract), same;
    bool known = false;
    contract.after = &(struct id){ first.high, first.low + 1 };
    OK(job_enqueue(tx, &contract, &same, &known, err));
    EXPECT(known && id_eq(same.id, last.id));
}

// ----- explaining

TEST_EACH_DB(JOB_11_explain_names_the_jobs_that_are_waited_for)
{
    struct id after[] = { must_enqueue(box, "first").id, must_enqueue(box, "second").id };
    struct contract contract = waiter(box, "last", after, 2);
    struct job last = must_add(box, &contract);
    struct explanation told = explained(box, last.id);
    EXPECT_CAUSE(told, CAUSE_WAITS_FOR_JOBS, text_of(after[1]));
    EXPECT(id_eq(told.related, after[0]));
    succeed(box, "first");
    EXPECT_CAUSE(explained(box, last.id), CAUSE_WAITS_FOR_JOB, text_of(after[1]));
    break_off(box, "second");
    EXPECT_CAUSE(explained(box, last.id), CAUSE_DEPENDENCY_FAILED, text_of(after[1]));
}

TEST_EACH_DB(JOB_11_explain_says_what_a_held_or_delayed_job_waits_for_besides)
{
    struct id first = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", &first, 1);
    contract.hold = true;
    struct job held = must_add(box, &contract);
    contract.hold = false;
    contract.scheduled_for = box->world.wall + HOURS(1);
    struct job delayed = must_add(box, &contract);
    EXPECT_CAUSE(explained(box, delayed.id), CAUSE_DELAYED, "");
    EXPECT_ALSO(explained(box, delayed.id), CAUSE_WAITS_THEN, "1 other job");
    EXPECT_ALSO(explained(box, held.id), CAUSE_WAITS_THEN, "1 other job");
    break_off(box, "first");
    EXPECT_CAUSE(explained(box, held.id), CAUSE_HELD, "");
    EXPECT_ALSO(explained(box, held.id), CAUSE_DOOMED, text_of(first));
    struct id after[] = { must_enqueue(box, "first").id, must_enqueue(box, "second").id };
    contract = waiter(box, "last", after, 2);
    contract.hold = true;
    held = must_add(box, &contract);
    EXPECT_ALSO(explained(box, held.id), CAUSE_WAITS_THEN, "2 other jobs");
}

TEST_EACH_DB(OPS_18_explain_does_not_name_jobs_of_projects_that_the_caller_may_not_see)
{
    struct contract hidden = contract_for(box, "hidden");
    hidden.project_id = PROJECT_B;
    struct id first = must_add(box, &hidden).id;
    struct contract contract = waiter(box, "last", &first, 1);
    contract.project_id = PROJECT_A;
    struct job last = must_add(box, &contract);
    struct str own = PROJECT_A;
    box->caller.projects = &own;
    box->caller.project_count = 1;
    EXPECT_CAUSE(explained(box, last.id), CAUSE_WAITS_UNSEEN, "1 job");
    box->caller.project_count = 0;
    struct contract seen = contract_for(box, "seen");
    seen.project_id = PROJECT_A;
    struct id both[] = { must_add(box, &seen).id, must_add(box, &hidden).id };
    contract = waiter(box, "last", both, 2);
    contract.project_id = PROJECT_A;
    last = must_add(box, &contract);
    box->caller.project_count = 1;
    struct explanation told = explained(box, last.id);
    EXPECT_CAUSE(told, CAUSE_WAITS_FOR_JOBS, text_of(both[0]));
    EXPECT(!strstr(told.why.sentence.s, text_of(both[1])));
}

// ----- explained

TEST_EACH_DB(EXPLAIN_a_job_that_waits_for_more_than_are_named)
{
    struct id after[12];
    for (size_t i = 0; i < countof(after); i++)
        after[i] = must_enqueue(box, "first").id;
    struct contract contract = waiter(box, "last", after, countof(after));
    struct job last = must_add(box, &contract);
    EXPECT_CAUSE(explained(box, last.id), CAUSE_WAITS_FOR_JOBS, ", ...");
    EXPECT_CAUSE(explained(box, last.id), CAUSE_WAITS_FOR_JOBS, "12 jobs");
}

TEST_EACH_DB(EXPLAIN_a_job_that_waits_for_a_damaged_one_or_for_none)
{
    struct id first = must_enqueue(box, "first").id;
    struct job last = add_after(box, "last", first);
    box->damaged = true;
    box_sql(box, "DELETE FROM ready");  // the first is nowhere now
    EXPECT_CAUSE(explained(box, last.id), CAUSE_WAITS_FOR_JOB, "damaged");
    box_sql(box, "DELETE FROM job_waits");
    EXPECT_CAUSE(explained(box, last.id), CAUSE_DAMAGED, "there is none");
}

// What waits and is damaged itself is left to the operator; the job it waits for ends.
TEST_EACH_DB(JOB_11_a_damaged_job_that_waits_keeps_no_other_from_its_end)
{
    struct id first = must_enqueue(box, "first").id;
    struct job damaged = add_after(box, "last", first), sound = add_after(box, "last", first);
    (void)damaged;
    box->damaged = true;
    box_sql(box, "DELETE FROM parked WHERE job = (SELECT min(job) FROM parked)");
    succeed(box, "first");
    EXPECT_INT(must_load(box, sound.id).phase, PHASE_READY);
}
