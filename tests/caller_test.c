// Operations of nobody: an engine that is asked without a caller, or by one that says little of
// itself, speaks for every org and in Pawl's own name.
#include "engine/queue.h"
#include "slots.h"

TEST_EACH_DB(OPS_19_a_retry_of_nobody_keeps_the_actor_of_the_job)
{
    struct job job = must_enqueue(box, "report"), retry;
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    OK((tx->caller = NULL, job_retry(tx, job.id, &retry, err)));
    EXPECT(str_eq(retry.contract.actor_id, job.contract.actor_id));
    EXPECT(str_eq(retry.contract.request_id, job.contract.request_id));
}

TEST_EACH_DB(OPS_3_a_queue_that_nobody_pauses_is_paused_for_all)
{
    struct claimed *claimed = NULL;
    must_enqueue(box, "report");
    OK((tx->caller = NULL, queue_pause(tx, S("q:default"), err)));
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 0);
}

TEST_EACH_DB(SLOT_1_a_tick_of_nobody_claims_slots_in_the_name_of_pawl)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    struct scheduling round = {
        .instance = &me,
        .limit = 10,
        .wall = world_wall(&box->world.world),
    };
    OK_FROM(round, (tx->caller = NULL, slots_tick(tx, &round, err)));
    EXPECT_INT(round.claimed, 1);
    EXPECT_STR(box_text(box, "SELECT actor_id FROM jobs"), "pawl");
}

// Of a caller without a request a slot's job has an id of its own.
TEST_EACH_DB(SLOT_8_a_trigger_by_a_caller_that_says_little_of_itself)
{
    struct schedule s = every_five_minutes();
    struct job job;
    put(box, &s);
    to_next_slot(box);
    box->caller.request_id = S("");
    OK(slot_trigger(tx, S("ingest"), slot_before_now(box), &job, err));
    EXPECT(job.contract.request_id.n > 0);
    EXPECT(str_eq(job.contract.actor_id, box->caller.actor_id));
    work(box);
    box->caller.actor_id = S("");
    OK(slot_trigger(tx, S("ingest"), slot_before_now(box) - MINUTES(5), &job, err));
    EXPECT_STR(job.contract.actor_id, "pawl");
}

TEST_EACH_DB(SLOT_10_a_schedule_of_nobody_is_refused)
{
    struct schedule s = every_five_minutes();
    enum schedule_put what;
    REFUSED(PAWL_USAGE,
            (tx->caller = NULL, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err)));
}
