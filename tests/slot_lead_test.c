// Who schedules, by which clock, and what a boot finds.
#include "slots.h"

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
    struct scheduling off = {
        .instance = &me,
        .limit = 50,
        .wall = world_wall(&box->world.world) - SECONDS(61),
    };
    OK_FROM(off, slots_tick(tx, &off, err));
    EXPECT(off.clock_off && !off.leads);
    struct scheduling ahead = {
        .instance = &me,
        .limit = 50,
        .wall = world_wall(&box->world.world) + SECONDS(61),
    };
    OK_FROM(ahead, slots_tick(tx, &ahead, err));
    EXPECT(ahead.clock_off && !ahead.leads);
}

// ----- clocks

// The calendar jumps, forward and back: no slot is claimed twice, and each was run or has its
// reason.
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
    OK(instance_enter(tx, &me, true, err));
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
