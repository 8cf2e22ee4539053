// Slots in virtual time: claimed once, run or skipped for a reason, closed with their job.
#include "fixture.h"

#include <string.h>

#include "base/time_text.h"
#include "engine/slot.h"

static struct instance me = { .name = { "one", 3 }, .boot_id = { "boot-1", 6 } };

static struct schedule every_five_minutes(void)
{
    return (struct schedule){
        .name = S("ingest"),
        .job_type = S("brief.ingest"),
        .every_us = MINUTES(5),
        .coalesce_said = true,
        .coalesce = true,
        .misfire_grace_us = MINUTES(5),
        .max_instances = 1,
        .expected_us = MINUTES(2),
    };
}

static void put(struct box *box, const struct schedule *schedule)
{
    enum schedule_put what;
    OK(schedule_put(tx, schedule, SCHEDULE_FROM_API, &what, err));
}

static struct schedule_view seen(struct box *box, const char *name)
{
    struct schedule_view view;
    OK(schedule_load(tx, str_of(name), &view, err));
    return view;
}

static struct scheduling tick_as(struct box *box, const struct instance *instance)
{
    struct scheduling s = { .instance = instance, .limit = 50, .wall = world_wall(&box->world.world) };
    OK(slots_tick(tx, &s, err));
    return s;
}

static struct scheduling tick(struct box *box)
{
    return tick_as(box, &me);
}

// To the next five minutes, and a second more.
static void to_next_slot(struct box *box)
{
    pawl_time now = world_wall(&box->world.world);
    pass(box, MINUTES(5) - now % MINUTES(5) + SECONDS(1));
}

static pawl_time slot_before_now(struct box *box)
{
    pawl_time now = world_wall(&box->world.world);
    return now - now % MINUTES(5);
}

static int64_t runs(struct box *box, const char *status)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM job_runs WHERE status LIKE '%s'", status);
    return box_number(box, sql);
}

static int64_t skips(struct box *box, const char *reason)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT coalesce(sum(slots), 0) FROM slot_skips WHERE reason = '%s'",
             reason);
    return box_number(box, sql);
}

// Runs the one job there is to its good end.
static void work(struct box *box)
{
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
}

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
    OK(job_cancel(tx, job.id, &job, err));
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

// ----- SLOT-7, as APScheduler 3 has it

TEST_EACH_DB(SLOT_7_coalesce_claims_the_latest_due_slot)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(20));
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(box_number(box, "SELECT scheduled_for FROM job_runs"), slot_before_now(box));
    EXPECT_INT(skips(box, "coalesced"), 4);
}

TEST_EACH_DB(SLOT_7_without_coalesce_those_within_their_grace_are_made_up_for)
{
    struct schedule s = every_five_minutes();
    s.coalesce = false;
    s.misfire_grace_us = MINUTES(12);
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(25));
    EXPECT_INT(tick(box).claimed, 3);
    EXPECT_INT(skips(box, "misfire"), 3);
    EXPECT_INT(skips(box, "coalesced"), 0);
    struct claimed *claimed;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);  // one after another
}

TEST_EACH_DB(SLOT_7_catch_up_is_bounded_and_spread)
{
    struct schedule s = every_five_minutes();
    s.coalesce = false;
    s.misfire_grace_us = DAYS(2);
    s.catch_up = 5;
    s.jitter_us = MINUTES(1);
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(100));
    EXPECT_INT(tick(box).claimed, 5);
    EXPECT_INT(skips(box, "catch_up_limit"), 16);
    EXPECT(box_number(box, "SELECT count(DISTINCT due_at) FROM parked") > 1);
    EXPECT_INT(box_number(box, "SELECT max(scheduled_for) FROM job_runs"), slot_before_now(box));
}

TEST_EACH_DB(SLOT_7_a_slot_found_later_than_its_grace_is_a_misfire)
{
    struct schedule s = every_five_minutes();
    s.misfire_grace_us = SECONDS(30);
    put(box, &s);
    to_next_slot(box);
    pass(box, SECONDS(30));
    EXPECT_INT(tick(box).claimed, 0);
    EXPECT_INT(skips(box, "misfire"), 1);
    to_next_slot(box);
    pass(box, SECONDS(29));
    EXPECT_INT(tick(box).claimed, 1);  // at its very end
}

TEST_EACH_DB(SLOT_7_a_slot_that_finds_max_instances_running_is_skipped)
{
    struct schedule s = every_five_minutes();
    s.expected_us = HOURS(1);
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 0);
    EXPECT_INT(skips(box, "max_instances"), 1);
    struct job job;
    REFUSED(PAWL_MAX_INSTANCES, slot_trigger(tx, S("ingest"), slot_before_now(box) + SECONDS(7),
                                             &job, err));
    work(box);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
}

TEST_EACH_DB(SLOT_7_more_instances_run_side_by_side)
{
    struct schedule s = every_five_minutes();
    s.expected_us = HOURS(1);
    s.max_instances = 3;
    put(box, &s);
    for (int i = 0; i < 4; i++) {
        to_next_slot(box);
        tick(box);
    }
    EXPECT_INT(runs(box, "running"), 3);
    EXPECT_INT(skips(box, "max_instances"), 1);
    struct claimed *claimed;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 3);
}

TEST_EACH_DB(SLOT_7_a_schedule_that_leaves_a_term_out_is_refused_and_every_one_is_named)
{
    struct schedule s = { .name = S("x"), .job_type = S("t"), .every_us = MINUTES(1) };
    enum schedule_put what;
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    EXPECT(!schedule_put(&tx, &s, SCHEDULE_FROM_API, &what, &err));
    tx_end(&tx);
    EXPECT_INT(err.code, PAWL_INVALID);
    static const char *const terms[] = { "coalesce", "misfire_grace_time", "max_instances",
                                         "expected_max_runtime" };
    for (size_t i = 0; i < countof(terms); i++)
        EXPECT(strstr(err.message, terms[i]) != NULL);
}

TEST_EACH_DB(SLOT_7_bad_terms_are_refused_by_name)
{
    enum schedule_put what;
    struct schedule s = every_five_minutes();
    s.cron = S("*/5 * * * *");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));  // and `every`
    s.every_us = 0;
    s.cron = S("61 * * * *");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.cron = S("*/5 * * * *");
    s.timezone = S("Europe/Atlantis");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.timezone = S("Europe/Berlin");
    s.payload = S("[1]");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.payload = S("{\"feeds\":\"all\"}");
    put(box, &s);
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

TEST_EACH_DB(SLOT_7_a_year_of_silence_leaves_few_rows_and_ends_at_once)
{
    struct schedule s = every_five_minutes();
    s.every_us = SECONDS(1);
    put(box, &s);
    pass(box, DAYS(365));
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM slot_skips"), CATCH_UP_MAX);
    EXPECT_INT(box_number(box, "SELECT slots FROM slot_skips ORDER BY id LIMIT 1"), 0);
    EXPECT_INT(seen(box, "ingest").next_at, world_wall(&box->world.world) + SECONDS(1));
}

// ----- SLOT-1: one leads

TEST_EACH_DB(SLOT_1_one_leads_and_another_takes_over_when_it_falls_silent)
{
    struct instance other = { .name = S("two"), .boot_id = S("boot-2") };
    struct schedule s = every_five_minutes();
    put(box, &s);
    EXPECT(tick(box).took_over);
    struct scheduling second = tick_as(box, &other);
    EXPECT(!second.leads);
    EXPECT_STR(second.leader, "one");
    to_next_slot(box);  // longer than its lease
    second = tick_as(box, &other);
    EXPECT(second.leads && second.took_over);
    EXPECT_INT(second.term, 2);
    EXPECT_INT(second.claimed, 1);
    EXPECT(!tick(box).leads);
    OK(leader_leave(tx, &other, err));
    EXPECT(tick(box).took_over);
}

TEST_EACH_DB(SLOT_1_the_next_boot_of_the_leader_leads_at_once)
{
    struct instance again = { .name = S("one"), .boot_id = S("boot-2") };
    struct schedule s = every_five_minutes();
    put(box, &s);
    tick(box);
    EXPECT(tick_as(box, &again).took_over);
}

// Two that both believe to lead: the key of the slot decides.
TEST_EACH_DB(SLOT_11_two_leaders_at_once_claim_each_slot_once)
{
    struct instance other = { .name = S("two"), .boot_id = S("boot-2") };
    struct schedule s = every_five_minutes();
    put(box, &s);
    for (int i = 0; i < 10; i++) {
        to_next_slot(box);
        for (int k = 0; k < 2; k++) {
            box_sql(box, "DELETE FROM leader");
            EXPECT(tick_as(box, k ? &other : &me).leads);
        }
        work(box);
    }
    EXPECT_INT(runs(box, "success"), 10);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 10);
}

TEST_EACH_DB(SLOT_1_a_scheduler_whose_clock_is_off_does_not_lead)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    struct scheduling off = { .instance = &me, .limit = 50, .wall = world_wall(&box->world.world) - SECONDS(61) };
    OK(slots_tick(tx, &off, err));
    EXPECT(off.clock_off && !off.leads);
}

// ----- clocks

// The calendar jumps, forward and back: no slot is claimed twice, and each was run or has its reason.
TEST_EACH_DB(SLOT_3_clock_jumps_neither_repeat_nor_lose_a_slot)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    static const int64_t jumps[] = { MINUTES(7), -MINUTES(3), SECONDS(1), HOURS(2), -HOURS(1),
                                     -SECONDS(30), MINUTES(11), -MINUTES(11) };
    pawl_time latest = 0;
    for (size_t i = 0; i < 200; i++) {
        pass(box, SECONDS(97));
        world_jump(&box->world, jumps[i % countof(jumps)]);
        struct scheduling now = { .instance = &me, .limit = 50 };
        struct tx tx = {0};
        struct pawl_error err = {0};
        box_begin(box, &tx);
        now.wall = tx.now;
        MUST(slots_tick(&tx, &now, &err));
        latest = tx.now;
        box_commit(&tx);
        if (now.claimed)
            work(box);
    }
    pawl_time first = box_number(box, "SELECT created_at FROM schedules");
    int64_t expected = latest / MINUTES(5) - first / MINUTES(5);
    EXPECT(expected > 20);
    EXPECT_INT(runs(box, "%") + box_number(box, "SELECT sum(slots) FROM slot_skips"), expected);
}

// ----- boot

TEST_EACH_DB(SLOT_6_rows_of_the_prior_boot_are_failed_as_worker_startup_recovery)
{
    struct schedule s = every_five_minutes();
    struct worker dead = { S("one"), S("one"), S("boot-1") };
    struct instance again = { S("one"), S("boot-2") };
    struct claim claim = { .worker = dead, .every_queue = true, .limit = 1, .start = true };
    struct claimed *claimed;
    size_t count = 0;
    struct recovered recovered;
    put(box, &s);
    to_next_slot(box);
    tick(box);
    box->caller.org_id = S("");
    OK(instance_enter(tx, &me, false, err));
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 1);
    EXPECT_STR(box_text(box, "SELECT worker_instance FROM job_runs"), "one");
    OK(instance_enter(tx, &again, true, err));
    OK(boot_recover(tx, &again, 10, &recovered, err));
    EXPECT_STR(box_text(box, "SELECT error_message FROM job_runs WHERE status = 'failed'"),
               "worker_startup_recovery");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_jobs WHERE state = 'FAILED'"
                               " AND failure_type = 'PROCESS_TERMINATED'"),
               1);
}

TEST_EACH_DB(SLOT_6_rows_without_a_living_job_are_closed_too)
{
    struct recovered recovered = {0};
    struct schedule s = every_five_minutes();
    put(box, &s);
    box_sql(box, "INSERT INTO job_runs (org, job_name, scheduled_for, started_at, status,"
                 " worker_instance, submission, stale_at)"
                 " SELECT org, name, 60000000, 1, 'running', 'one', 1, 9000000000000000000"
                 " FROM schedules");
    OK(slots_recover(tx, &(struct instance){ S("two"), S("b") }, 10, &recovered, err));
    EXPECT_INT(recovered.slots, 0);
    OK(slots_recover(tx, &me, 10, &recovered, err));
    EXPECT_INT(recovered.slots, 1);
    EXPECT_STR(box_text(box, "SELECT error_message FROM job_runs"), "worker_startup_recovery");
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

TEST_EACH_DB(SLOT_7_a_tick_with_nothing_due_costs_the_same_with_ten_thousand_schedules)
{
    struct schedule s = every_five_minutes();
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%d", i);
        s.name = str_of(name);
        put(box, &s);
    }
    tick(box);
    struct str before = box_contents(box);
    struct scheduling nothing = tick(box);
    EXPECT_INT(nothing.claimed, 0);
    EXPECT(str_eq(box_contents(box), before));
    to_next_slot(box);
    size_t claimed = 0, rounds = 0;
    struct scheduling now;
    do {
        now = tick(box);
        claimed += now.claimed;
        rounds++;
    } while (now.more);
    EXPECT_INT(claimed, 300);
    EXPECT(rounds >= 6);
}
