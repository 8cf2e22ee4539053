// A scheduler that is killed at every named point of its tick, and schedulers that race: no slot is
// lost, none is claimed twice. Real processes on one store.
#include <stdio.h>
#include <string.h>

#include "engine/slot.h"
#include "engine/verify.h"
#include "process.h"

enum { RACERS = 8, MINUTES_BEFORE = 7, MINUTES_AFTER = 5 };

#define START 1800000030000000  // half a minute past a slot

// Where it dies: before the statement runs.
static const struct {
    const char *name, *statement;
    int64_t times;  // the first time and this one are tried
} points[] = {
    { "the lead is taken", "INSERT INTO leader", 4 },
    { "the lead is given up", "UPDATE leader SET expires_at", 1 },
    { "the due schedules are read", "SELECT id FROM schedules WHERE next_at", 4 },
    { "the schedule is loaded", "SELECT s.id, s.org", 4 },
    { "the slot is claimed", "INSERT INTO job_runs", 4 },
    { "its job is stored", "INSERT INTO jobs", 4 },
    { "its job is put in its queue", "INSERT INTO ready", 4 },
    { "the row gets its job", "UPDATE job_runs SET job", 4 },
    { "the schedule is moved on", "UPDATE schedules SET considered_to", 4 },
    { "the tick is committed", "COMMIT", 4 },
    { "the job starts", "UPDATE job_runs\n   SET started_at", 4 },
    { "the job has its effect", "INSERT INTO effects", 4 },
    { "the row is closed", "UPDATE job_runs SET status", 4 },
};

static bool keep_time(const struct scratch *scratch, int64_t from, int64_t minutes,
                      const char *point, int64_t times)
{
    char start[32], length[32], count[32];
    snprintf(start, sizeof start, "%lld", (long long)from);
    snprintf(length, sizeof length, "%lld", (long long)minutes);
    snprintf(count, sizeof count, "%lld", (long long)times);
    const char *store = scratch_store(scratch);
    struct process keeper = point
        ? process_start("timekeeper", store, "one", start, length, point, count)
        : process_start("timekeeper", store, "one", start, length);
    return process_end(&keeper) == 0;
}

static void verify_store(const struct scratch *scratch)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    MUST(db_open(&db, &(struct db_options){ .url = str_of(scratch_store(scratch)) }, &err));
    MUST(verify(db, &(struct verify_options){0}, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    db_close(db);
}

// Every minute has one row and one job, or the reason why it has not: the slot before it had been
// claimed and had not run. What succeeded had its effect once, what did not had none.
static void check(const struct scratch *scratch)
{
#define NUMBER(sql) scratch_number(scratch, sql)
    int64_t slots = NUMBER("SELECT count(*) FROM job_runs");
    EXPECT_INT(slots + NUMBER("SELECT coalesce(sum(slots), 0) FROM slot_skips"),
               NUMBER("SELECT (max(scheduled_for) - min(scheduled_for)) / 60000000 + 1"
                      " FROM job_runs"));
    EXPECT_INT(NUMBER("SELECT count(*) FROM slot_skips s WHERE s.reason <> 'max_instances' OR"
                      " EXISTS (SELECT 1 FROM job_runs r WHERE r.scheduled_for BETWEEN"
                      " s.scheduled_for AND s.until)"),
               0);
    EXPECT_INT(NUMBER("SELECT count(DISTINCT scheduled_for) FROM job_runs"), slots);
    EXPECT_INT(NUMBER("SELECT count(DISTINCT job) FROM job_runs"), slots);
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs"), slots);
    EXPECT_INT(NUMBER("SELECT count(*) FROM job_runs WHERE status = 'running'"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM job_runs WHERE status = 'failed' AND"
                      " error_message <> 'worker_startup_recovery'"),
               0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM effects"),
               NUMBER("SELECT count(*) FROM job_runs WHERE status = 'success'"));
    EXPECT_INT(NUMBER("SELECT count(*) FROM pawl_job_runs r WHERE (SELECT count(*) FROM effects e"
                      " WHERE e.job = r.job_id) <> (r.status = 'success')"),
               0);
    EXPECT(NUMBER("SELECT count(*) FROM job_runs WHERE status = 'failed'") <= 1);
    verify_store(scratch);
}

TEST(SLOT_3_a_scheduler_killed_at_any_point_of_its_tick_loses_and_doubles_no_slot)
{
    for (size_t i = 0; i < countof(points); i++)
        for (int64_t times = 1; times <= points[i].times; times += 3) {
            struct scratch scratch = scratch_open();
            bool survived = keep_time(&scratch, START, MINUTES_BEFORE, points[i].statement, times);
            if (survived)
                print_error("%s, %lld: the point was never reached\n", points[i].name,
                            (long long)times);
            EXPECT(!survived);
            EXPECT(keep_time(&scratch, START + MINUTES(MINUTES_BEFORE), MINUTES_AFTER, NULL, 0));
            check(&scratch);
            EXPECT(scratch_number(&scratch, "SELECT count(*) FROM job_runs") >= MINUTES_AFTER);
            scratch_close(&scratch);
        }
}

// ----- races

static void make_schedule(const struct scratch *scratch, int64_t max_instances)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    SCOPED(arena) struct arena arena = {0};
    struct caller caller = {
        .org_id = DEFAULT_ORG,
        .actor_id = S("test"),
        .request_id = S("r"),
        .correlation_id = S("c"),
    };
    struct schedule schedule = {
        .name = S("race"), .job_type = S("note"), .every_us = SECONDS(1), .coalesce_said = true,
        .misfire_grace_us = HOURS(1), .max_instances = max_instances, .expected_us = HOURS(1),
    };
    enum schedule_put what;
    struct tx tx = {0};
    MUST(db_open(&db, &(struct db_options){ .url = str_of(scratch_store(scratch)) }, &err));
    MUST(tx_begin(db, TX_WRITE, &arena, &tx, &err));
    tx.caller = &caller;
    MUST(schedule_put(&tx, &schedule, SCHEDULE_FROM_API, &what, &err));
    MUST(tx_commit(&tx, &err));
    db_close(db);
}

// What each of eight processes claimed, together.
static int64_t race(const struct scratch *scratch, const char *how, const char *number)
{
    struct process racers[RACERS];
    int64_t total = 0;
    for (int i = 0; i < RACERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        racers[i] = process_start("racer", scratch_store(scratch), name, how, number);
        EXPECT(strcmp(process_hear(&racers[i]), "ready") == 0);
    }
    for (int i = 0; i < RACERS; i++)
        process_tell(&racers[i], "go");
    for (int i = 0; i < RACERS; i++) {
        int64_t claimed = 0;
        EXPECT(str_int(str_of(process_hear(&racers[i])), &claimed));
        EXPECT_INT(process_end(&racers[i]), 0);
        total += claimed;
    }
    return total;
}

TEST(SLOT_3_eight_processes_that_claim_the_same_slots_by_hand_get_each_once)
{
    struct scratch scratch = scratch_open();
    make_schedule(&scratch, INSTANCES_MAX);
    EXPECT_INT(race(&scratch, "trigger", "200"), 200);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM job_runs"), 200);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(DISTINCT scheduled_for) FROM job_runs"), 200);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM jobs"), 200);
    verify_store(&scratch);
    scratch_close(&scratch);
}

TEST(SLOT_11_eight_schedulers_that_all_believe_to_lead_claim_each_slot_once)
{
    struct scratch scratch = scratch_open();
    make_schedule(&scratch, INSTANCES_MAX);
    int64_t claimed = race(&scratch, "tick", "3");
    EXPECT(claimed >= 2);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM job_runs"), claimed);
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM jobs"), claimed);
    // No slot between the first and the last is missing: it was run, or has its reason.
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM job_runs")
                   + scratch_number(&scratch, "SELECT coalesce(sum(slots), 0) FROM slot_skips"),
               scratch_number(&scratch, "SELECT (max(s) - min(s)) / 1000000 + 1 FROM (SELECT"
                                        " scheduled_for s FROM job_runs UNION SELECT scheduled_for"
                                        " FROM slot_skips)"));
    verify_store(&scratch);
    scratch_close(&scratch);
}
