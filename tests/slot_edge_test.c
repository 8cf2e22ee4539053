// Slots at the edges: claimed ahead of their time, one behind another, refused, and damaged.
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
