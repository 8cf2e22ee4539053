// Whoever seals, removes or erases is killed at every named point: what is left is consistent, and
// the next one finishes it. Real processes on one store.
#include <stdio.h>
#include <string.h>

#include "engine/seal.h"
#include "engine/verify.h"
#include "process.h"

#define START 1800000000000000
#define DAY_US (24LL * 3600 * 1000000)

struct point {
    const char *name, *statement;
    int64_t times;  // at most: the first time and this one are tried
};

static bool custodian(const struct scratch *scratch, const char *task, int64_t days,
                      const char *statement, int64_t times)
{
    char start[32], count[32];
    snprintf(start, sizeof start, "%lld", (long long)(START + days * DAY_US));
    snprintf(count, sizeof count, "%lld", (long long)times);
    const char *store = scratch_store(scratch);
    struct process process = statement
        ? process_start("custodian", store, task, start, statement, count)
        : process_start("custodian", store, task, start);
    return process_end(&process) == 0;
}

static void check_store(const struct scratch *scratch)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct seals_checked checked = {0};
    MUST(db_open(&db, &(struct db_options){ .url = str_of(scratch_store(scratch)) }, &err));
    MUST(verify(db, &(struct verify_options){0}, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    MUST(seals_check(db, &(struct seal_check){0}, &checked, &err));
    EXPECT_INT(checked.findings, 0);
    db_close(db);
}

// Dies at the point, then is done by another process; `end` looks at what came of it.
static void kill_at(const struct point *p, const char *task, int64_t days,
                    void (*end)(const struct scratch *scratch))
{
    for (int64_t times = 1; times <= p->times; times += p->times > 1 ? p->times - 1 : 1) {
        struct scratch scratch = scratch_open();
        EXPECT(custodian(&scratch, "fill", 0, NULL, 0));
        if (strcmp(task, "seal") != 0)
            EXPECT(custodian(&scratch, "seal", 0, NULL, 0));
        bool survived = custodian(&scratch, task, days, p->statement, times);
        if (survived)
            print_error("%s, %lld: the point was never reached\n", p->name, (long long)times);
        EXPECT(!survived);
        check_store(&scratch);
        EXPECT(custodian(&scratch, task, days, NULL, 0));
        check_store(&scratch);
        end(&scratch);
        scratch_close(&scratch);
    }
}

#define NUMBER(sql) scratch_number(scratch, sql)

static void all_is_sealed(const struct scratch *scratch)
{
    EXPECT_INT(NUMBER("SELECT sum(events) FROM audit_seals"),
               NUMBER("SELECT count(*) FROM audit_events"));
}

TEST(OPS_11_a_sealer_killed_at_any_point_leaves_a_chain_that_holds)
{
    static const struct point points[] = {
        { "events are read", "SELECT a.id, a.org, a.event", 1 },
        { "a seal is written", "INSERT INTO audit_seals", 1 },
        { "seals are committed", "COMMIT", 1 },
    };
    for (size_t i = 0; i < countof(points); i++)
        kill_at(&points[i], "seal", 0, all_is_sealed);
}

static void old_is_gone(const struct scratch *scratch)
{
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM executions"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM execution_logs"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM audit_seals WHERE pruned_at IS NULL"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM audit_events WHERE id <="
                      " (SELECT max(last_id) FROM audit_seals)"),
               0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM pawl_audit WHERE event = 'audit.pruned'"), 1);
}

TEST(OPS_25_retention_killed_at_any_point_leaves_whole_jobs_and_is_finished_by_the_next)
{
    static const struct point points[] = {
        { "a log goes", "DELETE FROM execution_logs", 5 },
        { "a job leaves its line", "INSERT INTO removed_jobs", 5 },
        { "its steps go", "DELETE FROM steps", 5 },
        { "its slot goes", "DELETE FROM job_runs", 5 },
        { "the job goes", "DELETE FROM jobs", 5 },
        { "its executions go", "DELETE FROM executions", 5 },
        { "its outcome goes", "DELETE FROM outcomes", 5 },
        { "what went is told", "INSERT INTO audit_events", 2 },
        { "skips go", "DELETE FROM slot_skips", 1 },
        { "a seal is marked", "UPDATE audit_seals", 1 },
        { "its events go", "DELETE FROM audit_events", 1 },
        { "a piece is committed", "COMMIT", 4 },
    };
    for (size_t i = 0; i < countof(points); i++)
        kill_at(&points[i], "retain", 50, old_is_gone);
}

static void all_is_erased(const struct scratch *scratch)
{
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs j JOIN orgs o ON o.id = j.org WHERE"
                      " o.org_id LIKE '%000' AND payload <> '{\"erased\":true}'"),
               0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM erasures WHERE under_way = 1"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM pawl_audit WHERE event = 'job.erased'"),
               NUMBER("SELECT count(*) FROM erasures"));
}

TEST(OPS_25_an_erasure_killed_at_any_point_is_whole_or_was_none)
{
    static const struct point points[] = {
        { "it is noted", "INSERT INTO erasures", 5 },
        { "the outcome is overwritten", "UPDATE outcomes", 5 },
        { "the payload is overwritten", "UPDATE jobs", 5 },
        { "the log goes", "DELETE FROM execution_logs", 5 },
        { "it is closed", "UPDATE erasures", 5 },
        { "it is told", "INSERT INTO audit_events", 5 },
        { "it is committed", "COMMIT", 5 },
    };
    for (size_t i = 0; i < countof(points); i++)
        kill_at(&points[i], "erase", 1, all_is_erased);
}

static void org_is_gone(const struct scratch *scratch)
{
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs"), 15);
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs j JOIN orgs o ON o.id = j.org WHERE"
                      " o.erased_at IS NOT NULL"),
               0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM orgs WHERE erased_at IS NOT NULL"), 1);
}

TEST(OPS_25_the_erasing_of_an_org_killed_at_any_point_is_finished_by_the_next)
{
    static const struct point points[] = {
        { "it is disabled", "UPDATE orgs SET disabled_at", 1 },
        { "a job goes", "DELETE FROM jobs", 5 },
        { "its schedules go", "DELETE FROM schedules", 1 },
        { "it is marked", "UPDATE orgs SET erased_at", 1 },
        { "a piece is committed", "COMMIT", 2 },
    };
    for (size_t i = 0; i < countof(points); i++)
        kill_at(&points[i], "org", 1, org_is_gone);
}

// ----- two at once

TEST(OPS_11_sealers_of_several_processes_make_one_chain)
{
    struct scratch scratch = scratch_open();
    for (int round = 0; round < 3; round++) {
        const char *store = scratch_store(&scratch);
        struct process processes[] = {
            process_start("custodian", store, "seal", "0"),
            process_start("custodian", store, "fill", "0"),
            process_start("custodian", store, "seal", "0"),
        };
        for (size_t i = 0; i < countof(processes); i++)
            EXPECT_INT(process_end(&processes[i]), 0);
    }
    struct process last = process_start("custodian", scratch_store(&scratch), "seal", "0");
    EXPECT_INT(process_end(&last), 0);
    check_store(&scratch);
    all_is_sealed(&scratch);
    scratch_close(&scratch);
}
