// Alerts: what raises one, who delivers it, and that a storm is told once.
#include "fixture.h"

#include <string.h>

#include "engine/alert.h"
#include "engine/slot.h"
#include "slots.h"

static struct alert_target target_of(struct box *box, const char *name, int64_t kinds)
{
    struct alert_target target = { .name = str_of(name), .kinds = kinds };
    OK(alert_target_put(tx, &target, err));
    return target;
}

static struct alert_target pager(struct box *box)
{
    return target_of(box, "pager", alert_all_kinds());
}

static struct job dead(struct box *box)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    return job;
}

static struct parcel take_as(struct box *box, const char *owner, int64_t target, int64_t allowance)
{
    struct parcel parcel;
    struct alert_taking taking = {
        .target = target,
        .owner = str_of(owner),
        .lease_us = SECONDS(10),
        .allowance = allowance,
    };
    OK(alert_take(tx, &taking, &parcel, err));
    return parcel;
}

static struct parcel take(struct box *box, int64_t target)
{
    return take_as(box, "me", target, 20);
}

static void settle(struct box *box, const struct parcel *parcel, struct alert_outcome outcome)
{
    OK(alert_settle(tx, parcel, &outcome, err));
}

static int64_t alerts(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM alert_deliveries");
}

// ----- what raises one

TEST_EACH_DB(OPS_8_a_dead_letter_raises_an_alert_for_each_target_that_wants_it)
{
    struct alert_target all = pager(box);
    target_of(box, "slots", alert_bit(ALERT_SCHEDULED_FAILED));
    struct job job = dead(box);
    EXPECT_INT(alerts(box), 1);
    struct parcel parcel = take(box, all.id);
    EXPECT_INT(parcel.kind, ALERT_DEAD_LETTER);
    EXPECT(id_eq(parcel.job, job.id) && !parcel.summary);
    struct alert alert;
    OK(alert_load(tx, parcel.first, &alert, err));
    EXPECT_STR(alert.job_type, "report");
    EXPECT_STR(alert.queue, "q:default");
    EXPECT_STR(alert.state, "FAILED");
    EXPECT_STR(alert.error_class, "validation");
    EXPECT(str_eq(alert.org_id, box->caller.org_id));
}

TEST_EACH_DB(OPS_8_without_targets_nothing_is_written)
{
    dead(box);
    EXPECT_INT(alerts(box), 0);
    pager(box);
    pass(box, DAYS(8));  // no configuration has had it since
    dead(box);
    EXPECT_INT(alerts(box), 0);
}

TEST_EACH_DB(OPS_8_success_retries_and_cancellation_raise_none)
{
    pager(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    must_enqueue(box, "report");
    lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    struct job job = must_enqueue(box, "report");
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    struct contract quiet = contract_with(box, "report", "lifecycle");
    must_add(box, &quiet);
    lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    EXPECT_INT(alerts(box), 0);
}

TEST_EACH_DB(OPS_8_a_scheduled_job_that_fails_has_no_letter_but_an_alert)
{
    struct alert_target target = pager(box);
    struct schedule schedule = every_five_minutes();
    put(box, &schedule);
    to_next_slot(box);
    tick(box);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes WHERE dead_letter IS NOT NULL"), 0);
    EXPECT_INT(take(box, target.id).kind, ALERT_SCHEDULED_FAILED);
}

TEST_EACH_DB(EXEC_7_a_commit_phase_that_fails_max_attempts_times_raises_one_alert)
{
    struct alert_target target = pager(box);
    struct execution e;
    struct claimed *claimed = NULL;
    struct work_error error = { .class = ERROR_DEPENDENCY, .message = S("no route to host") };
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    for (int64_t i = 1; i <= job.contract.policy.max_attempts + 2; i++) {
        OK(execution_fail(tx, &lease, &error, &e, err));
        EXPECT_INT(alerts(box), i >= job.contract.policy.max_attempts);
        pass(box, HOURS(1));
        must_sweep(box);
        EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
        struct worker worker = worker_named("A");
        lease = lease_of(&claimed[0].execution, &worker);
    }
    struct parcel parcel = take(box, target.id);
    struct alert alert;
    OK(alert_load(tx, parcel.first, &alert, err));
    EXPECT_INT(alert.kind, ALERT_FINISH_FAILING);
    EXPECT(strstr(alert.finish_detail.s, "no route to host") != NULL);
}

TEST_EACH_DB(EXEC_7_a_commit_phase_of_a_job_with_one_attempt_raises_its_alert_at_once)
{
    struct execution e;
    struct work_error error = { .class = ERROR_DEPENDENCY, .message = S("no route to host") };
    struct contract contract = contract_with(box, "report", "document");
    pager(box);
    must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    OK(execution_commit(tx, &lease, &(struct commit){ .finish = true }, &e, err));
    OK(execution_fail(tx, &lease, &error, &e, err));
    EXPECT_INT(alerts(box), 1);
}

// ----- delivering

TEST_EACH_DB(OPS_17_what_was_not_acknowledged_is_taken_again_under_the_same_key)
{
    struct alert_target target = pager(box);
    struct job job = dead(box);
    struct parcel first = take(box, target.id);
    struct str key = alert_key(test_arena(), first.kind, first.job);
    EXPECT(str_starts(key, S("dead_letter:")) && str_ends(key, id_text(test_arena(), job.id)));
    box_reopen(box);  // it died before it could settle
    struct parcel again = take(box, target.id);
    EXPECT(again.first == first.first && id_eq(again.job, first.job));
    settle(box, &again, (struct alert_outcome){ .delivered = true });
    EXPECT_INT(take(box, target.id).first, 0);
}

TEST_EACH_DB(OPS_17_a_failed_delivery_waits_and_is_given_up_in_the_end)
{
    struct alert_target target = pager(box);
    pawl_time due = 0;
    dead(box);
    for (int64_t attempt = 1; attempt <= 3; attempt++) {
        struct parcel parcel = take(box, target.id);
        EXPECT_INT(parcel.attempts, attempt - 1);
        struct alert_outcome failed = { .delay_us = alert_delay_us(attempt, 0),
                                        .give_up = attempt == 3,
                                        .error = S("status 500") };
        settle(box, &parcel, failed);
        EXPECT_INT(take(box, target.id).first, 0);
        pass(box, failed.delay_us);
    }
    OK(alert_due(tx, target.id, &due, err));
    EXPECT_INT(due, 0);
    EXPECT_INT(take(box, target.id).first, 0);
    EXPECT_STR(box_text(box, "SELECT error || given_up || attempts FROM alert_deliveries"),
               "status 50013");
}

TEST(OPS_17_delays_double_up_to_ten_minutes_and_follow_what_is_asked)
{
    EXPECT_INT(alert_delay_us(1, 0), SECONDS(1));
    EXPECT_INT(alert_delay_us(2, 0), SECONDS(2));
    EXPECT_INT(alert_delay_us(10, 0), SECONDS(512));
    EXPECT_INT(alert_delay_us(11, 0), MINUTES(10));
    EXPECT_INT(alert_delay_us(1000, 0), MINUTES(10));
    EXPECT_INT(alert_delay_us(1, SECONDS(30)), SECONDS(30));
    EXPECT_INT(alert_delay_us(1, DAYS(30)), HOURS(1));
}

TEST_EACH_DB(OPS_17_one_process_delivers_and_another_takes_over_when_it_is_silent)
{
    struct alert_target target = pager(box);
    dead(box);
    EXPECT(take_as(box, "me", target.id, 20).first != 0);
    EXPECT_INT(take_as(box, "other", target.id, 20).first, 0);
    EXPECT(take_as(box, "me", target.id, 20).first != 0);
    pass(box, SECONDS(10));
    EXPECT(take_as(box, "other", target.id, 20).first != 0);
    EXPECT_INT(take_as(box, "me", target.id, 20).first, 0);
}

TEST_EACH_DB(OPS_8_each_target_has_its_own_deliveries)
{
    struct alert_target a = pager(box), b = target_of(box, "chat", alert_all_kinds());
    dead(box);
    struct parcel parcel = take(box, a.id);
    settle(box, &parcel, (struct alert_outcome){ .delivered = true });
    EXPECT_INT(take(box, a.id).first, 0);
    EXPECT(take(box, b.id).first != 0);
    OK(alert_target_drop(tx, S("chat"), err));
    EXPECT_INT(alerts(box), 1);
    dead(box);
    EXPECT_INT(alerts(box), 2);
}

TEST(OPS_8_a_target_is_sent_a_burst_and_then_so_many_a_minute)
{
    struct allowance a = { .per_minute = 10, .burst = 3 };
    int64_t now = SECONDS(1000);
    EXPECT_INT(allowance_left(&a, now), 3);
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(allowance_wait_us(&a, now), 0);
        allowance_spend(&a, now);
    }
    EXPECT_INT(allowance_left(&a, now), 0);
    EXPECT_INT(allowance_wait_us(&a, now), SECONDS(6));
    EXPECT_INT(allowance_left(&a, now + SECONDS(6) - 1), 0);
    EXPECT_INT(allowance_left(&a, now + SECONDS(6)), 1);
    EXPECT_INT(allowance_left(&a, now + SECONDS(11)), 1);
    EXPECT_INT(allowance_left(&a, now + SECONDS(18)), 3);
    EXPECT_INT(allowance_left(&a, now + HOURS(1)), 3);
}

// ----- storms

TEST_EACH_DB(OPS_8_a_storm_is_a_few_messages_and_one_summary)
{
    enum { STORM = 50 };
    struct alert_target target = pager(box);
    for (int i = 0; i < STORM; i++)
        dead(box);
    struct parcel parcel = {0};
    for (int64_t allowance = 5; allowance > 1; allowance--) {
        parcel = take_as(box, "me", target.id, allowance);
        EXPECT(parcel.first && !parcel.summary);
        settle(box, &parcel, (struct alert_outcome){ .delivered = true });
    }
    parcel = take_as(box, "me", target.id, 1);
    EXPECT(parcel.first && parcel.summary);
    struct alert_summary summary;
    OK(alert_summarise(tx, parcel.first, &summary, err));
    EXPECT_INT(summary.count, STORM - 4);
    EXPECT_INT(summary.group_count, 1);
    EXPECT_INT(summary.groups[0].count, STORM - 4);
    EXPECT_STR(summary.groups[0].job_type, "report");
    EXPECT_STR(summary.groups[0].error_kind, "validation");

    dead(box);  // while it was on its way, which failed: the summary stays what it was
    settle(box, &parcel, (struct alert_outcome){ .delay_us = SECONDS(1), .error = S("late") });
    box_reopen(box);
    pass(box, SECONDS(1));
    struct parcel single = take_as(box, "me", target.id, 2);
    EXPECT(!single.summary);
    settle(box, &single, (struct alert_outcome){ .delivered = true });
    struct parcel again = take_as(box, "me", target.id, 20);
    EXPECT(again.summary && again.first == parcel.first && again.attempts == 1);
    OK(alert_summarise(tx, again.first, &summary, err));
    EXPECT_INT(summary.count, STORM - 4);
    settle(box, &again, (struct alert_outcome){ .delivered = true });
    EXPECT_INT(take(box, target.id).first, 0);
}

TEST_EACH_DB(OPS_8_one_alert_alone_is_no_storm)
{
    struct alert_target target = pager(box);
    dead(box);
    struct parcel parcel = take_as(box, "me", target.id, 1);
    EXPECT(parcel.first && !parcel.summary);
}

TEST_EACH_DB(OPS_8_settled_alerts_are_kept_up_to_a_number)
{
    struct alert_target target = pager(box);
    for (int i = 0; i < 3; i++)
        dead(box);
    box_sql(box, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)"
                 "INSERT INTO alert_deliveries (target, kind, org, job, job_low, at, settled_at)"
                 "SELECT 1, 'dead_letter', 1, i, 1, 1, i FROM n");
    struct parcel parcel = take(box, target.id);
    settle(box, &parcel, (struct alert_outcome){ .delivered = true });
    EXPECT_INT(box_number(box, "SELECT count(settled_at) FROM alert_deliveries"), ALERTS_KEPT);
    EXPECT_INT(box_number(box, "SELECT count(due_at) FROM alert_deliveries"), 2);
}
