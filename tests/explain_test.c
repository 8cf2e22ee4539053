// Why a job waits, and what keeps it with its worker: one constructed situation after the other, in
// each of which there is one true cause.
#include "explained.h"

#include <string.h>

#include "queues.h"

// ----- not submitted, not due, backing off

TEST_EACH_DB(EXPLAIN_a_job_that_is_held)
{
    struct job job = queue_add(box, (struct wish){ .hold = true });
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_HELD, "not been submitted");
    EXPECT(str_ends(e.why.advice, id_text(test_arena(), job.id)));
    EXPECT_INT(e.since, job.created_at);
    EXPECT_INT(e.ahead, -1);
}

TEST_EACH_DB(EXPLAIN_a_job_whose_time_has_not_come)
{
    struct job job = queue_add(box, (struct wish){ .delay_us = HOURS(1) });
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_DELAYED, when(job.run_at));
    EXPECT_INT(e.until, job.run_at);
}

TEST_EACH_DB(EXPLAIN_a_job_whose_time_has_come_and_somebody_sweeps)
{
    struct job job = queue_add(box, (struct wish){ .delay_us = HOURS(1) });
    pass(box, HOURS(1) + SECONDS(1));
    alive(box);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_DUE, when(job.run_at));
    EXPECT_INT(e.since, job.run_at);
}

TEST_EACH_DB(EXPLAIN_a_job_whose_time_has_come_and_nobody_sweeps)
{
    struct job job = queue_add(box, (struct wish){ .delay_us = HOURS(1) });
    alive(box);
    pass(box, HOURS(1) + SECONDS(1));  // the process has died meanwhile
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_CLOCK_STOPPED, "no Pawl process is alive");
    EXPECT(str_ends(e.why.advice, S("pawl serve")));
}

TEST_EACH_DB(EXPLAIN_a_job_that_backs_off_after_an_error)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_OVERLOAD);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BACKOFF, "Attempt 1 of 5 failed: overload: it did not work");
    EXPECT_CAUSE(e, CAUSE_BACKOFF, when(must_load(box, job.id).run_at));
}

TEST_EACH_DB(EXPLAIN_a_retry_that_is_due_and_nobody_sweeps)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, HOURS(1));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_CLOCK_STOPPED, "A time has come");
}

// ----- behind a serial key

TEST_EACH_DB(EXPLAIN_a_job_behind_one_of_its_key_that_runs)
{
    struct job first = queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job second = queue_add(box, (struct wish){ .serial_key = S("k") });
    pass(box, SECONDS(5));
    must_start(box, "A");
    struct explanation e = explained(box, second.id);
    EXPECT_CAUSE(e, CAUSE_BLOCKED_BY_RUNNING, text_of(first.id));
    EXPECT_CAUSE(e, CAUSE_BLOCKED_BY_RUNNING, "RUNNING (running)");
    EXPECT_CAUSE(e, CAUSE_BLOCKED_BY_RUNNING, when(box->world.wall));
    EXPECT(id_eq(e.related, first.id));
    EXPECT_INT(e.ahead, 0);
}

TEST_EACH_DB(EXPLAIN_a_job_behind_one_of_its_key_that_was_leased_only)
{
    queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job second = queue_add(box, (struct wish){ .serial_key = S("k") });
    must_claim(box, "A");
    EXPECT_CAUSE(explained(box, second.id), CAUSE_BLOCKED_BY_RUNNING, "RUNNING (leased)");
}

TEST_EACH_DB(EXPLAIN_a_job_behind_an_older_one_of_its_key_that_waits_itself)
{
    struct job first = queue_add(box, (struct wish){ .serial_key = S("k") });
    pass(box, SECONDS(5));
    struct job second = queue_add(box, (struct wish){ .serial_key = S("k") });
    struct explanation e = explained(box, second.id);
    EXPECT_CAUSE(e, CAUSE_BLOCKED_BY_READY, text_of(first.id));
    EXPECT_CAUSE(e, CAUSE_BLOCKED_BY_READY, "QUEUED (ready)");
    EXPECT_INT(e.since, first.created_at);
}

TEST_EACH_DB(EXPLAIN_a_job_behind_many_of_its_key)
{
    queue_add(box, (struct wish){ .serial_key = S("k") });
    queue_add_many(box, (struct wish){ .serial_key = S("k") }, 3);
    struct job last = queue_add(box, (struct wish){ .serial_key = S("k") });
    must_start(box, "A");
    struct explanation e = explained(box, last.id);
    EXPECT_INT(e.ahead, 3);
    EXPECT_ALSO(e, CAUSE_BEHIND_IN_KEY, "3 jobs of your own");
    queue_add_many(box, (struct wish){ .serial_key = S("k") }, 1200);
    last = queue_add(box, (struct wish){ .serial_key = S("k") });
    e = explained(box, last.id);
    EXPECT_INT(e.ahead, 1000);
    EXPECT(e.ahead_more);
    EXPECT_ALSO(e, CAUSE_BEHIND_IN_KEY, "more than 1000 jobs of your own");
}

// ----- ready

TEST_EACH_DB(EXPLAIN_a_ready_job_in_a_paused_queue_and_who_paused_it)
{
    struct job job = must_enqueue(box, "report");
    alive(box);
    speak_for(box, S(""));
    pass(box, SECONDS(1));
    OK(queue_pause(tx, S("q:default"), err));
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_QUEUE_PAUSED, "by tester");
    EXPECT_INT(e.since, box->world.wall);
    speak_for(box, DEFAULT_ORG);  // a tenant is not told who of the operators did it
    e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_QUEUE_PAUSED, ": nothing of it is taken");
    EXPECT(!strstr(str_cstr(test_arena(), e.why.sentence), "tester"));
}

TEST_EACH_DB(EXPLAIN_a_ready_job_of_a_paused_share)
{
    struct job job = queue_add(box, (struct wish){ .org = ORG_A });
    alive(box);
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_SHARE_PAUSED, "by tester");
    EXPECT_INT(queue_take(box, 1), 0);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_SHARE_PAUSED, when(box->world.wall));
}

// Jobs of other orgs are none of a tenant's business: who runs Pawl is told that they take turns.
TEST_EACH_DB(EXPLAIN_a_job_beside_those_of_other_orgs)
{
    queue_add_many(box, (struct wish){ .org = ORG_A }, 3);
    struct job job = queue_add(box, (struct wish){ .org = ORG_B });
    alive(box);
    speak_for(box, ORG_B);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_NEXT, "No job of its type");
    struct explanation e = explained(box, job.id);
    EXPECT(!says_also(&e, CAUSE_SHARES));
    speak_for(box, S(""));
    EXPECT_ALSO(explained(box, job.id), CAUSE_SHARES, "take turns, of 16 jobs each");
}

TEST_EACH_DB(EXPLAIN_a_ready_job_and_no_process_is_alive)
{
    struct job job = must_enqueue(box, "report");
    EXPECT_CAUSE(explained(box, job.id), CAUSE_NOBODY_ALIVE, "nobody takes jobs");
}

TEST_EACH_DB(EXPLAIN_a_ready_job_whose_type_nobody_takes)
{
    struct job job = must_enqueue(box, "report");
    must_enqueue(box, "report");
    pass(box, SECONDS(6));
    alive(box);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_NO_WORKER, "type report");
    EXPECT_INT(e.since, job.created_at);
    EXPECT(strstr(str_cstr(test_arena(), e.why.advice), "job_types: report: run:"));
}

// A worker that is done with one and has not come back yet is a worker.
TEST_EACH_DB(EXPLAIN_a_lane_that_is_served_though_nobody_holds_one_of_it_now)
{
    queue_add_many(box, (struct wish){0}, 2);
    struct job job = must_enqueue(box, "report");
    pass(box, SECONDS(6));
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    alive(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_BEHIND_OLDER, "behind 1 job");
    pass(box, MINUTES(2));
    alive(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_NO_WORKER, "in the last minute");
}

TEST_EACH_DB(EXPLAIN_the_first_of_its_type)
{
    must_enqueue(box, "report");
    struct job job = must_enqueue(box, "report");
    must_start(box, "A");
    pass(box, SECONDS(6));
    alive(box);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_NEXT, "At work on the type: 1 job of your own");
    EXPECT_INT(e.ahead, 0);
}

TEST_EACH_DB(EXPLAIN_a_job_behind_older_ones_of_its_type)
{
    queue_add_many(box, (struct wish){0}, 4);
    struct job job = must_enqueue(box, "report");
    must_enqueue(box, "other");
    must_start(box, "A");
    pass(box, SECONDS(6));
    alive(box);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "behind 3 jobs of your own");
    EXPECT_INT(e.ahead, 3);
    EXPECT(!e.ahead_more);
}

TEST_EACH_DB(EXPLAIN_a_job_behind_one_of_higher_priority)
{
    struct job job = must_enqueue(box, "report");
    struct contract urgent = contract_for(box, "report");
    urgent.priority = 10;
    must_add(box, &urgent);
    alive(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_BEHIND_PRIORITY, "behind 1 job");
    must_add(box, &urgent);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_BEHIND_PRIORITY, "behind 2 jobs");
    OK(job_change(tx, job.id, &(struct job_change){ .has_priority = true, .priority = 11 }, &job,
                  err));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_NEXT, "No job of its type");
}

TEST_EACH_DB(EXPLAIN_more_than_a_thousand_are_not_counted)
{
    queue_add_many(box, (struct wish){0}, 1500);
    struct job job = must_enqueue(box, "report");
    alive(box);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "behind more than 1000 jobs of your own");
    EXPECT_INT(e.ahead, 1000);
    EXPECT(e.ahead_more);
    speak_for(box, S(""));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_BEHIND_OLDER, "more than 1000 jobs");
}

TEST_EACH_DB(EXPLAIN_own_jobs_are_counted_whatever_others_have)
{
    queue_add_many(box, (struct wish){ .org = ORG_A }, 2);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 1000);
    queue_add_many(box, (struct wish){ .org = ORG_A }, 2);
    struct job job = queue_add(box, (struct wish){ .org = ORG_A });
    alive(box);
    speak_for(box, ORG_A);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "behind 4 jobs of your own");
    EXPECT(!e.ahead_more);
}

TEST_EACH_DB(EXPLAIN_that_the_critical_queue_goes_first)
{
    struct job job = must_enqueue(box, "report");
    alive(box);
    struct explanation e = explained(box, job.id);
    EXPECT(!says_also(&e, CAUSE_CRITICAL_FIRST));
    struct job critical = queue_add(box, (struct wish){ .queue = S("q:critical") });
    e = explained(box, job.id);
    EXPECT_ALSO(e, CAUSE_CRITICAL_FIRST, "q:critical");
    e = explained(box, critical.id);
    EXPECT(!says_also(&e, CAUSE_CRITICAL_FIRST) && !says_also(&e, CAUSE_TURNS));
}

TEST_EACH_DB(EXPLAIN_that_queues_take_turns_by_weight)
{
    struct job job = must_enqueue(box, "report");
    alive(box);
    queue_add(box, (struct wish){ .queue = S("q:exports") });
    struct explanation e = explained(box, job.id);
    struct queue_term term = queue_term_of(NULL, S("q:default"));
    EXPECT_ALSO(e, CAUSE_TURNS, "ready in 1 other queue, too");
    EXPECT_ALSO(e, CAUSE_TURNS,
                str_format(test_arena(), "of q:default is %d.", (int)term.weight).s);
    EXPECT(!says_also(&e, CAUSE_CRITICAL_FIRST));
    queue_add(box, (struct wish){ .queue = S("q:mails") });
    EXPECT_ALSO(explained(box, job.id), CAUSE_TURNS, "ready in 2 other queues, too");
}

TEST_EACH_DB(EXPLAIN_that_the_queue_is_full)
{
    queue_add_many(box, (struct wish){ .queue = S("q:critical") }, CRITICAL_DEPTH_MAX - 1);
    struct job job = queue_add(box, (struct wish){ .queue = S("q:critical") });
    struct explanation e = explained(box, job.id);
    EXPECT_ALSO(e, CAUSE_QUEUE_FULL, "q:critical is full");
}

TEST_EACH_DB(EXPLAIN_that_its_max_wait_ends_and_is_over)
{
    struct contract contract = contract_for(box, "report");
    contract.max_wait_us = MINUTES(1);
    struct job job = must_add(box, &contract);
    struct explanation e = explained(box, job.id);
    EXPECT_ALSO(e, CAUSE_MAX_WAIT_ENDS, when(job.created_at + MINUTES(1)));
    pass(box, MINUTES(2));
    e = explained(box, job.id);
    EXPECT_ALSO(e, CAUSE_MAX_WAIT_OVER, when(job.created_at + MINUTES(1)));
}

TEST_EACH_DB(EXPLAIN_that_max_wait_is_kept_by_a_job_that_ran_once)
{
    struct contract contract = contract_for(box, "report");
    contract.max_wait_us = MINUTES(1);
    struct job job = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, HOURS(1));
    must_sweep(box);
    EXPECT_INT(must_load(box, job.id).state, JOB_QUEUED);
    struct explanation e = explained(box, job.id);
    EXPECT(!says_also(&e, CAUSE_MAX_WAIT_ENDS) && !says_also(&e, CAUSE_MAX_WAIT_OVER));
}

TEST_EACH_DB(EXPLAIN_that_a_delayed_job_will_meet_a_paused_queue)
{
    struct job job = queue_add(box, (struct wish){ .delay_us = HOURS(1) });
    speak_for(box, S(""));
    OK(queue_pause(tx, S("q:default"), err));
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_DELAYED, "due at");
    EXPECT_ALSO(e, CAUSE_QUEUE_PAUSED, "by tester");
}

// ----- with a worker

TEST_EACH_DB(EXPLAIN_a_job_that_is_leased)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_claim(box, "A");
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_LEASED, "Worker A took it");
    EXPECT_INT(e.until, must_execution(box, lease.execution).lease_expires_at);
    EXPECT_STR(e.worker, "A");
}

TEST_EACH_DB(EXPLAIN_a_job_that_runs)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    struct execution run;
    OK(execution_heartbeat(tx, &lease, &(struct progress){ 40, S("half of it") }, &run, err));
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_RUNNING, "Progress: 40% half of it");
    EXPECT_CAUSE(e, CAUSE_RUNNING, "attempt 1 of 5");
    EXPECT_INT(e.since, run.started_at);
    EXPECT_INT(e.until, run.deadline_at);
}

TEST_EACH_DB(EXPLAIN_a_running_job_that_was_asked_to_stop)
{
    struct job job = must_enqueue(box, "report");
    must_start(box, "A");
    pass(box, SECONDS(3));
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_CANCEL_REQUESTED, "Worker A was asked");
    EXPECT_INT(e.since, box->world.wall);
}

TEST_EACH_DB(EXPLAIN_a_lease_that_is_over_and_was_not_swept)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    pass(box, MINUTES(5));
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_LEASE_OVER, "Worker A has not been heard of");
    EXPECT_INT(e.since, must_execution(box, lease.execution).lease_expires_at);
    EXPECT_ALSO(e, CAUSE_CLOCK_STOPPED, "no Pawl process");
    alive(box);
    e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_LEASE_OVER, "next sweep");
    EXPECT(!says_also(&e, CAUSE_CLOCK_STOPPED));
}

TEST_EACH_DB(EXPLAIN_a_deadline_that_is_over_and_was_not_swept)
{
    struct contract contract = contract_with(box, "report", "document");
    struct job job = must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    struct execution run = {0};
    while (run.lease_expires_at < run.started_at + SECONDS(120) || run.started_at == 0) {
        OK(execution_heartbeat(tx, &lease, NULL, &run, err));
        pass(box, SECONDS(20));
    }
    pass(box, SECONDS(60));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_DEADLINE_OVER, when(run.deadline_at));
    EXPECT_INT(must_sweep(box).timed_out, 1);
}

static struct job committed(struct box *box, struct lease *lease)
{
    struct execution e;
    struct job job = must_enqueue(box, "report");
    *lease = must_start(box, "A");
    OK(execution_commit(tx, lease, &(struct commit){ .finish = true }, &e, err));
    return job;
}

TEST_EACH_DB(EXPLAIN_a_job_in_its_commit_phase)
{
    struct lease lease;
    struct job job = committed(box, &lease);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_FINISHING, "worker A is in the commit phase");
}

TEST_EACH_DB(EXPLAIN_a_commit_phase_that_failed_and_then_is_due)
{
    struct lease lease;
    struct job job = committed(box, &lease);
    must_fail(box, &lease, ERROR_DEPENDENCY);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_FINISH_BACKOFF, "has failed: 1 so far");
    EXPECT_INT(e.until, must_execution(box, lease.execution).finish_at);
    pass(box, HOURS(1));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_NOBODY_ALIVE, "nobody takes jobs");
    alive(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_FINISH_DUE, "worker of type report");
}

TEST_EACH_DB(EXPLAIN_a_commit_phase_in_a_paused_queue)
{
    struct lease lease;
    struct job job = committed(box, &lease);
    must_fail(box, &lease, ERROR_DEPENDENCY);
    OK(queue_pause(tx, S("q:default"), err));
    pass(box, HOURS(1));
    alive(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_SHARE_PAUSED, "q:default");
    EXPECT_INT(queue_take(box, 1), 0);
}

TEST_EACH_DB(EXPLAIN_a_commit_phase_whose_worker_is_gone)
{
    struct lease lease;
    struct job job = committed(box, &lease);
    pass(box, HOURS(1));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_FINISH_LEASE_OVER, "worker A");
}

// ----- the table

TEST(EXPLAIN_every_cause_has_a_word_of_its_own_and_a_text_without_holes)
{
    struct cause_facts facts;
    for (size_t i = 0; i < CAUSE_FACTS; i++)
        facts.at[i] = S("{fact}");  // what is filled in is not looked at for holes
    for (unsigned i = 0; i < CAUSES; i++) {
        struct str sentence = cause_sentence(test_arena(), (enum cause)i, &facts);
        EXPECT(sentence.n > 10 && str_ends(sentence, S(".")));
        cause_advice(test_arena(), (enum cause)i, &facts);
        for (unsigned k = 0; k < i; k++)
            EXPECT(strcmp(cause_name((enum cause)i), cause_name((enum cause)k)) != 0);
    }
}
