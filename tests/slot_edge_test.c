// Slots at the edges: claimed ahead of their time, one behind another, refused, and damaged.
#include <stdio.h>

#include "base/time_text.h"
#include "faults.h"
#include "slots.h"

// ----- claimed ahead of its time

TEST_EACH_DB(SLOT_8_a_slot_triggered_ahead_keeps_no_other_from_running)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    OK(slot_trigger(tx, S("ingest"), slot_before_now(box) + MINUTES(10), &job, err));
    EXPECT_INT(tick(box).claimed, 1);
    work(box);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(skips(box, "max_instances"), 0);
}

TEST_EACH_DB(SLOT_3_a_slot_that_was_claimed_ahead_is_not_called_skipped)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    work(box);
    OK(slot_trigger(tx, S("ingest"), slot_before_now(box) + MINUTES(5), &job, err));
    to_next_slot(box);
    struct scheduling round = tick(box);
    EXPECT_INT(round.claimed, 0);
    EXPECT_INT(round.skips[SKIP_MAX_INSTANCES], 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM slot_skips"), 0);
    must_sweep(box);
    work(box);
    EXPECT_INT(runs(box, "success"), 2);
}

// ----- one behind another

// Takes longer than expected, but not twice as long, and keeps its lease.
static struct lease run_slowly(struct box *box)
{
    struct execution e;
    struct lease lease = must_start(box, "A");
    for (int i = 0; i < 9; i++) {
        pass(box, SECONDS(20));
        OK(execution_heartbeat(tx, &lease, NULL, &e, err));
    }
    EXPECT_INT(tick(box).stale, 0);
    return lease;
}

TEST_EACH_DB(SLOT_4_slots_that_wait_for_one_another_are_not_stale_for_that)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    OK(schedule_pause(tx, S("ingest"), err));
    to_next_slot(box);
    pawl_time now = slot_before_now(box);
    struct backfill b = { .from = now - MINUTES(30), .to = now - MINUTES(5) };
    OK(slot_backfill(tx, S("ingest"), &b, err));
    EXPECT_INT(b.claimed_count, 6);
    for (int i = 0; i < 6; i++) {
        struct lease lease = run_slowly(box);
        must_commit(box, &lease);
    }
    EXPECT_INT(runs(box, "success"), 6);
}

TEST_EACH_DB(SLOT_4_slots_behind_one_that_never_begins_are_stale_with_it)
{
    struct schedule s = every_five_minutes();
    s.coalesce = false;
    s.misfire_grace_us = HOURS(1);
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(10));
    EXPECT_INT(tick(box).claimed, 3);
    OK(schedule_pause(tx, S("ingest"), err));
    pass(box, MINUTES(4));  // twice the expected runtime
    EXPECT_INT(tick(box).stale, 3);
    EXPECT_INT(runs(box, "skipped_timeout"), 3);
}

TEST_EACH_DB(SLOT_4_a_second_try_that_waits_has_a_time_of_its_own)
{
    struct schedule s = every_five_minutes();
    s.policy = *policy_builtin(S("maintenance"));
    put(box, &s);
    to_next_slot(box);
    tick(box);
    OK(schedule_pause(tx, S("ingest"), err));
    struct lease lease = run_slowly(box);
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, MINUTES(1) + SECONDS(1));  // twice the expected runtime since the first start
    must_sweep(box);
    EXPECT_INT(tick(box).stale, 0);
    work(box);
    EXPECT_INT(runs(box, "success"), 1);
}

TEST_EACH_DB(SLOT_4_a_first_try_that_ended_the_moment_its_turn_came_is_counted_from_then)
{
    struct schedule s = every_five_minutes();
    s.coalesce = false;
    s.misfire_grace_us = MINUTES(12);
    s.policy = *policy_builtin(S("maintenance"));
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(5));
    EXPECT_INT(tick(box).claimed, 2);
    OK(schedule_pause(tx, S("ingest"), err));
    work(box);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, MINUTES(3));
    must_sweep(box);
    EXPECT_INT(tick(box).stale, 0);
    pass(box, HOURS(1));
    EXPECT_INT(tick(box).stale, 1);
    EXPECT_INT(runs(box, "skipped_timeout"), 1);
}

TEST_EACH_DB(SLOT_4_a_schedule_is_rid_of_its_stale_row_before_its_next_slot_is_judged)
{
    char name[16];
    struct schedule s = every_five_minutes();
    s.expected_us = SECONDS(150);  // stale when the next one is due
    for (int i = 0; i < 60; i++) { // more than one tick deals with
        snprintf(name, sizeof name, "s%02d", i);
        s.name = str_of(name);
        put(box, &s);
    }
    size_t claimed = 0;
    to_next_slot(box);
    for (int i = 0; i < 2; i++)
        claimed += tick(box).claimed;
    box_sql(box, "UPDATE job_runs SET stale_at = stale_at - id");  // found from last to first
    to_next_slot(box);
    for (int i = 0; i < 2; i++)
        claimed += tick(box).claimed;
    EXPECT_INT(claimed, 120);
    EXPECT_INT(skips(box, "max_instances"), 0);
}

TEST_EACH_DB(SLOT_7_slots_of_an_org_that_is_disabled_are_skipped_as_if_paused)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    box_sql(box, "UPDATE orgs SET disabled_at = 1");
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 0);
    EXPECT_INT(skips(box, "paused"), 1);
}

// ----- refused

// Somebody has used the key of the slot's job: the slot cannot be claimed.
static void take_the_key(struct box *box)
{
    SCOPED(arena) struct arena arena = {0};
    struct contract c = contract_with(box, "other", "scheduled");
    c.idempotency_key = str_format(&arena, "schedule:ingest:%.*s",
                                   STR(time_text(&arena, slot_before_now(box))));
    must_add(box, &c);
}

TEST_EACH_DB(SLOT_7_a_slot_that_is_refused_when_its_terms_change_keeps_a_reason)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    take_the_key(box);
    EXPECT_INT(tick(box).refused, 1);
    s.every_us = MINUTES(10);
    put(box, &s);
    EXPECT_INT(runs(box, "%"), 0);
    EXPECT_INT(skips(box, "misfire"), 1);
}

TEST_EACH_DB(SLOT_7_of_slots_that_are_refused_when_terms_change_each_keeps_its_own_reason)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    to_next_slot(box);
    take_the_key(box);
    s.every_us = MINUTES(10);
    put(box, &s);
    EXPECT_INT(runs(box, "%"), 0);
    EXPECT_INT(skips(box, "coalesced"), 1);
    EXPECT_INT(skips(box, "misfire"), 1);
}

TEST_EACH_DB(SLOT_7_a_slot_that_is_refused_when_its_schedule_is_removed_keeps_a_reason)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    take_the_key(box);
    OK(schedule_remove(tx, S("ingest"), SCHEDULE_FROM_API, err));
    EXPECT_INT(skips(box, "misfire"), 1);
}

// ----- stale, and not to be ended

TEST_EACH_DB(SLOT_4_a_job_that_has_committed_is_finished_and_not_ended)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    tick(box);
    struct lease lease = must_start(box, "A");
    struct execution e;
    OK(execution_commit(tx, &lease, &(struct commit){0}, &e, err));
    pass(box, MINUTES(4) + SECONDS(1));
    EXPECT_INT(tick(box).stale, 0);
    EXPECT_INT(runs(box, "running"), 1);
    must_sweep(box);
    EXPECT_INT(runs(box, "running"), 0);
}

TEST_EACH_DB(SLOT_4_a_try_that_comes_after_the_time_of_the_first_has_its_own)
{
    struct schedule s = every_five_minutes();
    s.policy = *policy_builtin(S("maintenance"));
    s.policy.name = S("patient");
    s.policy.base_us = s.policy.delay_us_max = MINUTES(10);
    s.policy.exponential = s.policy.jitter = false;
    put(box, &s);
    to_next_slot(box);
    tick(box);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    OK(schedule_pause(tx, s.name, err));
    pass(box, MINUTES(5));
    EXPECT_INT(tick(box).stale, 0);
    EXPECT_INT(runs(box, "running"), 1);
    pass(box, MINUTES(6));
    must_sweep(box);
    work(box);
    EXPECT_INT(runs(box, "success"), 1);
}

// A row that stayed open though its job is gone, or has ended.
TEST_EACH_DB(SLOT_4_a_stale_row_without_a_living_job_is_closed)
{
    static const char open_row[] =
        "INSERT INTO job_runs (org, job_name, scheduled_for, started_at, status, worker_instance,"
        " submission, stale_at) SELECT org, name, 60000000, 1, 'running', 'one', %s, 1"
        " FROM schedules";
    static const char *const jobs[] = { "1", "(SELECT max(job) FROM outcomes)" };
    struct schedule s = every_five_minutes();
    put(box, &s);
    must_enqueue(box, "report");
    work(box);
    box->damaged = true;
    for (size_t i = 0; i < countof(jobs); i++) {
        box_sql(box, str_format(test_arena(), open_row, jobs[i]).s);
        EXPECT_INT(tick(box).stale, 1);
        EXPECT_INT(runs(box, "skipped_timeout"), 1);
        box_sql(box, "DELETE FROM job_runs");
    }
}

TEST_EACH_DB(SLOT_3_more_than_fits_one_tick_is_told)
{
    struct schedule s = every_five_minutes(), other = s;
    other.name = S("other");
    put(box, &s);
    put(box, &other);
    to_next_slot(box);
    struct scheduling one = {
        .instance = &me,
        .limit = 1,
        .wall = world_wall(&box->world.world),
    };
    OK_FROM(one, slots_tick(tx, &one, err));
    EXPECT(one.more && one.claimed == 1);
    one.wall = world_wall(&box->world.world);
    one.more = false;
    one.rows = 0;
    OK_FROM(one, slots_tick(tx, &one, err));
    EXPECT_INT(one.claimed, 2);
}

static struct scheduling tick_of(struct box *box, size_t limit)
{
    struct scheduling s = {
        .instance = &me,
        .limit = limit,
        .wall = world_wall(&box->world.world),
    };
    OK_FROM(s, slots_tick(tx, &s, err));
    return s;
}

TEST_EACH_DB(SLOT_4_more_stale_rows_than_fit_one_tick_are_told)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);  // nobody runs it
    pass(box, MINUTES(4));             // and the next is not due yet
    struct scheduling one = tick_of(box, 1);
    EXPECT(one.stale == 1 && one.more);
}

// Whichever of its calls finds the disk full, the tick is not done: nothing is left out in silence.
TEST_EACH_DB(SLOT_3_a_disk_that_ends_in_the_middle_of_a_tick_ends_the_tick)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    bool reached = true;
    for (int64_t n = 1; reached; n++) {
        struct pawl_error err = {0};
        struct scheduling one = { .instance = &me, .limit = 50, .wall = box->world.wall };
        SCOPED(tx) struct tx tx = {0};
        box_begin(box, &tx);
        store_faults_begin(box->db, NULL);
        store_faults = (struct fault_counter){ .fail_at = n, .code = PAWL_DISK_FULL };
        bool done = slots_tick(&tx, &one, &err);
        reached = store_faults.failed > 0;
        store_faults = (struct fault_counter){0};
        tx_end(&tx);
        store_faults_end(box->db);
        EXPECT(reached ? !done && err.code == PAWL_DISK_FULL : done && one.claimed == 1);
    }
}

// ----- damaged

TEST_EACH_DB(SLOT_4_a_damaged_job_keeps_no_other_slot_from_running)
{
    struct schedule s = every_five_minutes();
    struct schedule other = every_five_minutes();
    other.name = S("other");
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    box_sql(box, "DELETE FROM ready");  // its job is nowhere now
    box->damaged = true;
    put(box, &other);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
}

// Whoever ends a job closes its row: one that is open beside a job that has ended, or that was
// never submitted, is closed, and the job stays what it is.
TEST_EACH_DB(SLOT_4_an_open_row_of_a_job_that_does_not_wait_is_closed)
{
    struct schedule s = every_five_minutes();
    struct contract held = contract_for(box, "report");
    held.hold = true;
    struct job job = must_add(box, &held);
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    box->damaged = true;
    box_sql(box, str_format(test_arena(), "UPDATE job_runs SET job = %lld",
                            (long long)job.id.high)
                     .s);
    pass(box, HOURS(1));
    EXPECT(tick(box).stale > 0);
    EXPECT_INT(must_load(box, job.id).phase, PHASE_HELD);
    EXPECT_INT(runs(box, "skipped%"), 1);
}

TEST_EACH_DB(SLOT_4_a_slot_is_leased_first_and_started_then)
{
    struct schedule s = every_five_minutes();
    struct execution e;
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    struct lease lease = must_claim(box, "A");
    pass(box, SECONDS(2));
    OK(execution_start(tx, &lease, &e, err));
    EXPECT_INT(box_number(box, "SELECT started_at FROM job_runs"), e.started_at);
}

// What the store refuses while a refusal is taken back is told instead of it.
TEST_EACH_DB(SLOT_8_a_trigger_into_a_full_queue_claims_no_slot)
{
    const struct queue_term rows[] = { { S("q:default"), 4, 1 } };
    const struct queue_terms terms = { rows, countof(rows) };
    struct schedule s = every_five_minutes();
    struct job job;
    must_enqueue(box, "report");
    s.queue = S("q:default");
    s.every_us = 0;
    s.cron = S("*/5 * * * *");
    s.timezone = S("Europe/Berlin");
    put(box, &s);
    to_next_slot(box);
    REFUSED(PAWL_QUEUE_FULL, (tx->queue_terms = &terms,
                              slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err)));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_runs"), 0);
    pawl_time slot = slot_before_now(box);
    struct backfill range = {
        .from = slot - MINUTES(11),
        .to = slot - MINUTES(1),
        .dry_run = true,
    };
    OK_FROM(range, slot_backfill(tx, S("ingest"), &range, err));
    EXPECT_INT(range.claimed_count, 2);
}

// ----- the end of the calendar

static void to_the_end(struct box *box, int64_t before)
{
    pawl_time end = 0;
    EXPECT(time_parse(S("9999-12-31T23:59:59Z"), &end));
    pass(box, end + SECONDS(1) - before - world_wall(&box->world.world));
}

TEST_EACH_DB(SLOT_behind_the_last_slot_of_the_calendar_there_is_none)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_the_end(box, MINUTES(8));
    tick(box);
    work(box);
    EXPECT_INT(seen(box, "ingest").next_at, slot_before_now(box) + MINUTES(5));
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(seen(box, "ingest").next_at, 0);
    work(box);
    pass(box, MINUTES(2));
    EXPECT_INT(tick(box).claimed, 0);
    struct backfill range = {
        .from = slot_before_now(box) - MINUTES(1),
        .to = world_wall(&box->world.world),
        .dry_run = true,
    };
    OK_FROM(range, slot_backfill(tx, S("ingest"), &range, err));
    EXPECT_INT(range.claimed_count + range.taken_count, 1);
    s.expected_us = MINUTES(1);
    put(box, &s);
    EXPECT_INT(seen(box, "ingest").next_at, 0);
}

// ----- what is listed

TEST_EACH_DB(SLOT_a_page_without_room_is_empty_and_has_none_behind_it)
{
    struct schedule s = every_five_minutes();
    struct schedule_view view;
    struct run_list list;
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    OK(schedule_runs(tx, S("ingest"), 0, 0, &list, err));
    EXPECT(list.count == 0 && list.next == 0);
    REFUSED(PAWL_NOT_FOUND, schedule_load_row(tx, 4711, &view, err));
}

TEST_EACH_DB(SLOT_a_schedule_is_paused_by_pawl_where_nobody_asks)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    OK((tx->caller = NULL, schedule_pause(tx, S("ingest"), err)));
    EXPECT_STR(seen(box, "ingest").paused_by, "pawl");
}

TEST_EACH_DB(SLOT_8_a_slot_is_triggered_by_pawl_where_nobody_asks)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    OK((tx->caller = NULL, slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err)));
    EXPECT_STR(must_load(box, job.id).contract.actor_id, "pawl");
}

TEST(SLOT_what_is_not_known_of_a_slot_is_null)
{
    const struct run_row run = { .id = 1, .job_name = S("a") };
    const struct skip_row skip = { .id = 1, .job_name = S("a"), .reason = SKIP_MISFIRE };
    SCOPED(json) json_t *ran = run_json(test_arena(), &run);
    SCOPED(json) json_t *skipped = skip_json(test_arena(), &skip);
    EXPECT(json_is_null(json_object_get(ran, "job_id")));
    EXPECT(json_is_null(json_object_get(skipped, "slots")));
}
