// Old and new programs on one store. A newer pawl is played by what its migration does to the file,
// which is all that an older one ever sees of it.
#include <string.h>
#include <unistd.h>

#include "engine/rehearse.h"
#include "faults.h"
#include "fixture.h"

static void migrate_by_a_newer_pawl(struct box *box)
{
    box_sql(box, "CREATE TABLE from_the_future (x INTEGER);"
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
SQLITE_ONLY(OPS_9_every_migration_is_noticed_by_who_has_the_store_open, "earlier schemas")
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

SQLITE_ONLY(OPS_9_a_dry_run_migrates_a_copy_and_leaves_the_store_as_it_is, "earlier schemas")
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

// ----- calls of the store that fail

static bool open_and_close(struct box *box, struct pawl_error *err)
{
    struct db *db = NULL;
    bool opened = db_open(&db, &(struct db_options){ .url = box->url }, err);
    db_close(db);
    return opened;
}

// The schema has changed since it wrote last, so it looks.
static bool begin_and_end(struct box *box, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return tx_begin(box->db, TX_WRITE, test_arena(), &tx, err);
}

SQLITE_ONLY(OPS_9_whether_a_newer_store_fits_is_asked_or_it_is_told_that_it_cannot_be,
            "calls of SQLite's that fail")
TEST_EACH_DB(OPS_9_whether_a_newer_store_fits_is_asked_or_it_is_told_that_it_cannot_be)
{
    static bool (*const deeds[])(struct box *, struct pawl_error *) = { open_and_close,
                                                                        begin_and_end };
    migrate_by_a_newer_pawl(box);
    say_compatible(box, 999, schema_version_known());
    for (size_t i = 0; i < countof(deeds); i++) {
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            struct pawl_error err = {0};
            box_sql(box, n % 2 ? "CREATE TABLE theirs (x)" : "DROP TABLE theirs");
            store_faults = (struct fault_counter){ .fail_at = n };
            bool done = deeds[i](box, &err);
            reached = store_faults.failed > 0;
            store_faults = (struct fault_counter){0};
            EXPECT(done == !reached);
            EXPECT(done || (err.code != PAWL_OK && err.message[0]));
            MUST(begin_and_end(box, &err));
        }
    }
    take_back(box);
    box_reopen(box);
}

// ----- two at once

static struct box *raced;
static int looks;

// Looked at when the store is opened, when its version is read, and before the lock to migrate it.
static int64_t migrate_at_the_third_look(void *self)
{
    if (++looks == 3)
        migrate_by_a_newer_pawl(raced);
    return world_monotonic(&((struct box *)self)->world.world);
}

SQLITE_ONLY(OPS_9_a_store_that_a_newer_one_migrates_first_is_left_alone, "an earlier schema")
TEST_EACH_DB(OPS_9_a_store_that_a_newer_one_migrates_first_is_left_alone)
{
    struct pawl_error err = {0};
    struct db *db = NULL;
    struct world world = *world_real();
    box_as_of(box, schema_version_known() - 1);
    raced = box;
    looks = 0;
    world.self = box;
    world.monotonic = migrate_at_the_third_look;
    struct db_options options = { .url = box->url, .world = &world };
    EXPECT_REFUSED(PAWL_OUTDATED, db_open(&db, &options, &err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM schema_migrations WHERE version = 999"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM schema_migrations") - 1,
               schema_version_known() - 1);
    take_back(box);
    box_reopen(box);
}
