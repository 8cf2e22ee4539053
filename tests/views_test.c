// What people see of workers, limits, alerts, traces, orgs, schedules and the audit trail: read
// from the store, for one org or all.
#include "limited.h"

#include "engine/alert.h"
#include "engine/api_key.h"
#include "engine/seal.h"
#include "engine/sweep.h"
#include "engine/trace.h"
#include "engine/workers.h"
#include "slots.h"

// ----- workers

static struct live_worker *workers(struct box *box, size_t limit, size_t *count)
{
    struct live_worker *list = NULL;
    OK(workers_live(tx, limit, &list, count, err));
    return list;
}

TEST_EACH_DB(WORKERS_that_hold_leases_are_listed_the_busiest_first)
{
    size_t count = 0;
    struct claimed *claimed = NULL;
    for (int i = 0; i < 3; i++)
        must_enqueue(box, "report");
    workers(box, 10, &count);
    EXPECT_INT(count, 0);
    must_claim(box, "A");
    EXPECT_INT(claim_some(box, "B", 2, &claimed), 2);
    struct live_worker *list = workers(box, 10, &count);
    EXPECT_INT(count, 2);
    EXPECT_STR(list[0].worker_id, "B");
    EXPECT_INT(list[0].executions, 2);
    EXPECT_STR(list[0].instance, "test");
    EXPECT(list[0].lease_expires_at > list[0].first_seen_at && list[0].first_seen_at > 0);
    EXPECT_STR(list[1].worker_id, "A");
    workers(box, 1, &count);
    EXPECT_INT(count, 1);
    speak_for(box, ORG_B);  // which has none
    workers(box, 10, &count);
    EXPECT_INT(count, 0);
}

TEST_EACH_DB(WORKERS_of_pawls_own_are_listed_to_every_org_while_they_live)
{
    size_t count = 0;
    struct instance web = { S("web-1"), S("boot-1") }, test = { S("test"), S("boot-1") };
    OK(instance_enter(tx, &web, true, err));
    OK(instance_enter(tx, &test, true, err));
    must_enqueue(box, "report");
    must_claim(box, "A");  // of the instance `test`
    struct live_worker *list = workers(box, 10, &count);
    EXPECT_INT(count, 2);
    EXPECT_STR(list[0].worker_id, "A");
    EXPECT_STR(list[1].worker_id, "web-1");
    EXPECT_STR(list[1].instance, "web-1");
    EXPECT_INT(list[1].executions, 0);
    EXPECT(list[1].first_seen_at > 0 && list[1].lease_expires_at == 0);
    workers(box, 1, &count);
    EXPECT_INT(count, 1);
    speak_for(box, ORG_B);
    list = workers(box, 10, &count);
    EXPECT_INT(count, 2);
    EXPECT_INT(list[0].executions + list[1].executions, 0);
    OK(instance_leave(tx, &web, err));
    list = workers(box, 10, &count);
    EXPECT_INT(count, 1);
    EXPECT_STR(list[0].instance, "test");
    pass(box, HOURS(1));
    workers(box, 10, &count);
    EXPECT_INT(count, 0);
}

// ----- limits

static struct limits_view limits_seen_by(struct box *box, struct str org)
{
    struct limits_view view;
    speak_for(box, org);
    OK(limits_view(tx, &view, err));
    return view;
}

static int64_t running(const struct limits_view *view, enum limit_scope scope)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->rows[i].scope == scope)
            return view->uses[i] ? view->uses[i]->running : -1;
    return -2;
}

TEST_EACH_DB(LIMIT_an_org_sees_what_holds_for_it_and_what_of_its_own_runs)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .org = ORG_A }, 2);
    limited_add_many(box, (struct mail){ .org = ORG_B }, 1);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 10 });
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 4 });
    limit_on(box, LIMIT_QUEUE, S("q:default"), (struct limit){ .rate = rate_of("100/s") });
    limit_on(box, LIMIT_ORG, ORG_B, (struct limit){ .max_running = 5 });
    EXPECT_INT(limited_claim(box, 100, &claimed, NULL), 3);

    struct limits_view everyone = limits_seen_by(box, S(""));
    EXPECT_INT(everyone.count, 4);
    EXPECT_INT(running(&everyone, LIMIT_TYPE), 3);
    EXPECT_INT(running(&everyone, LIMIT_ORG), 1);
    EXPECT_INT(running(&everyone, LIMIT_KEY), -1);    // each key has its own number
    EXPECT_INT(running(&everyone, LIMIT_QUEUE), -1);  // it has none
    struct limits_view one = limits_seen_by(box, ORG_A);
    EXPECT_INT(one.count, 3);
    EXPECT_INT(running(&one, LIMIT_ORG), -2);   // another's is not shown ...
    EXPECT_INT(running(&one, LIMIT_TYPE), -1);  // ... nor what others run
    struct limits_view other = limits_seen_by(box, ORG_B);
    EXPECT_INT(other.count, 4);
    EXPECT_INT(running(&other, LIMIT_ORG), 1);
}

TEST_EACH_DB(LIMIT_of_every_org_an_org_sees_its_own_use)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .org = ORG_A }, 2);
    limit_on(box, LIMIT_ORG, S(""), (struct limit){ .max_running = 5 });
    EXPECT_INT(limited_claim(box, 100, &claimed, NULL), 2);
    struct limits_view own = limits_seen_by(box, ORG_A), all = limits_seen_by(box, S(""));
    EXPECT_INT(running(&own, LIMIT_ORG), 2);
    EXPECT_INT(running(&all, LIMIT_ORG), -1);
}

// ----- alerts

static void dead(struct box *box, const char *job_type)
{
    must_enqueue(box, job_type);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
}

TEST_EACH_DB(OPS_8_the_newest_alerts_are_listed_first)
{
    struct alert_target target = { .name = S("pager"), .kinds = alert_all_kinds() };
    struct alert *list = NULL;
    size_t count = 0;
    OK(alert_target_put(tx, &target, err));
    OK(alert_list(tx, 10, &list, &count, err));
    EXPECT_INT(count, 0);
    dead(box, "first");
    dead(box, "second");
    dead(box, "third");
    OK(alert_list(tx, 2, &list, &count, err));
    EXPECT_INT(count, 2);
    EXPECT_STR(list[0].job_type, "third");
    EXPECT_STR(list[1].job_type, "second");
    EXPECT_STR(list[1].target, "pager");
    struct alert none;
    REFUSED(PAWL_NOT_FOUND, alert_load(tx, list[0].id + 1, &none, err));
}

TEST_EACH_DB(OPS_8_a_summary_names_the_largest_groups_and_counts_the_others)
{
    enum { TYPES = ALERT_GROUPS_MAX + 3 };
    struct alert_target target = { .name = S("pager"), .kinds = alert_all_kinds() };
    OK(alert_target_put(tx, &target, err));
    for (int i = 0; i < TYPES; i++)
        dead(box, str_format(test_arena(), "type_%d", i).s);
    dead(box, "type_5");
    dead(box, "type_5");
    struct parcel parcel;
    struct alert_taking taking = {
        .target = target.id,
        .owner = S("me"),
        .lease_us = SECONDS(10),
        .allowance = 1,
    };
    struct alert_summary summary;
    OK(alert_take(tx, &taking, &parcel, err));
    OK(alert_summarise(tx, parcel.first, &summary, err));
    EXPECT(parcel.summary);
    EXPECT_INT(summary.count, TYPES + 2);
    EXPECT_INT(summary.group_count, ALERT_GROUPS_MAX);
    EXPECT_INT(summary.others, TYPES - ALERT_GROUPS_MAX);
    EXPECT_STR(summary.groups[0].job_type, "type_5");
    EXPECT_INT(summary.groups[0].count, 3);
}

// ----- traces

#define MADE_IN "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

TEST_EACH_DB(OPS_14_a_trace_tells_of_a_job_and_of_each_attempt)
{
    struct contract contract = contract_for(box, "report");
    contract.traceparent = S(MADE_IN);
    struct job job = must_add(box, &contract);
    struct traced_job traced;
    struct traced_execution attempt;
    bool found = false;
    OK(traced_job_load(tx, job.id.high, &traced, &found, err));
    EXPECT(found && id_eq(traced.id, job.id));
    EXPECT_STR(traced.traceparent, MADE_IN);
    EXPECT_STR(traced.job_type, "report");
    EXPECT_STR(traced.queue, "q:default");
    EXPECT(str_eq(traced.org_id, box->caller.org_id));
    OK(traced_job_load(tx, job.id.high + 1, &traced, &found, err));
    EXPECT(!found);

    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    OK(traced_execution_load(tx, job.id.high, 1, &attempt, &found, err));
    EXPECT(found && id_eq(attempt.id, lease.execution));
    EXPECT(attempt.started_at >= attempt.leased_at && attempt.finished_at >= attempt.started_at);
    EXPECT_STR(attempt.error_class, "transient");
    OK(traced_execution_load(tx, job.id.high, 2, &attempt, &found, err));
    EXPECT(!found);
}

TEST_EACH_DB(OPS_14_what_an_execution_does_is_in_the_trace_of_its_job)
{
    struct contract contract = contract_for(box, "report");
    contract.traceparent = S(MADE_IN);
    must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    struct str context;
    struct trace own;
    OK(traced_context(tx, lease.execution, TRACE_OFF, &context, err));
    EXPECT_STR(context, MADE_IN);
    OK(traced_context(tx, lease.execution, TRACE_ALWAYS, &context, err));
    EXPECT(trace_parse(context, &own) && own.id[0] == 0x4bf92f3577b34da6U);
    EXPECT(own.sampled && own.span != 0x00f067aa0ba902b7U);
    lease.execution.high++;  // there is no such execution
    OK(traced_context(tx, lease.execution, TRACE_ALWAYS, &context, err));
    EXPECT_STR(context, "");
}

// ----- orgs

TEST_EACH_DB(OPS_19_orgs_are_listed_in_pages_the_oldest_first)
{
    struct org_list list;
    struct org org;
    limited_add(box, (struct mail){ .org = ORG_A });
    limited_add(box, (struct mail){ .org = ORG_B });
    OK(org_list(tx, 0, 1, &list, err));
    EXPECT_INT(list.count, 1);
    EXPECT(str_eq(list.orgs[0].org_id, ORG_A) && list.next != 0);
    OK_FROM(list, org_list(tx, list.next, 10, &list, err));
    EXPECT_INT(list.count, 1);
    EXPECT(str_eq(list.orgs[0].org_id, ORG_B) && list.next == 0);
    OK(org_list(tx, 0, 0, &list, err));  // as many as a page may have
    EXPECT_INT(list.count, 2);
    OK(org_load(tx, ORG_B, &org, err));
    EXPECT(org.row == list.orgs[1].row && !org.disabled_at && !org.erased_at);
    REFUSED(PAWL_NOT_FOUND, org_load(tx, S("nobody"), &org, err));
}

// ----- schedules

TEST_EACH_DB(SLOT_what_a_configuration_has_no_more_is_removed_and_nothing_else)
{
    struct schedule kept = every_five_minutes(), gone = kept, of_program = kept;
    enum schedule_put what;
    size_t removed = 0;
    gone.name = S("gone");
    of_program.name = S("program");
    OK(schedule_put(tx, &kept, SCHEDULE_FROM_CONFIG, &what, err));
    OK(schedule_put(tx, &gone, SCHEDULE_FROM_CONFIG, &what, err));
    OK(schedule_put(tx, &of_program, SCHEDULE_FROM_PROGRAM, &what, err));
    int64_t id = seen(box, kept.name.s).id;
    OK(schedules_keep_only(tx, SCHEDULE_FROM_CONFIG, &id, 1, &removed, err));
    EXPECT_INT(removed, 1);
    struct schedule_view view;
    OK(schedule_load(tx, kept.name, &view, err));
    OK(schedule_load(tx, of_program.name, &view, err));
    REFUSED(PAWL_NOT_FOUND, schedule_load(tx, gone.name, &view, err));
}

TEST_EACH_DB(SLOT_what_was_skipped_is_listed_in_pages_the_newest_first)
{
    struct schedule schedule = every_five_minutes();
    struct skip_list list, rest;
    put(box, &schedule);
    for (int i = 0; i < 2; i++) {
        OK(schedule_pause(tx, schedule.name, err));
        to_next_slot(box);
        tick(box);
        OK(schedule_resume(tx, schedule.name, err));
        to_next_slot(box);
        tick(box);
        work(box);
    }
    OK(schedule_skips(tx, schedule.name, 0, 10, &list, err));
    EXPECT(list.count >= 2 && list.next == 0);
    OK(schedule_skips(tx, schedule.name, 0, 1, &rest, err));
    EXPECT(rest.count == 1 && rest.next != 0);
    EXPECT(rest.skips[0].scheduled_for == list.skips[0].scheduled_for);
    OK_FROM(rest, schedule_skips(tx, schedule.name, rest.next, 1, &rest, err));
    EXPECT(rest.skips[0].scheduled_for == list.skips[1].scheduled_for);
    EXPECT(list.skips[0].scheduled_for > list.skips[1].scheduled_for);
}

// ----- the audit trail

TEST_EACH_DB(OPS_11_the_trail_is_followed_without_a_gap)
{
    int64_t after = 0, all = 0, pages = 0;
    struct event_list list;
    for (int i = 0; i < 4; i++)
        must_enqueue(box, "report");
    limited_add(box, (struct mail){ .org = ORG_B });  // another's: not seen
    do {
        int64_t before = after;
        OK_FROM(after, events_after(tx, &after, 3, &list, err));
        for (size_t i = 0; i < list.count; i++) {
            EXPECT(list.events[i].id > before && list.events[i].id <= after);
            EXPECT(str_eq(list.events[i].org_id, box->caller.org_id));
            before = list.events[i].id;
        }
        all += (int64_t)list.count;
        pages++;
    } while (list.next);
    EXPECT(pages >= 2);
    EXPECT_INT(all, box_number(box, "SELECT count(*) FROM audit_events WHERE org = 1"));
}

TEST_EACH_DB(OPS_11_the_trail_is_found_by_time)
{
    int64_t id = -1;
    OK(events_before(tx, box->world.wall, &id, err));
    EXPECT_INT(id, box_number(box, "SELECT coalesce(max(id), 0) FROM audit_events"));
    must_enqueue(box, "first");
    int64_t first = box_number(box, "SELECT max(id) FROM audit_events");
    pass(box, HOURS(1));
    must_enqueue(box, "second");
    pass(box, HOURS(1));
    OK(events_before(tx, box->world.wall - HOURS(1), &id, err));
    EXPECT_INT(id, first);
    OK(events_before(tx, box->world.wall, &id, err));
    EXPECT_INT(id, box_number(box, "SELECT max(id) FROM audit_events"));
    OK(events_before(tx, 1, &id, err));
    EXPECT_INT(id, 0);
}

TEST_EACH_DB(OPS_11_the_seal_over_an_event_is_found)
{
    struct seals sealed = {0};
    struct seal newest, over;
    must_enqueue(box, "report");
    OK(seals_make(tx, 1, true, &sealed, err) && seals_put(tx, &sealed, err));
    OK(seal_newest(tx, &newest, err));
    EXPECT(newest.number > 0);
    OK(seal_over(tx, 1, newest.last_id, &over, err));
    EXPECT_INT(over.number, newest.number);
    OK(seal_over(tx, 1, newest.last_id + 1, &over, err));
    EXPECT_INT(over.number, 0);
}
