// A process that dies at every named point of ending jobs that others wait for: each of those is
// told once, and a batch is called back once. A real process on a real store.
#include <stdio.h>

#include "engine/verify.h"
#include "process.h"

enum { MANY = 230 };  // as the program has it

#define START 1800000000000000

// Where it dies: before the statement runs for the so manieth time.
static const struct {
    const char *name, *statement;
    int64_t times[3];
} points[] = {
    { "a job waits", "INSERT INTO job_waits", { 1, 300 } },
    { "a job is linked", "INSERT INTO job_links", { 1, 500 } },
    { "a batch is stored", "INSERT INTO job_batches", { 1 } },
    { "a job joins it", "UPDATE job_batches SET jobs", { 1, 6, 7 } },
    { "an end is to be told", "INSERT INTO job_endings", { 1, 2 } },
    { "somebody is told", "DELETE FROM job_waits WHERE awaited", { 1, 150, 230 } },
    { "one wait is over", "UPDATE job_links SET pending", { 1, 201 } },
    { "a job may run", "DELETE FROM parked", { 3, 210 } },
    { "a job fails with another", "INSERT INTO outcomes (job, org, execution, ended", { 2, 99 } },
    { "all are told", "DELETE FROM job_endings", { 1, 2 } },
    { "a batch counts", "UPDATE job_batches SET succeeded", { 1, 4, 7 } },
    { "a batch ends", "UPDATE job_batches SET ended_at", { 1 } },
    { "its callback is known", "UPDATE job_batches SET callback_job", { 1 } },
    { "it is committed", "COMMIT", { 3, 7, 12 } },
};

static bool live(const struct scratch *scratch, int64_t from, const char *point, int64_t times)
{
    char start[32], count[32];
    snprintf(start, sizeof start, "%lld", (long long)from);
    snprintf(count, sizeof count, "%lld", (long long)times);
    const char *store = scratch_store(scratch);
    struct process process = point ? process_start("linker", store, start, point, count)
                                   : process_start("linker", store, start);
    return process_end(&process) == 0;
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

static void check(const struct scratch *scratch)
{
#define NUMBER(sql) scratch_number(scratch, sql)
    EXPECT_INT(NUMBER("SELECT count(*) FROM pawl_jobs WHERE job_type = 'waits' AND"
                      " state = 'SUCCEEDED'"),
               MANY);
    EXPECT_INT(NUMBER("SELECT count(*) FROM pawl_jobs WHERE job_type = 'fails' AND"
                      " failure_type = 'DEPENDENCY_FAILED'"),
               MANY);
    EXPECT_INT(NUMBER("SELECT count(*) FROM job_waits"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM job_endings"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM job_batches WHERE ended_at IS NOT NULL AND jobs = 6 AND"
                      " succeeded = 3 AND failed = 3 AND callback_job IS NOT NULL"),
               1);
    EXPECT_INT(NUMBER("SELECT count(*) FROM job_batches"), 1);
    EXPECT_INT(NUMBER("SELECT count(*) FROM pawl_jobs WHERE job_type = 'callback' AND"
                      " state = 'SUCCEEDED'"),
               1);
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs"), 2 + 2 * MANY + 6 + 1);
    verify_store(scratch);
}

TEST(JOB_6_no_death_strands_a_job_that_waits_or_doubles_a_callback)
{
    for (size_t i = 0; i < countof(points); i++)
        for (size_t t = 0; t < countof(points[i].times) && points[i].times[t]; t++) {
            struct scratch scratch = scratch_open();
            bool survived = live(&scratch, START, points[i].statement, points[i].times[t]);
            if (survived)
                print_error("%s, %lld: the point was never reached\n", points[i].name,
                            (long long)points[i].times[t]);
            EXPECT(!survived);
            verify_store(&scratch);
            EXPECT(live(&scratch, START + HOURS(1), NULL, 0));
            check(&scratch);
            scratch_close(&scratch);
        }
}
