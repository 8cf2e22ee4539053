// Whoever replays, fixes or purges is killed at every named point: no letter is closed without its
// job, no job made without its letter closed, and the next process does the rest.
#include <stdio.h>

#include "engine/verify.h"
#include "process.h"

enum { JOBS = 6 };  // letters, and as many that wait

struct point {
    const char *name, *statement;
};

static bool operator(const struct scratch *scratch, const char *task, const char *statement,
                     int64_t times)
{
    char count[32];
    snprintf(count, sizeof count, "%lld", (long long)times);
    const char *store = scratch_store(scratch);
    struct process process = statement ? process_start("operator", store, task, statement, count)
                                       : process_start("operator", store, task);
    return process_end(&process) == 0;
}

static void check_store(const struct scratch *scratch)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    MUST(db_open(&db, &(struct db_options){ .url = str_of(scratch_store(scratch)) }, &err));
    MUST(verify(db, &(struct verify_options){0}, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    db_close(db);
    EXPECT_INT(scratch_number(scratch, "SELECT count(*) FROM jobs WHERE parent IS NOT NULL"),
               scratch_number(scratch, "SELECT count(*) FROM pawl_audit WHERE event ="
                                       " 'job.letter_closed'"));
}

// Dies there the first and the third time, then another process does the rest.
static void kill_at(const struct point *p, const char *task,
                    void (*end)(const struct scratch *scratch))
{
    for (int64_t times = 1; times <= 3; times += 2) {
        struct scratch scratch = scratch_open();
        EXPECT(operator(&scratch, "fill", NULL, 0));
        bool survived = operator(&scratch, task, p->statement, times);
        if (survived)
            print_error("%s, %lld: the point was never reached\n", p->name, (long long)times);
        EXPECT(!survived);
        check_store(&scratch);
        EXPECT(operator(&scratch, task, NULL, 0));
        check_store(&scratch);
        end(&scratch);
        scratch_close(&scratch);
    }
}

#define NUMBER(sql) scratch_number(scratch, sql)

static void each_was_made_once_more(const struct scratch *scratch)
{
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs WHERE parent IS NOT NULL"), JOBS);
    EXPECT_INT(NUMBER("SELECT count(DISTINCT parent) FROM jobs WHERE parent IS NOT NULL"), JOBS);
}

// What both write, in the order they do.
static const struct point closings[] = {
    { "the transaction begins", "BEGIN IMMEDIATE" },
    { "the new job is stored", "INSERT INTO jobs" },
    { "its key is stored", "INSERT INTO idempotency_keys" },
    { "it is made ready", "INSERT INTO ready" },
    { "the letter is closed", "UPDATE outcomes" },
    { "it is told", "INSERT INTO audit_events" },
    { "it is committed", "COMMIT" },
};

TEST(OPS_8_a_replay_killed_at_any_point_was_whole_or_was_none)
{
    for (size_t i = 0; i < countof(closings); i++)
        kill_at(&closings[i], "replay", each_was_made_once_more);
}

static void each_was_fixed_once(const struct scratch *scratch)
{
    each_was_made_once_more(scratch);
    EXPECT_INT(NUMBER("SELECT count(*) FROM jobs WHERE parent IS NOT NULL AND payload ="
                      " '{\"n\":2}'"),
               JOBS);
}

TEST(OPS_8_a_fix_killed_at_any_point_was_whole_or_was_none)
{
    for (size_t i = 0; i < countof(closings); i++)
        kill_at(&closings[i], "fix", each_was_fixed_once);
}

static void nobody_waits(const struct scratch *scratch)
{
    EXPECT_INT(NUMBER("SELECT count(*) FROM ready"), 0);
    EXPECT_INT(NUMBER("SELECT count(*) FROM outcomes WHERE ended_at IS NOT NULL"), 2 * JOBS);
}

TEST(JOB_11_a_purge_killed_at_any_point_is_finished_by_the_next)
{
    static const struct point points[] = {
        { "the transaction begins", "BEGIN IMMEDIATE" },
        { "a job leaves its place", "DELETE FROM ready" },
        { "its end is written", "INSERT INTO outcomes" },
        { "it is told", "INSERT INTO audit_events" },
        { "a piece is committed", "COMMIT" },
    };
    for (size_t i = 0; i < countof(points); i++)
        kill_at(&points[i], "purge", nobody_waits);
}
