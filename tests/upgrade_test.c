// Old and new programs on one store. A newer pawl is played by what its migration does to the file,
// which is all that an older one ever sees of it.
#include <string.h>
#include <unistd.h>

#include "engine/rehearse.h"
#include "fixture.h"

static void migrate_by_a_newer_pawl(struct box *box)
{
    box_sql(box, "CREATE TABLE from_the_future (x INTEGER) STRICT;"
                 "INSERT INTO schema_migrations VALUES (999, 'future 0123456789ab', 1)");
}

// ... that says which programs can go on beside it.
static void say_compatible(struct box *box, int64_t version, int64_t since)
{
    box_sql(box, str_format(test_arena(), "INSERT INTO schema_compatible VALUES (%lld, %lld)",
                            (long long)version, (long long)since)
                     .s);
}

static void take_back(struct box *box)
{
    box_sql(box, "DROP TABLE from_the_future; DELETE FROM schema_compatible;"
                 "DELETE FROM schema_migrations WHERE version > 900");
}

TEST_EACH_DB(OPS_9_a_process_whose_store_is_migrated_under_it_writes_no_more)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    must_enqueue(box, "report");
    must_claim(box, "A");
    migrate_by_a_newer_pawl(box);
    struct str before = box_contents(box);
    for (int i = 0; i < 3; i++) {
        EXPECT_REFUSED(PAWL_OUTDATED, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
        EXPECT(i > 0 || strstr(err.message, "schema version 999 by a newer pawl") != NULL);
    }
    EXPECT(str_eq(box_contents(box), before));
    take_back(box);
    box_reopen(box);
}

TEST_EACH_DB(OPS_9_a_store_that_is_newer_is_not_opened)
{
    struct pawl_error err = {0};
    struct db *db = NULL;
    migrate_by_a_newer_pawl(box);
    EXPECT_REFUSED(PAWL_OUTDATED, db_open(&db, &(struct db_options){ .url = box->url }, &err));
    EXPECT(strstr(err.message, "use a newer pawl") != NULL);
    take_back(box);
    box_reopen(box);
}

TEST_EACH_DB(OPS_9_a_process_goes_on_beside_a_migration_that_leaves_it_as_it_was)
{
    struct pawl_error err = {0};
    struct db *db = NULL;
    struct tx tx = {0};
    must_enqueue(box, "report");
    migrate_by_a_newer_pawl(box);
    say_compatible(box, 999, schema_version_known());
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    MUST(db_open(&db, &(struct db_options){ .url = box->url }, &err));
    db_close(db);
    // Another one follows that is not: it counts that one does not fit, not which is the newest.
    box_sql(box, "INSERT INTO schema_migrations VALUES (998, 'between', 1);"
                 "CREATE INDEX from_between ON from_the_future (x)");
    EXPECT_REFUSED(PAWL_OUTDATED, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
    say_compatible(box, 998, schema_version_known() + 1);
    EXPECT_REFUSED(PAWL_OUTDATED, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
    EXPECT_REFUSED(PAWL_OUTDATED, db_open(&db, &(struct db_options){ .url = box->url }, &err));
    take_back(box);
    box_reopen(box);
}

TEST_EACH_DB(OPS_9_tables_of_the_application_come_and_go_as_they_like)
{
    for (int i = 0; i < 3; i++) {
        box_sql(box, "CREATE TABLE mine (x INTEGER)");
        must_enqueue(box, "report");
        box_sql(box, "DROP TABLE mine");
        must_enqueue(box, "report");
    }
}

// The newest migration of all changes rows only: an older process must notice that one too.
TEST_EACH_DB(OPS_9_every_migration_is_noticed_by_who_has_the_store_open)
{
    must_enqueue(box, "report");
    box_as_of(box, schema_version_known() - 1);
    int64_t before = box_number(box, "PRAGMA schema_version");
    struct db *newer = box_second(box, false);
    EXPECT(box_number(box, "PRAGMA schema_version") > before);
    db_close(newer);
    must_enqueue(box, "report");  // it is the version this program knows
}

TEST_EACH_DB(OPS_9_a_dry_run_migrates_a_copy_and_leaves_the_store_as_it_is)
{
    struct pawl_error err = {0};
    struct rehearsal_report report;
    struct rehearsal rehearsal = { .store = box->url, .world = &box->world.world };
    must_enqueue(box, "report");
    box_as_of(box, schema_version_known() - 1);
    MUST(migration_rehearse(&rehearsal, &report, &err));
    EXPECT_INT(report.before, schema_version_known() - 1);
    EXPECT_INT(report.after, schema_version_known());
    EXPECT_INT(report.found.jobs, 1);
    EXPECT_INT(report.found.violations, 0);
    EXPECT_INT(box_number(box, "SELECT max(version) FROM schema_migrations"),
               schema_version_known() - 1);
    struct str copy = str_format(test_arena(), "%s.rehearsal", box->url.s + strlen("sqlite:"));
    EXPECT(access(copy.s, F_OK) != 0);
    box_reopen(box);  // now in earnest
}
