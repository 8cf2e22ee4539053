// Retention: what goes, what stays, and that what stays still makes sense.
#include "engine/retention.h"

#include <string.h>

#include "artifacts.h"
#include "engine/batch.h"
#include "engine/job.h"
#include "engine/letter.h"
#include "engine/log.h"
#include "engine/schedule.h"
#include "engine/seal.h"
#include "engine/slot.h"
#include "fixture.h"

static const struct retention month = {
    .jobs_us = DAYS(30),
    .letters_us = DAYS(90),
    .logs_us = DAYS(14),
    .audit_us = DAYS(400),
};

// A whole pass, piece by piece.
static struct removing remove_all(struct box *box, struct retention keep)
{
    struct removing r = { .keep = keep };
    for (int pieces = 0; !r.done; pieces++) {
        OK_FROM_EACH(r, retention_step(tx, &r, err));
        EXPECT(r.rows < (int64_t)2 * RETENTION_ROWS_MAX);
        EXPECT(pieces < 1000);
    }
    return r;
}

static struct removing look(struct box *box, struct retention keep)
{
    struct removing r = { .keep = keep, .dry_run = true };
    struct str before = box_contents(box);
    while (!r.done)
        OK_FROM_EACH(r, retention_step(tx, &r, err));
    EXPECT(str_eq(before, box_contents(box)));
    return r;
}

static void seal_all(struct box *box)
{
    struct seals seals = { .more = true };
    while (seals.more)
        OK(seals_make(tx, 20, true, &seals, err) && seals_put(tx, &seals, err));
}

static int64_t findings(struct box *box)
{
    struct seals_checked checked;
    struct pawl_error err = {0};
    MUST(seals_check(box->db, &(struct seal_check){0}, &checked, &err));
    return checked.findings;
}

static int64_t count(struct box *box, const char *table)
{
    return box_number(box, str_format(test_arena(), "SELECT count(*) FROM %s", table).s);
}

static struct job done_job(struct box *box, const char *type)
{
    struct job job = must_enqueue(box, type);
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    return job;
}

static struct job failed_job(struct box *box, const char *type)
{
    struct job job = must_enqueue(box, type);
    struct lease lease = must_start(box, "w");
    must_fail(box, &lease, ERROR_VALIDATION);
    return job;
}

TEST_EACH_DB(OPS_25_an_ended_job_is_removed_when_its_time_is_over_and_not_before)
{
    done_job(box, "report");
    struct job waits = must_enqueue(box, "waits");
    pass(box, DAYS(29));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 0);
    pass(box, DAYS(2));
    EXPECT_INT(look(box, month).removed[REMOVED_JOBS], 1);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 1);
    EXPECT_INT(count(box, "jobs"), 1);
    EXPECT_INT(count(box, "executions"), 0);
    EXPECT_INT(count(box, "outcomes"), 0);
    EXPECT_INT((int64_t)must_load(box, waits.id).state, (int64_t)JOB_QUEUED);
    struct str before = box_contents(box);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 0);
    EXPECT(str_eq(before, box_contents(box)));  // a second pass changes nothing
}

TEST_EACH_DB(OPS_25_with_nothing_configured_nothing_is_removed)
{
    done_job(box, "report");
    pass(box, DAYS(3000));
    seal_all(box);
    EXPECT_INT(remove_all(box, (struct retention){0}).removed[REMOVED_JOBS], 0);
    EXPECT_INT(count(box, "jobs"), 1);
}

TEST_EACH_DB(OPS_25_an_open_dead_letter_stays_and_a_closed_one_has_a_time_of_its_own)
{
    struct job open = failed_job(box, "open"), closed = failed_job(box, "closed"), job;
    (void)open;
    OK(letter_discard(tx, closed.id, S("over"), &job, err));
    pass(box, DAYS(60));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 0);
    pass(box, DAYS(31));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes WHERE dead_letter = 'open'"), 1);
}

static struct id enqueue_again(struct box *box, const struct contract *contract)
{
    struct job job;
    bool known = false;
    OK(job_enqueue(tx, contract, &job, &known, err));
    EXPECT(known);
    return job.id;
}

TEST_EACH_DB(OPS_25_a_job_stays_as_long_as_its_idempotency_key_counts)
{
    struct contract contract = contract_with(box, "export", "transfer");  // keys of 30 days
    contract.idempotency_key = S("only-once");
    struct job first = must_add(box, &contract);
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    struct retention short_time = { .jobs_us = HOURS(1) };
    pass(box, DAYS(29));
    EXPECT_INT(remove_all(box, short_time).removed[REMOVED_JOBS], 0);
    EXPECT(id_eq(enqueue_again(box, &contract), first.id));
    pass(box, DAYS(2));
    EXPECT_INT(remove_all(box, short_time).removed[REMOVED_JOBS], 1);
    struct job second = must_add(box, &contract);  // its record leads nowhere, and is no obstacle
    EXPECT(!id_eq(second.id, first.id));
    EXPECT(id_eq(enqueue_again(box, &contract), second.id));
}

TEST_EACH_DB(OPS_25_the_record_of_a_key_goes_though_its_job_went_before_it)
{
    box->generation_keys = 2;
    box_reopen(box);
    for (int i = 0; i < 5; i++)
        done_job(box, "report");
    pass(box, DAYS(40));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 5);
    while (must_sweep(box).more) {}
    EXPECT(count(box, "idempotency_keys") <= 2);  // the newest generation is not swept
}

TEST_EACH_DB(OPS_25_a_job_stays_as_long_as_one_that_was_made_of_it)
{
    struct job old = done_job(box, "report"), again;
    pass(box, DAYS(20));
    OK(job_retry(tx, old.id, &again, err));
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
    pass(box, DAYS(15));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 0);
    pass(box, DAYS(20));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 1);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 1);
    EXPECT_INT(count(box, "jobs"), 0);
}

TEST_EACH_DB(OPS_25_logs_go_before_their_job_in_pieces_however_long_they_are)
{
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "w");
    for (int i = 0; i < 1300; i++) {
        struct log_line line = { .text = S("said"), .at = 1 };
        OK(log_append(tx, lease.execution, &line, 1, err));
    }
    must_commit(box, &lease);
    pass(box, DAYS(15));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_LOGS], 1300);
    EXPECT_INT(count(box, "execution_logs"), 0);
    EXPECT_INT((int64_t)must_load(box, job.id).state, (int64_t)JOB_SUCCEEDED);
}

static struct lease talking(struct box *box)
{
    struct log_line line = { .text = S("said"), .at = 1 };
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "w");
    OK(log_append(tx, lease.execution, &line, 1, err));
    return lease;
}

TEST_EACH_DB(OPS_25_logs_of_jobs_that_are_young_or_have_not_ended_stay)
{
    struct lease old = talking(box);
    must_commit(box, &old);
    talking(box);  // and goes on
    struct lease late = talking(box);
    must_fail(box, &late, ERROR_TRANSIENT);
    pass(box, DAYS(13));
    must_sweep(box);
    late = must_start(box, "w");  // long after it said something
    must_commit(box, &late);
    struct lease young = talking(box);
    must_commit(box, &young);
    pass(box, DAYS(2));
    EXPECT_INT(look(box, month).removed[REMOVED_LOGS], 1);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_LOGS], 1);
    EXPECT_INT(count(box, "execution_logs"), 3);
    struct retention longer_than_there_is_time = { .logs_us = INT64_MAX, .jobs_us = INT64_MAX };
    EXPECT_INT(remove_all(box, longer_than_there_is_time).removed[REMOVED_LOGS], 0);
    struct removing r = remove_all(box, month);
    OK_FROM(r, retention_step(tx, &r, err));  // a pass that is done stays done
    EXPECT(r.done && r.rows == 0);
}

TEST_EACH_DB(OPS_25_many_logs_that_stay_are_looked_at_in_bounded_pieces)
{
    for (int i = 0; i <= RETENTION_ROWS_MAX; i++)
        must_enqueue(box, "report");
    box_sql(box, "INSERT INTO execution_logs (job, seq, org, execution, at, text)"
                 " SELECT id, 1, org, 1, 1, 'said' FROM jobs");
    pass(box, DAYS(15));
    EXPECT_INT(look(box, month).removed[REMOVED_LOGS], 0);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_LOGS], 0);
    box_sql(box, "DELETE FROM execution_logs");
}

TEST_EACH_DB(OPS_25_artifacts_that_would_go_are_counted_by_a_look)
{
    must_store(box, "some bytes");
    must_store(box, "and more");
    pass(box, DAYS(8));
    struct retention week = { .artifacts_us = DAYS(7) };
    EXPECT_INT(look(box, week).removed[REMOVED_ARTIFACTS], 2);
    EXPECT_INT(remove_all(box, week).removed[REMOVED_ARTIFACTS], 2);
    EXPECT_INT(look(box, week).removed[REMOVED_ARTIFACTS], 0);
}

TEST_EACH_DB(OPS_25_a_job_with_a_long_log_is_removed_in_several_pieces)
{
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "w");
    for (int i = 0; i < 1300; i++) {
        struct log_line line = { .text = S("said"), .at = 1 };
        OK(log_append(tx, lease.execution, &line, 1, err));
    }
    must_commit(box, &lease);
    pass(box, DAYS(40));
    struct removing r = remove_all(box, (struct retention){ .jobs_us = DAYS(30) });
    EXPECT_INT(r.removed[REMOVED_JOBS], 1);
    EXPECT_INT(count(box, "execution_logs"), 0);
}

TEST_EACH_DB(OPS_25_many_jobs_are_removed_in_bounded_pieces)
{
    for (int i = 0; i < 400; i++)
        done_job(box, "report");
    pass(box, DAYS(31));
    struct removing r = { .keep = month };
    int64_t most = 0;
    while (!r.done) {
        OK_FROM(r, retention_step(tx, &r, err));
        most = r.rows > most ? r.rows : most;
    }
    EXPECT_INT(r.removed[REMOVED_JOBS], 400);
    EXPECT(most <= RETENTION_ROWS_MAX + 10);
    // One event for a piece, not one for a job.
    EXPECT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'jobs.removed'") < 10);
}

// ----- the audit trail

static void add_row(void *self, const struct str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(self, "%.*s|", STR(texts[i]));
}

static struct str trail(struct box *box)
{
    struct buf all = buf_new(test_arena(), 1 << 20);
    EXPECT(outside_run(box->url,
                       "SELECT id, event, at, org_id, project_id, job_id, job_type, attempt,"
                       " actor_type, actor_id, request_id, correlation_id, detail, subject"
                       " FROM pawl_audit WHERE event NOT LIKE 'jobs.%' ORDER BY id",
                       add_row, &all));
    EXPECT(!all.full && all.n > 0);
    return buf_str(&all);
}

TEST_EACH_DB(OPS_11_events_outlive_their_job_and_say_the_same_as_before)
{
    done_job(box, "report");
    failed_job(box, "other");
    struct str before = trail(box);
    seal_all(box);
    pass(box, DAYS(31));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 1);
    EXPECT(str_eq(before, trail(box)));
    EXPECT_INT(findings(box), 0);
    struct event_list list;
    OK(events_of_org(tx, &(struct event_filter){0}, &list, err));
    EXPECT(list.count > 0 && list.events[list.count - 2].job.high != 0);
}

TEST_EACH_DB(OPS_11_old_events_go_in_whole_seals_and_the_chain_still_holds)
{
    done_job(box, "report");
    failed_job(box, "kept");  // an open letter: its trail is pruned while it stays
    seal_all(box);
    pass(box, DAYS(200));
    done_job(box, "later");
    seal_all(box);
    int64_t old = box_number(box, "SELECT events FROM audit_seals WHERE seal = 1");
    pass(box, DAYS(210));
    struct retention keep = month;
    EXPECT_INT(look(box, keep).removed[REMOVED_EVENTS], old);
    struct removing r = remove_all(box, keep);
    EXPECT_INT(r.removed[REMOVED_EVENTS], old);
    EXPECT_INT(r.broken_seal, 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM audit_events WHERE id <= (SELECT last_id FROM"
                               " audit_seals WHERE seal = 1)"),
               0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'audit.pruned' AND"
                               " subject = 'seal:1'"),
               1);
    EXPECT_INT(findings(box), 0);
    seal_all(box);
    EXPECT_INT(findings(box), 0);
    // Later all of it goes, the events of the pruning too, and what was kept of removed jobs.
    pass(box, DAYS(1));
    done_job(box, "last");
    seal_all(box);
    pass(box, DAYS(500));
    remove_all(box, keep);
    seal_all(box);
    EXPECT_INT(findings(box), 0);
    EXPECT_INT(count(box, "removed_jobs"), 1);  // `last`, which this pass removed
}

// verify, which every test ends with, has nothing against it.
TEST_EACH_DB(OPS_11_a_changed_job_may_outlive_the_events_that_tell_of_it)
{
    struct job job = must_enqueue(box, "waits");
    OK(job_change(tx, job.id, &(struct job_change){ .has_priority = true, .priority = 5 }, &job,
                  err));
    pass(box, DAYS(500));
    seal_all(box);
    EXPECT(remove_all(box, month).removed[REMOVED_EVENTS] > 0);
}

TEST_EACH_DB(OPS_11_when_all_events_go_the_numbers_of_later_ones_go_on)
{
    done_job(box, "report");
    seal_all(box);
    pass(box, DAYS(500));
    int64_t last = box_number(box, "SELECT max(id) FROM audit_events");
    EXPECT(remove_all(box, month).removed[REMOVED_EVENTS] > 0);
    EXPECT(box_number(box, "SELECT min(id) FROM audit_events") > last);
    EXPECT_INT(findings(box), 0);
    done_job(box, "later");
    seal_all(box);
    EXPECT_INT(box_number(box, "SELECT max(last_id) FROM audit_seals")
                   - box_number(box, "SELECT max(id) FROM audit_events"),
               0);
    EXPECT_INT(findings(box), 0);
}

SQLITE_ONLY(OPS_11_events_that_do_not_fit_their_seal_are_not_pruned,
            "a trigger in the words of SQLite")
TEST_EACH_DB(OPS_11_events_that_do_not_fit_their_seal_are_not_pruned)
{
    done_job(box, "report");
    seal_all(box);
    box_sql(box, "DROP TRIGGER audit_no_update; UPDATE audit_events SET at = at - 1 WHERE id = 2;"
                 "CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit_events"
                 " BEGIN SELECT RAISE(ABORT, 'append-only'); END");
    box->damaged = true;
    pass(box, DAYS(500));
    struct removing r = remove_all(box, month);
    EXPECT_INT(r.removed[REMOVED_EVENTS], 0);
    EXPECT_INT(r.broken_seal, 1);
    EXPECT(findings(box) > 0);
}

SQLITE_ONLY(OPS_11_events_of_which_one_is_missing_are_not_pruned,
            "a trigger in the words of SQLite")
TEST_EACH_DB(OPS_11_events_of_which_one_is_missing_are_not_pruned)
{
    done_job(box, "report");
    seal_all(box);
    box_sql(box, "DROP TRIGGER audit_no_delete; DELETE FROM audit_events WHERE id = 2");
    box->damaged = true;
    pass(box, DAYS(500));
    struct removing r = remove_all(box, month);
    EXPECT_INT(r.removed[REMOVED_EVENTS], 0);
    EXPECT_INT(r.broken_seal, 1);
}

SQLITE_ONLY(OPS_11_events_whose_seal_was_changed_are_not_pruned, "a trigger in the words of SQLite")
TEST_EACH_DB(OPS_11_events_whose_seal_was_changed_are_not_pruned)
{
    done_job(box, "report");
    seal_all(box);
    box_sql(box, "DROP TRIGGER audit_seals_stay; UPDATE audit_seals SET sealed_at = sealed_at + 1");
    box->damaged = true;
    pass(box, DAYS(500));
    struct removing r = remove_all(box, month);
    EXPECT_INT(r.removed[REMOVED_EVENTS], 0);
    EXPECT_INT(r.broken_seal, 1);
}

TEST_EACH_DB(OPS_25_many_skips_are_removed_in_bounded_pieces)
{
    enum { SKIPS = RETENTION_ROWS_MAX + 1 };
    must_enqueue(box, "report");
    box_sql(box, "INSERT INTO slot_skips (org, job_name, scheduled_for, until, slots, reason,"
                 " recorded_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                 " WHERE i < 501) SELECT (SELECT min(id) FROM orgs), 'nightly', i, i, 1,"
                 " 'misfire', 1 FROM n");
    EXPECT_INT(look(box, month).removed[REMOVED_SKIPS], SKIPS);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_SKIPS], SKIPS);
    EXPECT_INT(count(box, "slot_skips"), 0);
}

TEST_EACH_DB(OPS_25_the_slots_of_removed_jobs_and_old_skips_go_too)
{
    struct schedule schedule = {
        .name = S("nightly"), .job_type = S("note"), .every_us = HOURS(1), .coalesce_said = true,
        .misfire_grace_us = HOURS(1), .max_instances = 1, .expected_us = HOURS(1),
    };
    enum schedule_put what;
    struct instance instance = { S("here"), S("boot") };
    OK(schedule_put(tx, &schedule, SCHEDULE_FROM_API, &what, err));
    for (int i = 0; i < 3; i++) {
        struct scheduling round = { .instance = &instance, .wall = box->world.wall, .limit = 10 };
        pass(box, HOURS(1));
        round.wall = world_wall(&box->world.world);
        OK_FROM(round, slots_tick(tx, &round, err));
    }
    while (box_number(box, "SELECT count(*) FROM ready") > 0) {
        struct lease lease = must_start(box, "w");
        must_commit(box, &lease);
    }
    int64_t slots = count(box, "job_runs");
    EXPECT(slots > 0);
    pass(box, DAYS(40));
    struct removing r = remove_all(box, month);
    EXPECT_INT(r.removed[REMOVED_JOBS], slots);
    EXPECT_INT(count(box, "job_runs"), 0);
    EXPECT_INT(count(box, "slot_skips"), 0);
}

// ----- what belongs together

static void run_one(struct box *box)
{
    struct lease lease = must_start(box, "w");
    must_commit(box, &lease);
}

// Both hold: nothing is removed that somebody waits for, and when nobody does all of it goes.
TEST_EACH_DB(OPS_25_what_others_wait_for_stays)
{
    struct contract first = contract_for(box, "first"), held = contract_for(box, "second");
    struct job awaited = must_add(box, &first);
    held.after = &awaited.id;
    held.after_count = 1;
    held.hold = true;
    struct job waiting = must_add(box, &held);
    run_one(box);
    pass(box, DAYS(60));
    remove_all(box, month);
    EXPECT_INT(count(box, "jobs"), 1);  // its wait is over, and it is held
    OK_FROM(waiting, job_submit(tx, waiting.id, &waiting, err));
    run_one(box);
    pass(box, DAYS(60));
    remove_all(box, month);
    EXPECT_INT(count(box, "jobs"), 0);
    EXPECT_INT(count(box, "job_links"), 0);
}

TEST_EACH_DB(OPS_25_a_batch_goes_after_its_jobs_and_before_its_callback)
{
    struct contract jobs[] = { contract_for(box, "a"), contract_for(box, "b") };
    struct contract callback = contract_for(box, "callback");
    struct problems problems = { .arena = test_arena() };
    struct batch_request request = {
        .org_id = DEFAULT_ORG,
        .jobs = jobs,
        .count = countof(jobs),
        .callback = &callback,
        .problems = &problems,
    };
    struct job_batch batch;
    bool known = false;
    OK(batch_create(tx, &request, &batch, &known, err));
    run_one(box);
    pass(box, DAYS(60));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 0);  // one has not ended
    run_one(box);
    run_one(box);  // the callback
    pass(box, DAYS(60));
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 2);
    EXPECT_INT(count(box, "job_batches"), 0);
    EXPECT_INT(remove_all(box, month).removed[REMOVED_JOBS], 1);
    EXPECT_INT(count(box, "jobs"), 0);
}
