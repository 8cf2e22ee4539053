// Queues that are paused, resumed and emptied. Every test ends with `verify`, which recounts what
// the counters say.
#include "queues.h"

TEST_EACH_DB(OPS_3_a_paused_queue_takes_jobs_and_gives_none)
{
    queue_add(box, (struct wish){0});
    struct lease running = must_start(box, "A");
    speak_for(box, S(""));
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_pause(tx, S("q:default"), err));
    queue_add(box, (struct wish){ .org = ORG_A });
    EXPECT_INT(queue_take(box, 10), 0);
    box_reopen(box);
    EXPECT_INT(queue_take(box, 10), 0);
    speak_for(box, DEFAULT_ORG);
    must_commit(box, &running);  // what runs goes on
    speak_for(box, S(""));
    EXPECT(queue_seen(box, S("q:default")).paused_at != 0);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 10), 1);
}

TEST_EACH_DB(OPS_3_a_resumed_queue_is_news)
{
    OK(queue_pause(tx, S("q:default"), err));
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(queue_resume(&tx, S("q:default"), &err));
    EXPECT(tx.news);
    box_commit(&tx);
    box_begin(box, &tx);
    MUST(queue_resume(&tx, S("q:default"), &err));
    EXPECT(!tx.news);
    box_commit(&tx);
}

TEST_EACH_DB(OPS_19_every_change_to_a_queue_is_audited_once)
{
    static const char count[] = "SELECT count(*) FROM pawl_audit WHERE subject = 'queue:q:default'";
    struct str mine = box->caller.org_id;
    queue_add(box, (struct wish){0});
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_resume(tx, S("q:default"), err));
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(box_number(box, count), 2);
    EXPECT(str_eq(box_text(box, "SELECT org_id FROM pawl_audit WHERE event = 'queue.paused'"),
                  mine));
    speak_for(box, S(""));
    OK(queue_pause(tx, S("q:default"), err));
    OK(queue_resume(tx, S("q:default"), err));
    struct purge purge = { .queue = S("q:default") };
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 1, err));
    EXPECT_INT(box_number(box, count), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'queue.purged' "
                               "AND org_id IS NULL"),
               1);
}

TEST_EACH_DB(OPS_3_a_queue_nobody_knows_is_not_found)
{
    REFUSED(PAWL_NOT_FOUND, queue_pause(tx, S("typo"), err));
    REFUSED(PAWL_NOT_FOUND, queue_resume(tx, S("typo"), err));
    struct purge purge = { .queue = S("typo") };
    REFUSED(PAWL_NOT_FOUND, queue_purge(tx, &purge, 10, err));
    OK(queue_pause(tx, S("q:exports"), err));  // not used yet, but one of the seven
}

TEST_EACH_DB(OPS_10_an_org_pauses_its_own_share_only)
{
    struct claimed *claimed = NULL;
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    for (int i = 0; i < 5; i++) {
        queue_add(box, (struct wish){ .org = ORG_A });
        queue_add(box, (struct wish){ .org = ORG_B });
    }
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 0);  // its own worker
    box_reopen(box);
    EXPECT_INT(queue_claim(box, 10, NULL, &claimed), 5);  // one of every org
    for (size_t i = 0; i < 5; i++)
        EXPECT(str_eq(claimed[i].job.contract.org_id, ORG_B));
    EXPECT(queue_seen(box, S("q:default")).share_paused_at != 0);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], 5);
    speak_for(box, ORG_B);
    EXPECT_INT(queue_seen(box, S("q:default")).share_paused_at, 0);
    speak_for(box, ORG_A);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 10), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM queue_pauses"), 0);
}

// Paused jobs that stand before others are not looked at.
TEST_EACH_DB(OPS_3_paused_jobs_do_not_keep_others_waiting)
{
    enum { PAUSED = 1200 };
    queue_add_many(box, (struct wish){ .org = ORG_A }, PAUSED);
    queue_add(box, (struct wish){ .org = ORG_B });
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 1), 1);
    EXPECT_INT(queue_take(box, 1), 0);
    queue_add(box, (struct wish){ .org = ORG_B });
    EXPECT_INT(queue_take(box, 1), 1);
    EXPECT_INT(queue_seen(box, S("q:default")).at[PLACE_READY], PAUSED);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 1000), 1000);
    EXPECT_INT(queue_take(box, 1000), 200);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM queue_pauses"), 0);
}

TEST_EACH_DB(OPS_3_a_share_is_paused_and_resumed_as_often_as_one_likes)
{
    queue_add_many(box, (struct wish){ .org = ORG_A }, 20);
    speak_for(box, ORG_A);
    for (int i = 0; i < 3; i++) {
        OK(queue_pause(tx, S("q:default"), err));
        OK(queue_pause(tx, S("q:default"), err));
        EXPECT_INT(queue_take(box, 10), 0);
        OK(queue_resume(tx, S("q:default"), err));
        EXPECT_INT(queue_take(box, 5), 5);
    }
}

// What a paused share holds can be changed, cancelled and overtaken like every other ready job.
TEST_EACH_DB(OPS_3_a_job_of_a_paused_share_is_ready_to_everybody_else)
{
    struct job held = queue_add(box, (struct wish){ .serial_key = S("k"), .hold = true });
    struct job head = queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job other = queue_add(box, (struct wish){0}), moved = queue_add(box, (struct wish){0});
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 10), 0);
    EXPECT_INT(must_load(box, head.id).phase, PHASE_READY);
    OK_FROM(other, job_cancel(tx, other.id, &other, err));
    struct job_change change = { .has_queue = true, .queue = S("q:exports") };
    OK_FROM(moved, job_change(tx, moved.id, &change, &moved, err));
    OK_FROM(held, job_submit(tx, held.id, &held, err));  // older: takes the turn of the other one
    EXPECT_INT(must_load(box, head.id).phase, PHASE_BLOCKED);
    EXPECT_INT(queue_take(box, 10), 1);
    EXPECT_INT(must_load(box, moved.id).state, JOB_RUNNING);
    OK(queue_resume(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 10), 1);
    EXPECT_INT(must_load(box, held.id).state, JOB_RUNNING);
}

// ----- purge

static size_t purge(struct box *box, struct str queue, size_t limit)
{
    struct purge purge = { .queue = queue };
    size_t ended = 0;
    while (!purge.done) {
        OK_FROM(purge, queue_purge(tx, &purge, limit, err));
        ended += purge.ended;
    }
    return ended;
}

TEST_EACH_DB(JOB_11_a_purge_ends_what_waits_and_leaves_what_runs)
{
    queue_add(box, (struct wish){0});
    struct lease running = must_start(box, "A");
    struct job ready = queue_add(box, (struct wish){0});
    struct job held = queue_add(box, (struct wish){ .hold = true });
    struct job delayed = queue_add(box, (struct wish){ .delay_us = HOURS(1) });
    struct job first = queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job blocked = queue_add(box, (struct wish){ .serial_key = S("k") });
    struct job elsewhere = queue_add(box, (struct wish){ .queue = S("q:exports") });
    struct job foreign = queue_add(box, (struct wish){ .org = ORG_B });
    int64_t waiting = 0;
    OK(queue_waiting(tx, S("q:default"), &waiting, err));
    EXPECT_INT(waiting, 5);
    EXPECT_INT(purge(box, S("q:default"), 2), 5);
    const struct job *queued[] = { &ready, &delayed, &first, &blocked };
    for (size_t i = 0; i < countof(queued); i++) {
        struct job job = must_load(box, queued[i]->id);
        EXPECT_INT(job.state, JOB_FAILED);
        EXPECT_INT(job.failure_type, FAILURE_RESOURCE_EXHAUSTED);
        EXPECT_INT(events(box, job.id, EVENT_JOB_FAILED), 1);
    }
    EXPECT_INT(must_load(box, held.id).failure_type, FAILURE_CANCELLED);
    EXPECT_INT(must_load(box, elsewhere.id).state, JOB_QUEUED);
    speak_for(box, ORG_B);
    EXPECT_INT(must_load(box, foreign.id).state, JOB_QUEUED);
    speak_for(box, DEFAULT_ORG);
    must_commit(box, &running);
    EXPECT_INT(purge(box, S("q:default"), 2), 0);
    speak_for(box, S(""));
    EXPECT_INT(purge(box, S("q:default"), 2), 1);
}

TEST_EACH_DB(JOB_11_a_purge_ends_what_is_paused_too)
{
    queue_add_many(box, (struct wish){ .org = ORG_A }, 20);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 20);
    speak_for(box, ORG_A);
    OK(queue_pause(tx, S("q:default"), err));
    speak_for(box, ORG_B);
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(queue_take(box, 10), 0);
    EXPECT_INT(purge(box, S("q:default"), 7), 20);
    speak_for(box, S(""));
    EXPECT_INT(purge(box, S("q:default"), 7), 20);
}

// A producer that goes on does not keep a purge from ending.
TEST_EACH_DB(JOB_11_jobs_that_come_during_a_purge_stay)
{
    struct purge purge = { .queue = S("q:default") };
    size_t ended = 0;
    queue_add_many(box, (struct wish){0}, 10);
    while (!purge.done) {
        OK_FROM(purge, queue_purge(tx, &purge, 3, err));
        ended += purge.ended;
        queue_add(box, (struct wish){0});
    }
    EXPECT_INT(ended, 10);
    EXPECT(queue_seen(box, S("q:default")).at[PLACE_READY] >= 5);
}

TEST_EACH_DB(JOB_11_a_purge_that_was_interrupted_begins_again)
{
    struct purge cut = { .queue = S("q:default") };
    queue_add_many(box, (struct wish){0}, 10);
    OK_FROM(cut, queue_purge(tx, &cut, 3, err));  // nothing is parked
    OK_FROM(cut, queue_purge(tx, &cut, 3, err));
    EXPECT_INT(cut.ended, 3);
    EXPECT_INT(purge(box, S("q:default"), 3), 7);
}

// Of the queues of a configuration, and of one that has nothing but a pause.
TEST_EACH_DB(OPS_3_queues_that_never_had_a_job_are_listed_too)
{
    const struct queue_term rows[] = { { S("q:mine"), 4, 1 } };
    const struct queue_terms terms = { rows, countof(rows) };
    struct queue_view *queues = NULL;
    size_t count = 0, before = 0;
    queue_add(box, (struct wish){ .org = ORG_A });
    speak_for(box, ORG_A);
    OK(queues_list(tx, &queues, &before, err));
    box_sql(box, "INSERT INTO queues (name, created_at) VALUES ('q:rare', 1)");
    box_sql(box, "INSERT INTO queue_pauses (queue, org, paused_at, paused_by) SELECT q.id, o.id, "
                 "1, 'somebody' FROM queues q CROSS JOIN orgs o WHERE q.name = 'q:rare'");
    OK((tx->queue_terms = &terms, queues_list(tx, &queues, &count, err)));
    EXPECT_INT(count, before + 2);
}
