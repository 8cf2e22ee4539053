// Sessions that cannot be had as they should be, and what is asked of one past its bounds.
#include <libpq-fe.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "process.h"
#include "rehearsal.h"
#include "store/driver.h"
#include "store/hold.h"
#include "store/postgres_library.h"

static struct libpq real;

static bool opens(struct box *box, struct str url, struct pawl_error *err)
{
    struct db *db = NULL;
    struct db_options options = { .url = url, .world = &box->world.world, .any_version = true };
    bool opened = db_open(&db, &options, err);
    db_close(db);
    return opened;
}

// ----- a name

static void cut_all(struct box *box)
{
    EXPECT(box_number(box, "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                           " WHERE application_name = 'pawl' AND datname = current_database()")
           > 0);
}

static PGconn *connect_nowhere(const char *const *words, const char *const *values, int expand)
{
    (void)words, (void)values, (void)expand;
    return NULL;
}

static const char *refused_text;  // a statement with it is refused
static PGresult *execute_others(PGconn *connection, const char *sql)
{
    return strstr(sql, refused_text) ? NULL : real.exec(connection, sql);
}

// The session is there again, and the name is not: it must not be taken for kept.
TEST_EACH_DB(RUN_5_a_name_that_could_not_be_taken_again_is_not_kept)
{
    static const char *const refused[] = { "tcp_keepalives", "pg_try_advisory_lock" };
    real = pq;
    for (size_t i = 0; i < countof(refused); i++) {
        struct hold one = {0}, other = {0};
        struct pawl_error err = {0};
        MUST(hold_take(&one, box->url, S("a"), &err));
        cut_all(box);
        refused_text = refused[i];
        pq.exec = execute_others;
        EXPECT_REFUSED(PAWL_BUSY, hold_keep(&one, S("a"), &err));
        pq = real;
        MUST(hold_take(&other, box->url, S("a"), &err));
        EXPECT_REFUSED(PAWL_CONFLICT, hold_keep(&one, S("a"), &err));
        EXPECT_REFUSED(PAWL_CONFLICT, hold_keep(&one, S("a"), &err));
        hold_give(&other);
        hold_give(&one);
    }
    box_reopen(box);
}

TEST_EACH_DB(RUN_5_a_name_is_taken_again_when_the_server_is_back)
{
    struct hold one = {0}, other = {0};
    struct pawl_error err = {0};
    real = pq;
    MUST(hold_take(&one, box->url, S("a"), &err));
    cut_all(box);
    pq.connectdbParams = connect_nowhere;
    for (int i = 0; i < 2; i++)
        EXPECT_REFUSED(PAWL_BUSY, hold_keep(&one, S("a"), &err));
    pq = real;
    MUST(hold_keep(&one, S("a"), &err));
    EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&other, box->url, S("a"), &err));
    hold_give(&one);
    box_reopen(box);
}

TEST_EACH_DB(RUN_5_a_server_out_of_reach_gives_no_name_at_all)
{
    struct hold hold = {0};
    struct str name;
    struct pawl_error err = {0};
    real = pq;
    pq.connectdbParams = connect_nowhere;
    EXPECT_REFUSED(PAWL_BUSY, hold_take_any(&hold, box->url, S("a"), &name, test_arena(), &err));
    pq = real;
    refused_text = "pg_try_advisory_lock";
    pq.exec = execute_others;
    EXPECT_REFUSED(PAWL_BUSY, hold_take_any(&hold, box->url, S("a"), &name, test_arena(), &err));
    pq = real;
    MUST(hold_take_any(&hold, box->url, S("a"), &name, test_arena(), &err));
    EXPECT_STR(name, "a");
    hold_give(&hold);
}

// ----- a pooler that keeps a session for each client

static int says_its_own_number(const PGconn *connection)
{
    (void)connection;
    return 1;
}

static PGconn *connect_once(const char *const *words, const char *const *values, int expand)
{
    pq.connectdbParams = connect_nowhere;
    return real.connectdbParams(words, values, expand);
}

static int refuse_query(PGconn *connection, const char *sql)
{
    (void)connection, (void)sql;
    return 0;
}

static int quiet_end;
static int hears_nothing(const PGconn *connection)
{
    (void)connection;
    return quiet_end;
}

static PGresult *loses_answer(PGconn *connection)
{
    PQclear(real.getResult(connection));
    pq.getResult = real.getResult;
    return NULL;
}

// It may have no session left for a second client, and that one may not be answered.
TEST_EACH_DB(SLOT_11_a_pooler_that_keeps_sessions_needs_no_option)
{
    struct pawl_error err = {0};
    int ends[2];
    EXPECT_INT(pipe(ends), 0);
    quiet_end = ends[0];
    real = pq;
    struct libpq ways[] = { real, real, real, real, real };
    ways[1].connectdbParams = connect_once;
    ways[2].sendQuery = refuse_query;
    ways[3].getResult = loses_answer;
    ways[4].socket = hears_nothing;
    for (size_t i = 0; i < countof(ways); i++) {
        pq = ways[i];
        pq.backendPID = says_its_own_number;
        MUST(opens(box, box->url, &err));
        pq = real;
    }
    close(ends[0]);
    close(ends[1]);
}

// ----- what it is told and finds

TEST_EACH_DB(OPS_9_a_url_that_libpq_cannot_read_is_shown_without_its_secret)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_USAGE, opens(box, S("postgres://u@h/d?colour=red"), &err));
    EXPECT(strstr(err.message, "colour") != NULL && !strstr(err.message, "none that libpq"));
    EXPECT_REFUSED(PAWL_USAGE, opens(box, S("postgres://u:hush@h/d?colour=red"), &err));
    EXPECT(strstr(err.message, "none that libpq can read") && !strstr(err.message, "hush"));
}

TEST_EACH_DB(OPS_9_a_search_path_that_is_too_long_is_refused)
{
    struct pawl_error err = {0};
    box_sql(box, "DO $$ DECLARE path text := ''; name text; BEGIN"
                 " FOR i IN 10..19 LOOP name := 'a_schema_with_a_name_that_is_long_' || i ||"
                 "  '_and_goes_on_and_on'; EXECUTE 'CREATE SCHEMA ' || name;"
                 "  path := path || name || ', '; END LOOP;"
                 " EXECUTE format('ALTER DATABASE %I SET search_path = %s public',"
                 "  current_database(), path); END $$");
    EXPECT_REFUSED(PAWL_STORE, opens(box, box->url, &err));
    EXPECT(strstr(err.message, "its search_path is too long") != NULL);
    box_sql(box, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET search_path',"
                 " current_database()); END $$");
    MUST(opens(box, box->url, &err));
}

TEST_EACH_DB(OPS_9_a_schema_that_may_not_be_made_is_told_of_and_an_empty_one_is_used)
{
    struct pawl_error err = {0};
    struct str url = str_format(test_arena(), "%.*s&schema=mine", STR(box->url));
    static const char rights[] = "DO $$ BEGIN EXECUTE format('%s CREATE ON DATABASE %%I %s pawl',"
                                 " current_database()); END $$";
    box_sql(box, str_format(test_arena(), rights, "REVOKE", "FROM").s);
    EXPECT_REFUSED(PAWL_STORE, opens(box, url, &err));
    EXPECT(strstr(err.message, "cannot make the schema") != NULL);
    box_sql(box, str_format(test_arena(), rights, "GRANT", "TO").s);
    box_sql(box, "CREATE SCHEMA mine");
    MUST(opens(box, url, &err));
}

// ----- the server ends what nobody goes on with

TEST_EACH_DB(OPS_9_a_transaction_that_the_server_has_given_up_is_lost)
{
    for (int plain = 0; plain < 2; plain++) {
        struct pawl_error err = {0};
        struct tx tx = {0};
        box_begin(box, &tx);
        MUST(tx_execute(&tx, "SET LOCAL idle_in_transaction_session_timeout = 1", &err));
        wait_ms(300);
        bool done = plain ? tx_execute(&tx, "SELECT 1", &err)
                          : sql_run(&tx, Q_KEY_SEEN, &err, INT(1), INT(1)) && tx_settle(&tx, &err);
        EXPECT_REFUSED(PAWL_BUSY, done);
        EXPECT(strstr(err.message, "the connection to the database is lost") != NULL);
        tx_end(&tx);
        EXPECT(db_lost(box->db));
        box_reopen(box);
        must_enqueue(box, "report");
    }
}

// ----- the clock of the database

static int64_t values_read;
static char *reads_far_ahead(const PGresult *result, int row, int column)
{
    static char far[] = "900000000000000";
    bool clock = PQntuples(result) == 1 && PQnfields(result) == 2 && column == 1;
    values_read += clock;
    return clock ? far : real.getvalue(result, row, column);
}

// The server's calendar is set while a transaction waits: by its own count it waited for years.
TEST_EACH_DB(EXEC_2_a_calendar_that_is_set_meanwhile_makes_no_time_to_come)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct tx tx = {0};
    MUST(db_open(&db, &(struct db_options){ .url = box->url }, &err));
    real = pq;
    pq.getvalue = reads_far_ahead;
    MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    pq = real;
    EXPECT(values_read > 0);
    EXPECT(tx.monotonic <= world_monotonic(world_real()));
    tx_end(&tx);
    db_close(db);
}

// ----- past the bounds of the wire

TEST_EACH_DB(OPS_9_a_text_that_is_too_long_for_the_wire_is_refused)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    void *statement = NULL;
    const struct db_driver *driver = box->db->driver;
    const struct value text = TEXT(((struct str){ "", (size_t)INT32_MAX + 1 }));
    const struct value two[] = { text, text };
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, driver->start(box->db, Q_KEY_SEEN, two, 2, &statement, &err));
    EXPECT_REFUSED(PAWL_STORE, driver->send(box->db, Q_KEY_SEEN, two, 2, &err));
    EXPECT(strstr(err.message, "a text of 2147483648 bytes is too long") != NULL);
    EXPECT_REFUSED(PAWL_NO_MEMORY,
                   driver->run_many(box->db, Q_GENERATION_INSERT, two, 2, &err));
    EXPECT(strstr(err.message, "no memory for 2 rows at once") != NULL);
    tx_end(&tx);
    must_enqueue(box, "report");
}

static bool see_two_keys(struct box *box, struct pawl_error *err)
{
    return box->db->driver->run_many(box->db, Q_KEY_SEEN, VALUES(INT(1), INT(1), INT(2), INT(1)),
                                     2, err);
}

// Not for want of memory for one statement, and never again any other.
TEST_EACH_DB(OPS_9_a_statement_for_many_rows_is_made_when_there_is_memory_again)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    int64_t refused = 0;
    box_begin(box, &tx);
    for (int64_t n = 1; n == refused + 1; n++) {
        rehearsal_arenas(n);
        bool done = see_two_keys(box, &err);
        refused += rehearsal_calm();
        if (n == refused)
            EXPECT_REFUSED(PAWL_NO_MEMORY, done);
    }
    EXPECT(refused > 2);
    MUST(see_two_keys(box, &err));
    tx_end(&tx);
}

// What was refused is told at the latest when there is no room to send more before it is read.
TEST_EACH_DB(OPS_9_what_is_sent_behind_a_refusal_is_refused_before_it_is_too_much)
{
    enum { ON_THE_WAY = 64 };
    for (int more = ON_THE_WAY - 8; more < ON_THE_WAY; more++) {
        struct pawl_error err = {0};
        struct tx tx = {0};
        box_begin(box, &tx);
        MUST(sql_run(&tx, Q_GENERATION_INSERT, &err, INT(1)));  // it is there
        bool sent = true;
        for (int i = 0; i < more && sent; i++)
            sent = sql_run(&tx, Q_KEY_REPLACE, &err, INT(1), INT(1));
        EXPECT(more > ON_THE_WAY - 6 || sent);
        EXPECT_REFUSED(PAWL_STORE, sent && see_two_keys(box, &err));
        tx_end(&tx);
    }
    must_enqueue(box, "report");
}

static int refuse_pipeline(PGconn *connection)
{
    (void)connection;
    return 0;
}

TEST_EACH_DB(OPS_9_a_pipeline_that_cannot_be_entered_is_a_lost_connection)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(tx_execute(&tx, "SELECT 1", &err));
    real = pq;
    pq.enterPipelineMode = refuse_pipeline;
    EXPECT_REFUSED(PAWL_BUSY, see_two_keys(box, &err));
    pq = real;
    tx_end(&tx);
    EXPECT(db_lost(box->db));
    box_reopen(box);
    must_enqueue(box, "report");
}

// ----- commits

TEST_EACH_DB(RUN_4_a_commit_of_what_somebody_else_has_changed_first_is_refused)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    const struct db_driver *driver = box->db->driver;
    box_begin(box, &tx);
    MUST(driver->send(box->db, Q_KEY_SEEN, VALUES(INT(-1), INT(1)), 2, &err));
    driver->expect(box->db, 1);
    EXPECT_REFUSED(PAWL_STORE, driver->commit(box->db, &err));
    EXPECT(strstr(err.message, "somebody else was faster") != NULL);
    tx_end(&tx);
    must_enqueue(box, "report");
}

// Whoever only reads has nothing to be in doubt about.
TEST_EACH_DB(OPS_9_a_reader_that_is_cut_off_at_its_end_is_told_so_and_not_in_doubt)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    MUST(tx_begin(box->db, TX_READ, test_arena(), &tx, &err));
    EXPECT(!tx_execute(&tx, "SELECT 1 / 0", &err));
    EXPECT_REFUSED(PAWL_STORE, tx_commit(&tx, &err));
    EXPECT(strstr(err.message, "nothing was committed") != NULL);
    tx_end(&tx);
    MUST(tx_begin(box->db, TX_READ, test_arena(), &tx, &err));
    cut_all(box);
    EXPECT_REFUSED(PAWL_BUSY, tx_commit(&tx, &err));
    tx_end(&tx);
    box_reopen(box);
}

// ----- the schema moves

TEST_EACH_DB(OPS_9_a_newer_schema_stops_this_program_until_it_is_taken_back)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    must_enqueue(box, "report");
    box_sql(box, "INSERT INTO pawl.schema_migrations (version, name, applied_at)"
                 " VALUES (9999, 'newer', 0)");
    EXPECT_REFUSED(PAWL_OUTDATED, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
    box_sql(box, "DELETE FROM pawl.schema_migrations WHERE version = 9999");
    must_enqueue(box, "report");
}
