// What the application's SQL may do in a transaction of Pawl's on a server, and what it may not.
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "process.h"
#include "rehearsal.h"
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
    { "CREATE TABLE pawl.zulu (id BIGINT)", "zulu", PAWL_FORBIDDEN },  // behind all others
    { "SELECT '\xe2'", "statement refused: ", PAWL_USAGE },             // half a character
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
                            "SET statement_timeout = 54321; SET lock_timeout = 54321",
                       &err));
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    must_enqueue(box, "report");
    box_begin(box, &tx);
    guest_enter(&tx, SECONDS(60));
    MUST(guest_execute(&tx, "INSERT INTO invoices SELECT 1, current_setting('synchronous_commit')"
                            " WHERE '54321ms' NOT IN (current_setting('statement_timeout'),"
                            " current_setting('lock_timeout'))",
                       &err));
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices WHERE number = 'on'"), 1);
}

static bool let_in(struct tx *tx, const char *sql, struct pawl_error *err)
{
    guest_enter(tx, SECONDS(60));
    return guest_execute(tx, sql, err) && guest_leave(tx, err);
}

TEST_EACH_DB(EXEC_6_what_the_application_does_is_stored_or_it_is_told)
{
    box_sql(box, "CREATE TABLE public.invoices (id BIGINT PRIMARY KEY)");
    EXPECT(guest_connection(box->db) == NULL);  // there is none to be had
    OK(let_in(tx, "INSERT INTO invoices VALUES (1)", err));
    REFUSED(PAWL_CONFLICT, let_in(tx, "INSERT INTO invoices VALUES (1)", err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 1);
}

TEST_EACH_DB(EXEC_6_a_table_of_pawls_that_is_gone_is_noticed_wherever_it_stood)
{
    box_sql(box, "CREATE TABLE pawl.zulu (id BIGINT)");
    REFUSED(PAWL_FORBIDDEN, let_in(tx, "DROP TABLE pawl.zulu", err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl.zulu"), 0);
    box_sql(box, "DROP TABLE pawl.zulu");
}

// Not by a guest, whose table would have been refused: by whoever else may.
TEST_EACH_DB(EXEC_6_a_table_that_refers_to_pawls_is_named)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_sql(box, "CREATE TABLE public.notes (job BIGINT REFERENCES pawl.jobs (id))");
    box_begin(box, &tx);
    guest_enter(&tx, SECONDS(60));
    EXPECT_REFUSED(PAWL_FORBIDDEN, guest_leave(&tx, &err));
    EXPECT(strstr(err.message, "table notes refers to jobs") != NULL
           || strstr(err.message, "table public.notes refers to jobs") != NULL);
    tx_end(&tx);
    box_sql(box, "DROP TABLE public.notes");
}

TEST_EACH_DB(EXEC_6_a_guest_that_comes_back_late_is_refused)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    pass(box, SECONDS(61));
    EXPECT_REFUSED(PAWL_FENCED, guest_leave(&tx, &err));
    tx_end(&tx);
}

// The text stands between two marks that are drawn by lot. One that has them would end there, and
// what follows would be a statement of its own.
TEST_EACH_DB(EXEC_6_a_text_that_has_guessed_the_mark_around_it_is_one_text_still)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box, &tx);
    uint64_t dice = box->world.dice;
    struct str sql = str_format(test_arena(), "INSERT INTO invoices VALUES (1, '$pawl%016llx$')",
                                (unsigned long long)world_random(&box->world.world));
    box->world.dice = dice;
    MUST(guest_execute(&tx, sql.s, &err));
    EXPECT(box->world.dice != dice);
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices WHERE number LIKE '$pawl%$'"), 1);
}

// A session that ends, in a statement or when its references are looked at.
TEST_EACH_DB(OPS_9_a_guest_whose_session_ends_leaves_nothing)
{
    static const char *const ends[] = {
        "INSERT INTO invoices VALUES (1, '1'); SELECT pg_terminate_backend(pg_backend_pid())",
        "INSERT INTO ended VALUES (1)",
    };
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_sql(box, "CREATE TABLE public.invoices (id BIGINT PRIMARY KEY, number TEXT);"
                 "CREATE TABLE public.ended (id BIGINT);"
                 "CREATE FUNCTION public.ends() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';"
                 "CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON public.ended DEFERRABLE"
                 " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.ends()");
    for (size_t i = 0; i < countof(ends); i++) {
        box_begin(box, &tx);
        guest_enter(&tx, SECONDS(60));
        bool executed = guest_execute(&tx, ends[i], &err);
        EXPECT(executed == (i == 1));
        EXPECT_REFUSED(PAWL_STORE, guest_leave(&tx, &err));
        tx_end(&tx);
        EXPECT(db_lost(box->db));
        box_reopen(box);
        EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices, ended"), 0);
    }
}

// Without memory to compare Pawl's tables by, what the statement has done to them is not known.
TEST_EACH_DB(EXEC_6_without_memory_the_application_is_told_that_and_nothing_else)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    int64_t refused = 0;
    enter(box, &tx);
    for (int64_t n = 1; n == refused + 1; n++) {
        rehearsal_arenas(n);
        bool done = guest_execute(&tx, "INSERT INTO invoices VALUES (1, '1')", &err);
        refused += rehearsal_calm();
        if (n == refused)
            EXPECT_REFUSED(PAWL_NO_MEMORY, done);
        else
            EXPECT(done);
    }
    EXPECT(refused >= 3);
    MUST(guest_leave(&tx, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM invoices"), 1);
}

// ----- threads take turns

static struct {
    struct db *db;
    atomic_int signals;
    atomic_bool waits, in;
} turn;

static void count_signal(int number)
{
    (void)number;
    turn.signals++;
}

static void *take_turn(void *self)
{
    (void)self;
    turn.waits = true;
    db_hold(turn.db);
    turn.in = true;
    db_release(turn.db);
    return NULL;
}

TEST_EACH_DB(EXEC_6_a_signal_gives_nobody_a_turn)
{
    enum { SIGNALS = 20 };
    struct pawl_error err = {0};
    struct sigaction count = { .sa_handler = count_signal }, before;
    struct db_options options = { .url = box->url, .world = &box->world.world, .shared = true };
    pthread_t other;
    MUST(db_open(&turn.db, &options, &err));
    EXPECT_INT(sigaction(SIGUSR1, &count, &before), 0);
    db_hold(turn.db);
    EXPECT_INT(pthread_create(&other, NULL, take_turn, NULL), 0);
    while (!turn.waits)
        wait_ms(1);
    for (int i = 0; i < SIGNALS; i++) {
        EXPECT_INT(pthread_kill(other, SIGUSR1), 0);
        while (turn.signals <= i)
            wait_ms(1);
        EXPECT(!turn.in);
    }
    db_release(turn.db);
    EXPECT_INT(pthread_join(other, NULL), 0);
    EXPECT(turn.in);
    EXPECT_INT(sigaction(SIGUSR1, &before, NULL), 0);
    db_close(turn.db);
}
