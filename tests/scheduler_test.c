// Schedules of a program, through pawl.h: in virtual time, and with the runner's threads.
#include "shop.h"

static bool note(struct pawl_run *run, void *context)
{
    _Atomic int *count = context;
    pawl_rows_processed(run, ++*count);
    return true;
}

static struct pawl_schedule every(int64_t microseconds)
{
    return (struct pawl_schedule){
        .name = "notes",
        .job_type = "note",
        .every_us = microseconds,
        .coalesce = PAWL_YES,
        .misfire_grace_us = SECONDS(300),
        .max_instances = 1,
        .expected_max_runtime_us = SECONDS(60),
    };
}

static void schedule(struct shop *shop, struct pawl_schedule schedule)
{
    struct pawl_error err = {0};
    MUST(pawl_schedule(shop->pawl, &schedule, &err));
}

TEST_SHOP(SLOT_3_a_schedule_runs_at_its_time_every_time, .virtual_time = true)
{
    _Atomic int count = 0;
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    schedule(shop, every(MINUTES(15)));
    shop_pass(shop, DAYS(1));
    EXPECT_INT(count, 96);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM job_runs WHERE status = 'success'"
                                 " AND scheduled_for % 900000000 = 0"
                                 " AND started_at = scheduled_for"),
               96);
    EXPECT_INT(pawl_figures(shop->pawl).slots_claimed, 96);
    EXPECT_INT(pawl_figures(shop->pawl).leads, 1);
}

TEST_SHOP(SLOT_9_start_end_duration_rows_and_errors_are_logged, .virtual_time = true)
{
    _Atomic int count = 41;
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    schedule(shop, every(MINUTES(15)));
    shop_pass(shop, MINUTES(16));
    EXPECT_INT(shop_lines(shop, "SCHEDULER_LEADS"), 1);
    EXPECT_INT(shop_lines(shop, "SLOTS_CLAIMED"), 1);
    EXPECT_INT(shop_lines(shop, "RUN_STARTED"), 1);
    EXPECT_INT(shop_lines(shop, "succeeded after 0.000 s, 42 rows"), 1);
}

TEST_SHOP(SLOT_7_what_was_missed_while_the_program_was_down_is_judged_by_its_terms,
          .virtual_time = true)
{
    _Atomic int count = 0;
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    schedule(shop, every(MINUTES(15)));
    shop_pass(shop, HOURS(1));
    EXPECT_INT(count, 4);
    pawl_time now = pawl_now(shop->pawl);
    shop_leave(shop);
    shop->options.virtual_start = now + HOURS(8) + MINUTES(3);
    shop_enter(shop);
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    schedule(shop, every(MINUTES(15)));
    shop_work(shop);
    EXPECT_INT(count, 5);  // the last one is three minutes late
    EXPECT_INT(shop_number(shop, "SELECT sum(slots) FROM slot_skips WHERE reason = 'coalesced'"),
               31);
}

TEST_SHOP(SLOT_8_a_program_triggers_a_slot_once, .virtual_time = true)
{
    _Atomic int count = 0;
    struct pawl_ticket ticket;
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    schedule(shop, every(MINUTES(15)));
    pawl_time slot = pawl_now(shop->pawl) / SECONDS(1) * SECONDS(1);
    MUST(pawl_trigger(shop->pawl, "notes", slot, &ticket, &err));
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT(!pawl_trigger(shop->pawl, "notes", slot, NULL, &err));
    EXPECT_INT(err.code, PAWL_SLOT_CLAIMED);
    MUST(pawl_schedule_pause(shop->pawl, "notes", true, &err));
    shop_pass(shop, HOURS(1));
    EXPECT_INT(count, 1);
    MUST(pawl_schedule_pause(shop->pawl, "notes", false, &err));
    MUST(pawl_schedule_remove(shop->pawl, "notes", &err));
    shop_pass(shop, HOURS(1));
    EXPECT_INT(count, 1);
}

TEST_SHOP(SLOT_7_bad_schedules_are_refused_by_name, .virtual_time = true)
{
    struct pawl_error err = {0};
    EXPECT(!pawl_schedule(shop->pawl, NULL, &err));
    EXPECT_INT(err.code, PAWL_USAGE);
    struct pawl_schedule bad = every(MINUTES(15));
    bad.policy = "no such";
    EXPECT(!pawl_schedule(shop->pawl, &bad, &err));
    EXPECT_INT(err.code, PAWL_INVALID);
    EXPECT(!pawl_schedule(shop->pawl, &(struct pawl_schedule){ .name = "x" }, &err));
    EXPECT(strstr(err.message, "coalesce") && strstr(err.message, "job_type"));
    EXPECT(!pawl_trigger(shop->pawl, "x", SECONDS(1), NULL, &err));
    EXPECT_INT(err.code, PAWL_NOT_FOUND);
}

TEST_SHOP(RUN_10_slots_come_by_themselves_while_the_runner_works, .workers = 2)
{
    _Atomic int count = 0;
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    shop_start(shop);
    schedule(shop, every(SECONDS(1)));  // after the start: it takes part from now on
    WAIT_FOR(count >= 3);
    EXPECT(shop_number(shop, "SELECT count(*) FROM job_runs WHERE status = 'success'") >= 2);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM job_runs r JOIN jobs j ON j.id = r.job"
                                 " WHERE j.created_at < r.scheduled_for"),
               0);
}

TEST_SHOP(SLOT_1_the_lead_is_given_up_when_the_program_stops, .workers = 2)
{
    _Atomic int count = 0;
    shop_handle(shop, (struct pawl_handler){ "note", .prepare = note, .context = &count });
    schedule(shop, every(HOURS(1)));
    shop_start(shop);
    WAIT_FOR(pawl_figures(shop->pawl).leads == 1);
    shop_leave(shop);
    EXPECT_INT(box_number(&shop->box, "SELECT count(*) FROM leader WHERE expires_at >"
                                      " (SELECT max(at) FROM audit_events)"),
               0);
    shop_enter(shop);
}
