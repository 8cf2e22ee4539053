// Why a job ended as it did, what is known of where it came from, damage, and who may know what.
#include "explained.h"

#include <string.h>

#include "queues.h"
#include "slots.h"

// ----- ends

TEST_EACH_DB(EXPLAIN_a_job_that_succeeded)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_SUCCEEDED, "attempt 1 of 5");
    EXPECT_INT(e.why.advice.n, 0);
    EXPECT_INT(e.since, box->world.wall);
}

TEST_EACH_DB(EXPLAIN_an_error_that_another_attempt_would_not_help)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_INVALID_INPUT);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_HANDLER_ERROR, "invalid_input: it did not work");
    EXPECT_ALSO(e, CAUSE_DEAD_LETTER_OPEN, "nobody has seen to");
}

TEST_EACH_DB(EXPLAIN_that_every_attempt_failed)
{
    struct contract contract = contract_with(box, "report", "lifecycle");
    struct job job = must_add(box, &contract);
    for (int i = 0; i < 4; i++) {
        struct lease lease = must_start(box, "A");
        must_fail(box, &lease, ERROR_TRANSIENT);
        pass(box, SECONDS(5));
        must_sweep(box);
    }
    EXPECT_CAUSE(explained(box, job.id), CAUSE_ATTEMPTS_EXHAUSTED,
                 "4 of 4. The last time: transient: it did not work");
}

TEST_EACH_DB(EXPLAIN_a_run_that_took_too_long)
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
    must_sweep(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_TIMED_OUT, "the run passed its deadline");
}

TEST_EACH_DB(EXPLAIN_a_job_that_was_cancelled_before_it_started)
{
    struct job job = must_enqueue(box, "report");
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_CANCELLED_WAITING, "cancelled before it started");
}

// Its last error is of an attempt before; it is not what ended it.
TEST_EACH_DB(EXPLAIN_a_job_that_was_cancelled_between_two_attempts)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_CANCELLED_WAITING, "cancelled before it started");
}

TEST_EACH_DB(EXPLAIN_a_job_that_was_cancelled_while_it_ran)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    pawl_time asked = box->world.wall;
    pass(box, SECONDS(2));
    must_fail(box, &lease, ERROR_CANCELLED);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_CANCELLED_RUNNING, when(asked));
    EXPECT_CAUSE(e, CAUSE_CANCELLED_RUNNING, when(box->world.wall));
}

TEST_EACH_DB(EXPLAIN_a_job_that_its_worker_gave_up)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_CANCELLED);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_CANCELLED_BY_WORKER, "nobody had asked");
}

TEST_EACH_DB(EXPLAIN_a_job_whose_worker_fell_silent)
{
    struct contract contract = contract_with(box, "report", "document");
    struct job job = must_add(box, &contract);
    must_start(box, "A");
    pass(box, SECONDS(61));
    must_sweep(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_LEASE_EXPIRED, "fell silent in attempt 1 of 1");
}

TEST_EACH_DB(EXPLAIN_a_job_whose_process_died)
{
    static const struct instance again = { { "test", 4 }, { "boot-2", 6 } };
    struct contract contract = contract_with(box, "report", "document");
    struct job job = must_add(box, &contract);
    struct recovered recovered;
    must_start(box, "A");
    OK(instance_enter(tx, &again, true, err));
    OK(boot_recover(tx, &again, 10, &recovered, err));
    EXPECT_INT(recovered.ended, 1);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_PROCESS_TERMINATED, "attempt 1 of 1 died");
}

TEST_EACH_DB(EXPLAIN_a_job_that_kills_its_workers)
{
    struct job job = must_enqueue(box, "report");
    for (int i = 0; i < CRASHES_MAX; i++) {
        must_start(box, "A");
        pass(box, HOURS(1));
        must_sweep(box);
        pass(box, HOURS(1));
        must_sweep(box);
    }
    EXPECT_CAUSE(explained(box, job.id), CAUSE_KILLED_WORKERS, "not given to another one");
}

TEST_EACH_DB(EXPLAIN_a_job_that_waited_longer_than_its_max_wait)
{
    struct contract contract = contract_for(box, "report");
    contract.max_wait_us = MINUTES(1);
    struct job job = must_add(box, &contract);
    pass(box, MINUTES(2));
    must_sweep(box);
    EXPECT_CAUSE(explained(box, job.id), CAUSE_WAITED_TOO_LONG, "max_wait");
}

TEST_EACH_DB(EXPLAIN_a_job_whose_queue_was_purged)
{
    struct job job = must_enqueue(box, "report");
    struct job held = queue_add(box, (struct wish){ .hold = true });
    struct purge purge = { .queue = S("q:default") };
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 100, err));
    EXPECT_CAUSE(explained(box, job.id), CAUSE_PURGED, "purged while it waited");
    EXPECT_CAUSE(explained(box, held.id), CAUSE_CANCELLED_WAITING, "purged by an operator");
}

static void end_waiting(struct box *box, struct id id, enum failure_type why, struct str message)
{
    struct job job = must_load(box, id);
    OK_FROM(job, job_end_waiting(tx, &job, why, message, err));
}

TEST_EACH_DB(EXPLAIN_other_ends_of_jobs_that_waited)
{
    struct job first = must_enqueue(box, "report"), second = must_enqueue(box, "report");
    end_waiting(box, first.id, FAILURE_DEPENDENCY_FAILED, S("job 7 failed"));
    end_waiting(box, second.id, FAILURE_RESOURCE_EXHAUSTED, S("no room"));
    EXPECT_CAUSE(explained(box, first.id), CAUSE_DEPENDENCY_FAILED, "job 7 failed");
    EXPECT_CAUSE(explained(box, second.id), CAUSE_RESOURCE_EXHAUSTED, "no room");
}

// ----- dead letters, what became of it, where it comes from

TEST_EACH_DB(EXPLAIN_what_became_of_a_dead_letter_and_where_its_successor_comes_from)
{
    struct job job = must_enqueue(box, "report"), again;
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    OK(job_retry(tx, job.id, &again, err));
    struct explanation e = explained(box, job.id);
    EXPECT_ALSO(e, CAUSE_DEAD_LETTER_CLOSED, "is replayed");
    EXPECT_ALSO(e, CAUSE_RETRIED_AS, text_of(again.id));
    EXPECT(id_eq(e.related, again.id));
    e = explained(box, again.id);
    EXPECT_ALSO(e, CAUSE_MADE_FROM, text_of(job.id));
}

TEST_EACH_DB(EXPLAIN_a_job_of_a_schedule_and_one_whose_slot_went_stale)
{
    struct schedule schedule = every_five_minutes();
    struct job_list list;
    put(box, &schedule);
    to_next_slot(box);
    pawl_time slot = slot_before_now(box);
    EXPECT_INT(tick(box).claimed, 1);
    OK(job_find(tx, &(struct job_filter){ .limit = 1 }, &list, err));
    struct id id = list.jobs[0].id;
    struct explanation e = explained(box, id);
    EXPECT_ALSO(e, CAUSE_MADE_BY_SCHEDULE, "Schedule ingest");
    EXPECT_ALSO(e, CAUSE_MADE_BY_SCHEDULE, when(slot));
    pass(box, MINUTES(4));
    EXPECT_INT(tick(box).stale, 1);
    e = explained(box, id);
    EXPECT_CAUSE(e, CAUSE_SLOT_STALE, when(box->world.wall));
    EXPECT_ALSO(e, CAUSE_MADE_BY_SCHEDULE, "Schedule ingest");
}

// ----- damage

TEST_EACH_DB(EXPLAIN_records_that_contradict_each_other)
{
    struct job job = must_enqueue(box, "report");
    box->damaged = true;
    box_sql(box, "DELETE FROM ready");
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_DAMAGED, "it is nowhere");
    SCOPED(json) json_t *json = explanation_json(test_arena(), &e);
    EXPECT(json_is_null(json_object_get(json, "state")));
}

SQLITE_ONLY(EXPLAIN_an_execution_whose_record_is_damaged,
            "damage that constraints of PostgreSQL keep out")
TEST_EACH_DB(EXPLAIN_an_execution_whose_record_is_damaged)
{
    struct job job = must_enqueue(box, "report");
    must_start(box, "A");
    box->damaged = true;
    box_sql(box, "PRAGMA ignore_check_constraints = ON;"
                 "UPDATE executions SET leased_at = started_at + 1");
    EXPECT_CAUSE(explained(box, job.id), CAUSE_DAMAGED, "the record of execution");
}

TEST_EACH_DB(EXPLAIN_a_serial_key_that_nobody_has)
{
    queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job second = queue_add(box, (struct wish){ .serial_key = S("k") });
    box->damaged = true;
    box_sql(box, "DELETE FROM ready");
    EXPECT_CAUSE(explained(box, second.id), CAUSE_DAMAGED, "nobody has the turn");
}

// ----- tenants

TEST_EACH_DB(EXPLAIN_OPS_18_another_orgs_job_is_not_found)
{
    struct job job = queue_add(box, (struct wish){ .org = ORG_A });
    struct explanation e;
    speak_for(box, ORG_B);
    REFUSED(PAWL_NOT_FOUND, job_explain(tx, job.id, &e, err));
    speak_for(box, DEFAULT_ORG);
    REFUSED(PAWL_NOT_FOUND, job_explain(tx, job.id, &e, err));
}

TEST_EACH_DB(EXPLAIN_OPS_18_jobs_of_other_orgs_are_not_counted)
{
    queue_add_many(box, (struct wish){ .org = ORG_B }, 7);
    queue_add_many(box, (struct wish){ .org = ORG_A }, 2);
    struct job job = queue_add(box, (struct wish){ .org = ORG_A });
    queue_add(box, (struct wish){ .org = ORG_B, .queue = S("q:critical") });
    alive(box);
    speak_for(box, ORG_A);
    struct explanation e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "behind 2 jobs of your own");
    EXPECT_INT(e.ahead, 2);
    EXPECT(!says_also(&e, CAUSE_CRITICAL_FIRST));
    EXPECT_INT(queue_take(box, 2), 2);  // the critical one, and one of the other org
    e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "At work on the type: 0 jobs of your own");
    speak_for(box, S(""));
    e = explained(box, job.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "behind 2 jobs of its type");
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "At work on the type: 1 job.");
}

static const struct str projects[] = { { "00000000-0000-7000-8000-0000000000a1", 36 },
                                       { "00000000-0000-7000-8000-0000000000a2", 36 } };

static struct job add_to(struct box *box, struct str project, struct str serial_key)
{
    struct contract contract = contract_for(box, "report");
    contract.project_id = project;
    contract.serial_key = serial_key;
    return must_add(box, &contract);
}

TEST_EACH_DB(EXPLAIN_OPS_18_jobs_of_other_projects_are_neither_named_nor_counted)
{
    struct job other = add_to(box, projects[1], S("k"));
    struct job mine = add_to(box, projects[0], S("k"));
    add_to(box, projects[1], S(""));
    add_to(box, projects[0], S(""));
    struct job ready = add_to(box, projects[0], S(""));
    alive(box);
    box->caller.projects = projects;
    box->caller.project_count = 1;
    struct explanation e = explained(box, mine.id);
    EXPECT_CAUSE(e, CAUSE_BLOCKED_UNSEEN, "another project");
    EXPECT_INT(e.related.high, 0);
    EXPECT(!strstr(str_cstr(test_arena(), e.why.sentence), text_of(other.id)));
    e = explained(box, ready.id);
    EXPECT_CAUSE(e, CAUSE_BEHIND_OLDER, "behind 1 job of your own");
    struct explanation unseen;
    REFUSED(PAWL_NOT_FOUND, job_explain(tx, other.id, &unseen, err));
    box->caller.project_count = 0;
    EXPECT_CAUSE(explained(box, mine.id), CAUSE_BLOCKED_BY_READY, text_of(other.id));
}

// ----- the answer

TEST_EACH_DB(EXPLAIN_the_answer_has_every_field)
{
    struct job first = queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job second = queue_add(box, (struct wish){ .serial_key = S("k") });
    must_start(box, "A");
    struct explanation e = explained(box, second.id);
    SCOPED(json) json_t *json = explanation_json(test_arena(), &e);
    EXPECT_INT(json_object_size(json), 15);
    expect_str(str_of(json_string_value(json_object_get(json, "related_job_id"))),
               str_of(text_of(first.id)), PLACE("related_job_id"));
    expect_str(str_of(json_string_value(json_object_get(json, "cause"))),
               S("blocked_by_running"), PLACE("cause"));
    EXPECT_INT(json_array_size(json_object_get(json, "also")), 0);
}
