// What the application's SQL may do inside a transaction of Pawl's, and what it may not.
#include "fixture.h"

#include <sqlite3.h>
#include <string.h>

#include "faults.h"
#include "store/driver.h"
#include "store/guest.h"

static void make_tables(struct box *box)
{
    box_sql(box, "CREATE TABLE invoices (id INTEGER PRIMARY KEY, number TEXT UNIQUE);"
                 "CREATE TABLE lines (invoice INTEGER REFERENCES invoices (id)"
                 " DEFERRABLE INITIALLY DEFERRED);"
                 "CREATE INDEX invoices_number ON invoices (number);"
                 "CREATE VIEW mine AS SELECT * FROM invoices");
}

static void enter(struct box *box, struct tx *tx)
{
    box_begin(box, tx);
    guest_enter(tx, SECONDS(1));
}

static sqlite3 *connection_of(struct box *box)
{
    return guest_connection(box->db);
}

// ----- by the table

static const struct {
    const char *sql, *why;
} denied[] = {
    { "COMMIT", "pawl_commit" },
    { "ROLLBACK", "pawl_rollback" },
    { "BEGIN", "the transaction is Pawl's" },
    { "END", "the transaction is Pawl's" },
    { "RELEASE pawl_part", "savepoints" },
    { "SAVEPOINT mine", "savepoints" },
    { "INSERT INTO ready SELECT * FROM ready", "table ready belongs to Pawl" },
    { "INSERT INTO READY SELECT * FROM ready", "table READY belongs to Pawl" },
    { "INSERT INTO main.\"Jobs\" (id) VALUES (1)", "table jobs belongs to Pawl" },
    { "REPLACE INTO orgs (id) VALUES (1)", "table orgs belongs to Pawl" },
    { "UPDATE executions SET lease_expires_at = 0", "table executions belongs to Pawl" },
    { "DELETE FROM outcomes", "table outcomes belongs to Pawl" },
    { "DELETE FROM idempotency_keys", "table idempotency_keys belongs to Pawl" },
    { "UPDATE store SET secret = ''", "table store belongs to Pawl" },
    { "DELETE FROM schema_migrations", "table schema_migrations belongs to Pawl" },
    { "INSERT INTO pawl_jobs (job_id) VALUES ('x')", "view pawl_jobs belongs to Pawl" },
    { "WITH x AS (SELECT 1) DELETE FROM parked", "table parked belongs to Pawl" },
    { "DROP TABLE jobs", "table jobs belongs to Pawl" },
    { "DROP VIEW pawl_audit", "view pawl_audit belongs to Pawl" },
    { "DROP INDEX executions_live", "index executions_live belongs to Pawl" },
    { "DROP TRIGGER audit_no_update", "trigger audit_no_update belongs to Pawl" },
    { "ALTER TABLE jobs ADD COLUMN mine TEXT", "table jobs belongs to Pawl" },
    { "ALTER TABLE jobs RENAME TO works", "table jobs belongs to Pawl" },
    { "CREATE INDEX my_index ON jobs (payload)", "table jobs belongs to Pawl" },
    { "CREATE TRIGGER my_trigger AFTER INSERT ON jobs BEGIN SELECT 1; END",
      "table jobs belongs to Pawl" },
    { "CREATE TRIGGER my_trigger INSTEAD OF INSERT ON pawl_jobs BEGIN SELECT 1; END",
      "view pawl_jobs belongs to Pawl" },
    { "CREATE TABLE pawl_runs (id)", "kept for Pawl" },
    { "CREATE VIEW pawl_mine AS SELECT 1", "kept for Pawl" },
    { "CREATE TEMP TABLE jobs (id)", "temporary tables" },
    { "CREATE TEMP TABLE scratch (id)", "temporary tables" },
    { "CREATE TEMP VIEW jobs AS SELECT 1", "temporary views" },
    { "CREATE TEMP TRIGGER t AFTER INSERT ON invoices BEGIN SELECT 1; END", "temporary triggers" },
    { "CREATE TEMP TRIGGER t AFTER INSERT ON jobs BEGIN SELECT 1; END", "temporary triggers" },
    { "ATTACH ':memory:' AS other", "attach nothing" },
    { "DETACH main", "are Pawl's" },
    { "ANALYZE", "ANALYZE" },
    { "ANALYZE invoices", "ANALYZE" },
    { "REINDEX executions_live", "index executions_live belongs to Pawl" },
    { "PRAGMA synchronous=OFF", "PRAGMA synchronous" },
    { "PRAGMA journal_mode=DELETE", "PRAGMA journal_mode" },
    { "PRAGMA foreign_keys=OFF", "PRAGMA foreign_keys" },
    { "PRAGMA defer_foreign_keys=ON", "PRAGMA defer_foreign_keys" },
    { "PRAGMA writable_schema=ON", "PRAGMA writable_schema" },
    { "PRAGMA query_only=ON", "PRAGMA query_only" },
    { "PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint" },
    { "PRAGMA user_version=7", "PRAGMA user_version" },
    { "PRAGMA busy_timeout=0", "PRAGMA busy_timeout" },
    { "PRAGMA locking_mode=EXCLUSIVE", "PRAGMA locking_mode" },
    { "SELECT load_extension('x')", "extensions" },
};

TEST_EACH_DB(EXEC_6_the_application_is_kept_away_from_what_is_pawls)
{
    make_tables(box);
    must_enqueue(box, "report");
    struct str before = box_contents(box);
    struct tx tx = {0};
    enter(box, &tx);
    for (size_t i = 0; i < countof(denied); i++) {
        struct pawl_error err = {0};
        bool done = guest_execute(&tx, denied[i].sql, &err);
        if (done || err.code != PAWL_FORBIDDEN || !strcasestr(err.message, denied[i].why))
            print_error("%s: %s %s\n", denied[i].sql, pawl_code(err.code)->word, err.message);
        EXPECT(!done && err.code == PAWL_FORBIDDEN);
        EXPECT(strcasestr(err.message, denied[i].why) != NULL);
    }
    struct pawl_error err = {0};
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT(str_eq(box_contents(box), before));
}

TEST_EACH_DB(EXEC_6_the_application_may_do_what_it_likes_with_its_own)
{
    static const char *const allowed[] = {
        "INSERT INTO invoices (number) VALUES ('1'), ('2')",
        "UPDATE invoices SET number = '3' WHERE number = '2'",
        "DELETE FROM invoices WHERE number = '3'",
        "CREATE TABLE notes (job_id TEXT, text TEXT); INSERT INTO notes VALUES ('x', 'y')",
        "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE counted",
        "ALTER TABLE notes ADD COLUMN at INTEGER; ALTER TABLE notes RENAME TO remarks",
        "CREATE INDEX remarks_at ON remarks (at); DROP INDEX remarks_at; REINDEX invoices",
        ("CREATE TRIGGER count_them AFTER INSERT ON invoices BEGIN"
         " INSERT INTO remarks (text) SELECT job_id FROM pawl_jobs; END"),
        "INSERT INTO invoices (number) VALUES ('4')",
        "CREATE VIEW busy AS SELECT * FROM jobs JOIN invoices; SELECT count(*) FROM busy",
        "SELECT * FROM pawl_jobs; SELECT * FROM ready; SELECT * FROM sqlite_schema",
        "PRAGMA table_info(jobs); PRAGMA user_version; SELECT * FROM pragma_table_info('jobs')",
        "PRAGMA foreign_key_check(lines); PRAGMA synchronous",
    };
    make_tables(box);
    must_enqueue(box, "report");
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    for (size_t i = 0; i < countof(allowed); i++) {
        if (!guest_execute(&tx, allowed[i], &err))
            print_error("%s: %s\n", allowed[i], err.message);
        EXPECT_INT(err.code, PAWL_OK);
    }
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 2);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM remarks"), 2);
}

// A trigger is prepared with the statement that fires it, and refused with it.
TEST_EACH_DB(EXEC_6_a_trigger_of_the_application_cannot_reach_pawls_tables)
{
    static const char *const makers[] = {
        "CREATE TRIGGER t AFTER INSERT ON invoices BEGIN DELETE FROM ready; END",
        "CREATE TRIGGER t INSTEAD OF INSERT ON mine BEGIN DELETE FROM ready; END",
    };
    static const char *const users[] = {
        "INSERT INTO invoices (number) VALUES ('1')",
        "INSERT INTO mine (number) VALUES ('1')",
    };
    make_tables(box);
    must_enqueue(box, "report");
    for (size_t i = 0; i < countof(makers); i++) {
        struct pawl_error err = {0};
        SCOPED(tx) struct tx tx = {0};
        enter(box, &tx);
        MUST(guest_execute(&tx, makers[i], &err));
        EXPECT_REFUSED(PAWL_FORBIDDEN, guest_execute(&tx, users[i], &err));
        EXPECT(strstr(err.message, "table ready belongs to Pawl") != NULL);
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 1);
}

TEST_EACH_DB(EXEC_6_a_table_of_the_application_cannot_refer_to_pawls)
{
    static const char *const makers[] = {
        "CREATE TABLE mine_too (job INTEGER REFERENCES ready (job))",
        "CREATE TABLE mine_too (job INTEGER, FOREIGN KEY (job) REFERENCES Jobs ON DELETE CASCADE)",
        "ALTER TABLE lines ADD COLUMN job INTEGER REFERENCES jobs (id)",
    };
    make_tables(box);
    for (size_t i = 0; i < countof(makers); i++) {
        struct pawl_error err = {0};
        SCOPED(tx) struct tx tx = {0};
        enter(box, &tx);
        MUST(guest_execute(&tx, makers[i], &err));
        EXPECT_REFUSED(PAWL_FORBIDDEN, guest_leave(&tx, &err));
        EXPECT(strstr(err.message, "refers to") != NULL);
    }
}

TEST_EACH_DB(EXEC_6_every_name_of_the_schema_is_known_as_pawls)
{
    int64_t names = 0;
    for (const struct schema_name *row = schema_names; row->name; row++) {
        struct str sql = str_format(test_arena(), "SELECT count(*) FROM sqlite_schema"
                                                  " WHERE type = '%s' AND name = '%s'",
                                    row->kind, row->name);
        EXPECT_INT(box_number(box, sql.s), 1);
        EXPECT(schema_owns(row->name));
        names++;
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"),
               names);
    EXPECT(schema_owns("JOBS") && schema_owns("Pawl_Jobs") && schema_owns("pawl_job_runs"));
    EXPECT(!schema_owns("invoices") && !schema_owns("job"));
    EXPECT(!schema_owns("") && !schema_owns(NULL));
}

// ----- the transaction

TEST_EACH_DB(EXEC_6_statements_of_one_call_are_done_together_or_not_at_all)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    MUST(guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('kept')", &err));
    EXPECT_REFUSED(PAWL_CONFLICT,
                   guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('half');"
                                      "INSERT INTO invoices (number) VALUES ('kept')",
                                 &err));
    EXPECT_REFUSED(PAWL_USAGE, guest_execute(&tx, "INSERT INTO nothing VALUES (1)", &err));
    EXPECT_REFUSED(PAWL_USAGE, guest_execute(&tx, "this is no SQL", &err));
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices WHERE number = 'kept'"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 1);
}

// After it has ended the transaction, the application's next statements would commit themselves.
TEST_EACH_DB(EXEC_6_a_statement_that_ends_the_transaction_takes_all_with_it)
{
    make_tables(box);
    box_sql(box, "INSERT INTO invoices (number) VALUES ('there')");
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    MUST(guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('before')", &err));
    EXPECT(!guest_execute(&tx, "INSERT OR ROLLBACK INTO invoices (number) VALUES ('there')", &err));
    EXPECT(!guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('after')", &err));
    int raw = sqlite3_exec(connection_of(box), "INSERT INTO invoices (number) VALUES ('raw')", NULL,
                           NULL, NULL);
    EXPECT_INT(raw & 0xff, SQLITE_CONSTRAINT);  // the commit hook
    EXPECT_REFUSED(PAWL_STORE, guest_leave(&tx, &err));
    tx_end(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 1);
    must_enqueue(box, "report");  // the connection goes on
}

TEST_EACH_DB(EXEC_6_savepoints_are_the_applications_own)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    sqlite3 *c = connection_of(box);
    EXPECT_INT(sqlite3_exec(c, "SAVEPOINT a; INSERT INTO invoices (number) VALUES ('1');"
                               "ROLLBACK TO a; INSERT INTO invoices (number) VALUES ('2');"
                               "RELEASE a; SAVEPOINT left_open",
                            NULL, NULL, NULL),
               SQLITE_OK);
    EXPECT_INT(sqlite3_exec(c, "ROLLBACK TO pawl_part", NULL, NULL, NULL), SQLITE_AUTH);
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices WHERE number = '2'"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 1);
}

TEST_EACH_DB(EXEC_6_a_statement_left_open_is_noticed)
{
    make_tables(box);
    for (int steps = 0; steps < 2; steps++) {
        struct pawl_error err = {0};
        SCOPED(tx) struct tx tx = {0};
        enter(box, &tx);
        sqlite3_stmt *left = NULL;
        EXPECT_INT(sqlite3_prepare_v2(connection_of(box),
                                      "INSERT INTO invoices (number) VALUES ('1'), ('2')"
                                      " RETURNING id",
                                      -1, &left, NULL),
                   SQLITE_OK);
        if (steps)
            EXPECT_INT(sqlite3_step(left), SQLITE_ROW);
        EXPECT_REFUSED(PAWL_USAGE, guest_leave(&tx, &err));
        tx_end(&tx);
        EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 0);
        if (!steps) {  // the next guest is not blamed for it
            struct tx next = {0};
            enter(box, &next);
            MUST(guest_leave(&next, &err));
            tx_end(&next);
        }
        sqlite3_finalize(left);
    }
}

TEST_EACH_DB(EXEC_6_a_reference_that_leads_nowhere_is_noticed_before_the_commit)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    MUST(guest_execute(&tx, "INSERT INTO lines VALUES (77)", &err));
    EXPECT_REFUSED(PAWL_CONFLICT, guest_leave(&tx, &err));
    tx_end(&tx);
    enter(box, &tx);
    MUST(guest_execute(&tx, "INSERT INTO lines VALUES (77);"
                            "INSERT INTO invoices (id, number) VALUES (77, 'x')",
                       &err));
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
}

TEST_EACH_DB(EXEC_6_a_call_waits_for_the_end_of_a_statement_that_writes)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    sqlite3_stmt *writing = NULL, *reading = NULL;
    enter(box, &tx);
    EXPECT_INT(sqlite3_prepare_v2(connection_of(box), "SELECT 1 UNION ALL SELECT 2", -1, &reading,
                                  NULL),
               SQLITE_OK);
    EXPECT_INT(sqlite3_prepare_v2(connection_of(box),
                                  "INSERT INTO invoices (number) VALUES ('1'), ('2') RETURNING id",
                                  -1, &writing, NULL),
               SQLITE_OK);
    EXPECT_INT(sqlite3_step(reading), SQLITE_ROW);
    EXPECT_INT(sqlite3_step(writing), SQLITE_ROW);
    EXPECT_REFUSED(PAWL_USAGE, guest_execute(&tx, "INSERT INTO lines VALUES (1)", &err));
    sqlite3_finalize(writing);
    MUST(guest_execute(&tx, "INSERT INTO lines VALUES (1)", &err));
    sqlite3_finalize(reading);
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM lines"), 1);
}

// ----- between Pawl's own statements

static int64_t deltas(struct rows *rows)
{
    int64_t count = 1;  // of those that are left, and this one
    while (rows_next(rows))
        count++;
    return count;
}

// Pawl is in the middle of its rows.
TEST_EACH_DB(EXEC_6_statements_of_pawls_are_not_taken_for_the_applications)
{
    make_tables(box);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    SCOPED(rows) struct rows reading = {0};
    sqlite3_stmt *left = NULL;
    box_begin(box, &tx);
    for (int i = 0; i < 3; i++)
        MUST(sql_run(&tx, Q_COUNT_DELTA_INSERT, &err, TEXT(S("[]")), INT(1)));
    MUST(sql_ask_plain(&tx, &reading, Q_COUNT_DELTAS, &err));
    EXPECT(rows_next(&reading));
    guest_enter(&tx, SECONDS(1));
    EXPECT_INT(sqlite3_prepare_v2(connection_of(box), "SELECT 1", -1, &left, NULL), SQLITE_OK);
    MUST(guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('1')", &err));
    EXPECT_REFUSED(PAWL_USAGE, guest_leave(&tx, &err));  // which puts the application's back
    EXPECT_INT(deltas(&reading), 3);
    EXPECT(rows_ok(&reading, &err));
    sqlite3_finalize(left);
}

static void interrupt(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count, (void)values;
    sqlite3_interrupt(sqlite3_context_db_handle(context));
}

TEST_EACH_DB(EXEC_6_a_statement_that_somebody_else_interrupts_is_not_late)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    EXPECT_INT(sqlite3_create_function(connection_of(box), "interrupt", 0, SQLITE_UTF8, NULL,
                                       interrupt, NULL, NULL),
               SQLITE_OK);
    enter(box, &tx);
    EXPECT_REFUSED(PAWL_STORE,
                   guest_execute(&tx, "INSERT INTO invoices SELECT interrupt(), 'x'", &err));
    EXPECT(strstr(err.message, "interrupt") != NULL);
    tx_end(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 0);
}

// Half of what was asked for is in the transaction: it must not be committed.
TEST_EACH_DB(EXEC_6_what_could_not_be_taken_back_is_not_committed)
{
    make_tables(box);
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    enter(box, &tx);
    store_faults_begin(box->db, NULL);
    store_faults = (struct fault_counter){ .fail_at = 2, .fails_on = true };  // behind the mark
    bool done = guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('1')", &err);
    EXPECT(store_faults.failed >= 2);
    store_faults = (struct fault_counter){0};
    store_faults_end(box->db);
    EXPECT(!done);
    EXPECT_REFUSED(PAWL_STORE, guest_leave(&tx, &err));
    EXPECT(strstr(err.message, "could not be taken back") != NULL);
}

// ----- time

// A clock that moves by itself: each look is a millisecond later.
static int64_t passing_monotonic(void *self)
{
    return ((struct virtual_world *)self)->monotonic += 1000;
}

#define FOREVER \
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000000)"

TEST_EACH_DB(EXEC_6_the_applications_sql_is_stopped_when_its_time_is_over)
{
    static const char *const slow[] = {
        FOREVER " SELECT count(*) FROM n",
        FOREVER " INSERT INTO invoices (id) SELECT -x FROM n",
    };
    make_tables(box);
    box->world.world.monotonic = passing_monotonic;
    for (size_t i = 0; i < countof(slow); i++) {
        struct pawl_error err = {0};
        SCOPED(tx) struct tx tx = {0};
        enter(box, &tx);
        MUST(guest_execute(&tx, "INSERT INTO invoices (number) VALUES ('1')", &err));
        EXPECT_REFUSED(PAWL_FENCED, guest_execute(&tx, slow[i], &err));
        EXPECT(strstr(err.message, "longer than") != NULL);
        EXPECT(!guest_leave(&tx, &err));
        EXPECT(strstr(err.message, "longer than") != NULL);
        tx_end(&tx);
        EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 0);
    }
    must_enqueue(box, "report");
}

TEST_EACH_DB(EXEC_6_a_guest_that_comes_back_late_is_refused)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    pass(box, SECONDS(2));
    EXPECT_REFUSED(PAWL_FENCED, guest_leave(&tx, &err));
    tx_end(&tx);
}

TEST_EACH_DB(EXEC_6_a_guest_that_was_put_out_cannot_write_any_more)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct db *db = NULL;
    struct db_options options = { .url = box->url, .world = &box->world.world, .shared = true };
    MUST(db_open(&db, &options, &err));
    struct tx tx = {0};
    MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    guest_enter(&tx, SECONDS(1));
    sqlite3 *c = guest_connection(db);
    sqlite3_stmt *insert = NULL, *rows = NULL;
    const char *sql = "INSERT INTO invoices (number) VALUES ('1')";
    EXPECT_INT(sqlite3_prepare_v2(c, sql, -1, &insert, NULL), SQLITE_OK);
    EXPECT_INT(sqlite3_prepare_v2(c, "SELECT 1 UNION ALL SELECT 2", -1, &rows, NULL), SQLITE_OK);
    EXPECT_INT(sqlite3_step(rows), SQLITE_ROW);
    MUST(guest_execute(&tx, sql, &err));
    guest_evict(&tx);
    EXPECT(!tx.open);
    EXPECT_INT(sqlite3_step(insert) & 0xff, SQLITE_READONLY);
    EXPECT(sqlite3_exec(c, sql, NULL, NULL, NULL) != SQLITE_OK);
    EXPECT_INT(sqlite3_exec(c, "PRAGMA query_only=OFF", NULL, NULL, NULL), SQLITE_AUTH);
    EXPECT_INT(sqlite3_exec(c, "BEGIN", NULL, NULL, NULL), SQLITE_AUTH);
    must_enqueue(box, "report");  // others go on
    db_close(db);
    EXPECT(sqlite3_step(insert) != SQLITE_DONE);  // also after it was closed
    sqlite3_finalize(insert);
    sqlite3_finalize(rows);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 0);
}

// ----- Pawl's own operations in between

TEST_EACH_DB(EXEC_6_pawls_own_operations_run_between_the_applications)
{
    make_tables(box);
    struct pawl_error err = {0};
    struct job job;
    bool deduplicated;
    struct contract contract = contract_for(box, "report");
    struct tx tx = {0};
    enter(box, &tx);
    MUST(guest_execute(&tx, "CREATE TABLE extra (x)", &err));
    guest_pause(&tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    guest_resume(&tx);
    EXPECT_REFUSED(PAWL_FORBIDDEN, guest_execute(&tx, "DELETE FROM ready", &err));
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(must_load(box, job.id).state, JOB_QUEUED);
}
