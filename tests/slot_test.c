// Slots in virtual time: claimed once, by the clock or by hand, and closed with their job.
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_EACH_DB(SLOT_2_a_claimed_slot_has_every_column)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    pawl_time slot = slot_before_now(box);
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_job_runs WHERE id > 0"
                               " AND org_id = '00000000-0000-7000-8000-000000000000'"
                               " AND job_name = 'ingest' AND status = 'running'"
                               " AND worker_instance = 'one' AND finished_at IS NULL"
                               " AND error_message IS NULL AND job_id IS NOT NULL"),
               1);
    EXPECT_INT(box_number(box, "SELECT scheduled_for FROM job_runs"), slot);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs WHERE idempotency_key LIKE"
                               " 'schedule:ingest:%'"),
               1);
    EXPECT_INT(box_number(box, "SELECT scheduled_for FROM jobs"), slot);
    work(box);
    EXPECT_INT(runs(box, "success"), 1);
}

TEST_EACH_DB(SLOT_2_a_name_of_more_than_128_characters_is_refused)
{
    char name[130];
    memset(name, 'n', sizeof name);
    struct schedule s = every_five_minutes();
    enum schedule_put what;
    s.name = (struct str){ name, 129 };
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.name = (struct str){ name, 128 };
    OK(schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    EXPECT_INT(what, SCHEDULE_MADE);
}

TEST_EACH_DB(SLOT_3_a_slot_is_claimed_once_whoever_comes_second)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    OK(slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err));
    REFUSED(PAWL_SLOT_CLAIMED, slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err));
    work(box);
    REFUSED(PAWL_SLOT_CLAIMED, slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err));
    EXPECT_INT(tick(box).claimed, 0);  // by the clock: it was claimed by hand
    EXPECT_INT(runs(box, "%"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM slot_skips"), 0);
}

TEST_EACH_DB(SLOT_4_a_row_past_twice_the_expected_runtime_is_skipped_timeout)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    tick(box);
    struct lease lease = must_start(box, "A");
    struct execution e;
    for (int i = 0; i < 8; i++) {
        pass(box, SECONDS(29));
        OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    }
    EXPECT_INT(runs(box, "running"), 1);
    pass(box, SECONDS(9));
    EXPECT_INT(tick(box).stale, 1);
    EXPECT_INT(runs(box, "skipped_timeout"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_jobs WHERE state = 'TIMED_OUT'"), 1);
    EXPECT_INT(box_number(box, "SELECT finished_at FROM job_runs"),
               world_wall(&box->world.world));
    REFUSED(PAWL_FENCED, execution_commit(tx, &lease, &(struct commit){0}, &e, err));
}

TEST_EACH_DB(SLOT_4_a_job_that_never_began_is_stale_too)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    tick(box);
    pass(box, MINUTES(4) - SECONDS(1));
    EXPECT_INT(tick(box).stale, 0);
    pass(box, SECONDS(1));
    EXPECT_INT(tick(box).stale, 1);
    EXPECT_INT(runs(box, "skipped_timeout"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_jobs WHERE state = 'FAILED'"
                               " AND failure_type = 'RESOURCE_EXHAUSTED'"),
               1);
}

TEST_EACH_DB(SLOT_4_a_row_that_waits_for_another_try_is_not_stale)
{
    struct schedule s = every_five_minutes();
    s.policy = *policy_builtin(S("maintenance"));
    put(box, &s);
    to_next_slot(box);
    tick(box);
    for (int i = 0; i < 3; i++) {
        struct lease lease = must_start(box, "A");
        pass(box, SECONDS(20));
        must_fail(box, &lease, ERROR_TRANSIENT);
        EXPECT_INT(runs(box, "running"), 1);
        pass(box, MINUTES(1));
        tick(box);
        must_sweep(box);
    }
    EXPECT_INT(runs(box, "running"), 1);
    work(box);
    EXPECT_INT(runs(box, "success"), 1);
}

// As long as a job may take, nearly, while the clock of the scheduler goes on.
static void work_slowly(struct box *box)
{
    struct lease lease = must_start(box, "A");
    struct execution e;
    for (int i = 0; i < 7; i++) {
        pass(box, SECONDS(29));
        OK(execution_heartbeat(tx, &lease, NULL, &e, err));
        EXPECT_INT(tick(box).stale, 0);
    }
    must_commit(box, &lease);
}

TEST_EACH_DB(SLOT_4_what_was_claimed_together_is_stale_each_from_its_turn_on)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    pawl_time now = slot_before_now(box);
    struct backfill b = { .from = now - MINUTES(25), .to = now };
    OK(slot_backfill(tx, S("ingest"), &b, err));
    OK(schedule_pause(tx, S("ingest"), err));
    EXPECT_INT(runs(box, "running"), 6);
    for (int i = 0; i < 4; i++)
        work_slowly(box);
    EXPECT_INT(runs(box, "success"), 4);
    EXPECT_INT(runs(box, "running"), 2);
    pass(box, MINUTES(4) - SECONDS(1));  // nobody works any more
    tick(box);
    EXPECT_INT(runs(box, "running"), 2);
    pass(box, SECONDS(1));
    tick(box);
    EXPECT_INT(runs(box, "skipped_timeout"), 1);
    pass(box, MINUTES(4));
    tick(box);
    EXPECT_INT(runs(box, "skipped_timeout"), 2);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_runs WHERE error_message ="
                               " 'it did not begin within twice its expected_max_runtime'"),
               2);
}

TEST_EACH_DB(SLOT_5_failure_closes_the_row_with_its_message)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    tick(box);
    struct lease lease = must_start(box, "A");
    struct execution e;
    EXPECT_STR(box_text(box, "SELECT worker_instance FROM job_runs"), "test");
    OK(execution_fail(tx, &lease,
                      &(struct work_error){ .class = ERROR_VALIDATION, .message = S("bad feed") },
                      &e, err));
    EXPECT_STR(box_text(box, "SELECT error_message FROM job_runs WHERE status = 'failed'"),
               "bad feed");
    EXPECT_INT(box_number(box, "SELECT r.finished_at - x.ended_at FROM job_runs r"
                               " JOIN outcomes x ON x.job = r.job"),
               0);
}

TEST_EACH_DB(SLOT_5_a_cancelled_job_closes_its_row)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    OK(slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err));
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(runs(box, "failed"), 1);
}

TEST_EACH_DB(SLOT_5_a_closed_row_never_changes)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    tick(box);
    work(box);
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    EXPECT(!tx_execute(&tx, "UPDATE job_runs SET status = 'failed'", &err));
    tx_end(&tx);
}

// ----- SLOT-8

TEST_EACH_DB(SLOT_8_a_triggered_slot_is_in_whole_seconds_and_may_lie_ahead)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    pawl_time ahead = slot_before_now(box) + MINUTES(5);
    REFUSED(PAWL_INVALID, slot_trigger(tx, S("ingest"), ahead + 1, &job, err));
    REFUSED(PAWL_NOT_FOUND, slot_trigger(tx, S("nothing"), ahead, &job, err));
    OK(slot_trigger(tx, S("ingest"), ahead, &job, err));
    EXPECT_INT(job.phase, PHASE_DELAYED);
    EXPECT_INT(job.run_at, ahead);
    tick(box);  // the one before it
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 0);
    EXPECT_INT(runs(box, "running"), 1);
}

TEST_EACH_DB(SLOT_8_backfill_claims_what_is_free_in_a_range)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    tick(box);
    work(box);
    pawl_time now = slot_before_now(box);
    struct backfill b = { .from = now - MINUTES(30), .to = now };
    OK(slot_trigger(tx, S("ingest"), now - MINUTES(10), &job, err));
    work(box);
    b.dry_run = true;
    OK(slot_backfill(tx, S("ingest"), &b, err));
    EXPECT_INT(b.claimed_count, 5);
    EXPECT_INT(b.taken_count, 2);
    EXPECT_INT(runs(box, "%"), 2);
    b.dry_run = false;
    OK(slot_backfill(tx, S("ingest"), &b, err));
    EXPECT_INT(runs(box, "running"), 5);
    REFUSED(PAWL_MAX_INSTANCES,
            slot_backfill(tx, S("ingest"), &(struct backfill){ .from = now - HOURS(2), .to = now },
                          err));
    for (int i = 0; i < 5; i++)
        work(box);
    OK(slot_backfill(tx, S("ingest"), &b, err));
    EXPECT_INT(b.claimed_count, 0);
    EXPECT_INT(runs(box, "success"), 7);
    REFUSED(PAWL_TOO_LARGE,
            slot_backfill(tx, S("ingest"), &(struct backfill){ .from = now - DAYS(30), .to = now },
                          err));
}

// ----- changing it

TEST_EACH_DB(SLOT_3_a_schedule_changed_while_it_runs_loses_and_repeats_nothing)
{
    struct schedule s = every_five_minutes();
    enum schedule_put what;
    put(box, &s);
    to_next_slot(box);  // due, and nobody has ticked
    s.every_us = MINUTES(10);
    OK(schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    EXPECT_INT(what, SCHEDULE_CHANGED);
    EXPECT_INT(runs(box, "running"), 1);
    EXPECT_INT(tick(box).claimed, 0);
    work(box);
    OK(schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    EXPECT_INT(what, SCHEDULE_UNCHANGED);
    pawl_time now = world_wall(&box->world.world);
    EXPECT_INT(seen(box, "ingest").next_at, now - now % MINUTES(10) + MINUTES(10));
}

TEST_EACH_DB(SLOT_3_what_comes_while_it_is_paused_is_skipped_for_that)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    OK(schedule_pause(tx, S("ingest"), err));  // the one that is due came before
    EXPECT_INT(runs(box, "running"), 1);
    work(box);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 0);
    to_next_slot(box);
    OK(schedule_resume(tx, S("ingest"), err));
    EXPECT_INT(skips(box, "paused"), 2);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
}

TEST_EACH_DB(SLOT_2_a_removed_schedule_leaves_its_history)
{
    struct schedule s = every_five_minutes();
    struct run_list list;
    struct schedule_view view;
    put(box, &s);
    to_next_slot(box);
    tick(box);
    work(box);
    OK(schedule_remove(tx, S("ingest"), SCHEDULE_FROM_API, err));
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 0);
    OK(schedule_runs(tx, S("ingest"), 0, 10, &list, err));
    EXPECT_INT(list.count, 1);
    EXPECT_INT(list.runs[0].status, RUN_SUCCESS);
    REFUSED(PAWL_NOT_FOUND, schedule_load(tx, S("ingest"), &view, err));
    put(box, &s);  // and comes back under its name
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    OK(schedule_runs(tx, S("ingest"), 0, 10, &list, err));
    EXPECT_INT(list.count, 2);
}

// A queue that is full refuses the slot, which is tried again and not lost.
TEST_EACH_DB(SLOT_3_a_refused_slot_keeps_no_other_from_running_and_is_tried_again)
{
    struct schedule s = every_five_minutes();
    struct schedule t = every_five_minutes();
    t.name = S("other");
    put(box, &s);
    put(box, &t);
    box_sql(box, "UPDATE schedules SET timezone = 'Nowhere/Land', cron = '*/5 * * * *',"
                 " every_us = NULL WHERE name = 'ingest'");
    to_next_slot(box);
    struct scheduling first = tick(box);
    EXPECT_INT(first.claimed, 1);
    EXPECT_INT(first.refused, 1);
    EXPECT(strstr(first.why.message, "ingest") != NULL);
    box_sql(box, "UPDATE schedules SET timezone = 'UTC' WHERE name = 'ingest'");
    pass(box, SECONDS(5));
    EXPECT_INT(tick(box).claimed, 1);
}

TEST_EACH_DB(SLOT_2_another_org_has_schedules_of_its_own)
{
    struct schedule s = every_five_minutes();
    struct schedule_view view;
    struct run_list list;
    struct job job;
    put(box, &s);
    struct caller mine = box->caller;
    box->caller.org_id = S("11111111-1111-7111-8111-111111111111");
    REFUSED(PAWL_NOT_FOUND, schedule_load(tx, S("ingest"), &view, err));
    REFUSED(PAWL_NOT_FOUND, schedule_pause(tx, S("ingest"), err));
    REFUSED(PAWL_NOT_FOUND, slot_trigger(tx, S("ingest"), SECONDS(1800000300), &job, err));
    REFUSED(PAWL_NOT_FOUND, schedule_runs(tx, S("ingest"), 0, 10, &list, err));
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 2);
    EXPECT_INT(box_number(box, "SELECT count(DISTINCT org) FROM job_runs"), 2);
    box->caller = mine;
    OK(schedule_runs(tx, S("ingest"), 0, 10, &list, err));
    EXPECT_INT(list.count, 1);
}

TEST_EACH_DB(SLOT_2_a_list_of_schedules_with_large_payloads_comes_in_pages)
{
    enum { COUNT = 7, BYTES = 900 << 10 };
    char *payload = malloc(BYTES + 1);
    memset(payload, 'x', BYTES);
    payload[BYTES] = '\0';
    memcpy(payload, "{\"a\":\"", 6);
    memcpy(payload + BYTES - 2, "\"}", 2);
    struct schedule s = every_five_minutes();
    s.payload = (struct str){ payload, BYTES };
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        s.name = str_of(name);
        put(box, &s);
    }
    struct schedule_list list;
    size_t pages = 0, seen_of_all = 0;
    struct str after = S("");
    do {
        OK(schedules_list(tx, after, 100, &list, err));
        after = str_dup(test_arena(), list.next);
        seen_of_all += list.count;
        pages++;
    } while (after.n);
    EXPECT_INT(seen_of_all, COUNT);
    EXPECT_INT(pages, 2);
    free(payload);
}
