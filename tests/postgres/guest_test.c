// What the application's SQL may do in a transaction of Pawl's on a server, and what it may not.
#include "fixture.h"

#include <string.h>

#include "store/guest.h"

static void enter(struct box *box, struct tx *tx)
{
    box_sql(box, "CREATE TABLE public.invoices (id BIGINT PRIMARY KEY, number TEXT UNIQUE)");
    must_enqueue(box, "report");
    box_begin(box, tx);
    guest_enter(tx, SECONDS(60));
}

static const struct {
    const char *sql, *why;
    enum pawl_code code;
} denied[] = {
    { "COMMIT", "EXECUTE of transaction commands", PAWL_CONFLICT },
    { "ROLLBACK", "EXECUTE of transaction commands", PAWL_CONFLICT },
    { "SAVEPOINT mine", "EXECUTE of transaction commands", PAWL_CONFLICT },
    { "INSERT INTO audit_event_names VALUES (999, 'mine')", "audit_event_names", PAWL_FORBIDDEN },
    { "UPDATE pawl.ready SET rank = 7", "ready", PAWL_FORBIDDEN },
    { "DELETE FROM ready", "ready", PAWL_FORBIDDEN },
    { "TRUNCATE ready", "ready", PAWL_FORBIDDEN },
    { "WITH gone AS (DELETE FROM ready RETURNING job) INSERT INTO invoices SELECT job FROM gone",
      "ready", PAWL_FORBIDDEN },
    { "DO 'BEGIN DELETE FROM ready; END'", "ready", PAWL_FORBIDDEN },
    { "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN DELETE FROM ready; RETURN NEW; END';"
      "CREATE TRIGGER t BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION f();"
      "INSERT INTO invoices VALUES (1, '1')",
      "ready", PAWL_FORBIDDEN },
    { "DROP TABLE job_limits CASCADE", "job_limits", PAWL_FORBIDDEN },
    { "ALTER TABLE jobs ADD COLUMN mine TEXT", "jobs", PAWL_FORBIDDEN },
    { "CREATE INDEX my_index ON jobs (payload)", "my_index", PAWL_FORBIDDEN },
    { "DROP INDEX executions_live", "executions_live", PAWL_FORBIDDEN },
    { "DROP TRIGGER audit_no_update ON audit_events", "audit_events", PAWL_FORBIDDEN },
    { "ALTER TABLE audit_events DISABLE TRIGGER audit_no_update", "audit_events", PAWL_FORBIDDEN },
    { "CREATE TABLE pawl.mine (id BIGINT)", "mine", PAWL_FORBIDDEN },
    { "DROP VIEW pawl_job_runs", "pawl_job_runs", PAWL_FORBIDDEN },
};

TEST_EACH_DB(EXEC_6_the_application_is_kept_away_from_what_is_pawls)
{
    struct tx tx = {0};
    enter(box, &tx);
    for (size_t i = 0; i < countof(denied); i++) {
        struct pawl_error err = {0};
        bool done = guest_execute(&tx, denied[i].sql, &err);
        bool told = !done && err.code == denied[i].code && strstr(err.message, denied[i].why);
        if (!told)
            print_error("%s: %s %s\n", denied[i].sql, pawl_code(err.code)->word, err.message);
        EXPECT(told);
    }
    struct pawl_error err = {0};
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 0);
}

TEST_EACH_DB(EXEC_6_the_application_may_do_what_it_likes_with_its_own)
{
    static const char *const allowed[] = {
        "INSERT INTO invoices VALUES (1, '1'), (2, '2')",
        "UPDATE invoices SET number = '3' WHERE number = '2'; DELETE FROM invoices WHERE id = 2",
        "CREATE TABLE notes (job_id TEXT, text TEXT); INSERT INTO notes VALUES ('x', 'y')",
        "INSERT INTO notes SELECT job_id, 'seen' FROM pawl_jobs; SELECT * FROM ready",
        "CREATE TEMP TABLE jobs (id BIGINT); INSERT INTO pg_temp.jobs VALUES (7)",
    };
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    for (size_t i = 0; i < countof(allowed); i++) {
        if (!guest_execute(&tx, allowed[i], &err))
            print_error("%s: %s\n", allowed[i], err.message);
        EXPECT_INT(err.code, PAWL_OK);
    }
    struct contract contract = contract_for(box, "another");
    struct job job;
    bool deduplicated;
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));  // not into the temporary table
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM notes"), 2);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl.jobs"), 2);
}

// A setting outlives the transaction it was made in: a commit would not be on disk any more.
TEST_EACH_DB(OPS_9_what_the_application_sets_is_not_set_for_pawl)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    MUST(guest_execute(&tx, "SET synchronous_commit = off; SET search_path = public;"
                            "SET statement_timeout = 1; SET lock_timeout = 1",
                       &err));
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    must_enqueue(box, "report");
    box_begin(box, &tx);
    guest_enter(&tx, SECONDS(60));
    MUST(guest_execute(&tx, "INSERT INTO invoices"
                            " VALUES (1, current_setting('synchronous_commit'))",
                       &err));
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices WHERE number = 'on'"), 1);
}
