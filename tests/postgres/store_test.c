// What only a store on a server can go through: connections that are cut, a commit whose answer
// does not come, a second who writes.
#include <stdio.h>
#include <string.h>

#include "adding.h"
#include "faults.h"
#include "store/copy.h"
#include "store/hold.h"
#include "store/postgres_library.h"
#include "store/store_url.h"

static struct pipeline *pipeline_on(struct box *box)
{
    return pipeline_to(box->url, &box->world.world);
}

static bool enqueue(struct box *box, struct pipeline *pipeline, struct pawl_error *err)
{
    return enqueue_through(pipeline, box, contract_for(box, "report"), NULL, err);
}

// Ends every session of Pawl's, as an administrator or a server that stops would.
static void cut_all(struct box *box)
{
    EXPECT(box_number(box, "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                           " WHERE application_name = 'pawl' AND datname = current_database()")
           > 0);
}

static int64_t jobs(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM jobs");
}

TEST_EACH_DB(OPS_9_a_connection_that_was_cut_between_two_transactions_is_not_noticed)
{
    struct pipeline *pipeline = pipeline_on(box);
    struct pawl_error err = {0};
    MUST(enqueue(box, pipeline, &err));
    cut_all(box);
    MUST(enqueue(box, pipeline, &err));
    EXPECT_INT(jobs(box), 2);
    EXPECT_INT(pipeline_figures(pipeline).doubts, 0);
    pipeline_close(pipeline);
    box_reopen(box);
}

TEST_EACH_DB(OPS_9_a_connection_that_is_cut_takes_its_transaction_back_and_says_so)
{
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated = false;
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_settle(&tx, &err));
    cut_all(box);
    EXPECT_REFUSED(PAWL_BUSY, job_enqueue(&tx, &contract, &job, &deduplicated, &err)
                                  && tx_settle(&tx, &err));
    tx_end(&tx);
    EXPECT(db_lost(box->db));
    EXPECT_REFUSED(PAWL_BUSY, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
    EXPECT_INT(jobs(box), 0);
    box_reopen(box);
}

TEST_EACH_DB(OPS_9_a_reader_whose_connection_was_cut_reads_by_another)
{
    struct db_options options = { .url = box->url, .world = &box->world.world, .read_only = true };
    struct db *reader = NULL;
    struct pawl_error err = {0};
    must_enqueue(box, "report");
    for (int i = 0; i < 2; i++) {
        struct tx tx = {0};
        MUST(db_begin_read(&reader, &options, test_arena(), &tx, &err));
        tx_end(&tx);
        cut_all(box);
    }
    db_close(reader);
    box_reopen(box);
}

// The server ends the session in the middle of the COMMIT, so many times. What a sequence has given
// out stays given out though its transaction is taken back.
static void cut_commits(struct box *box, int times)
{
    char sql[640];
    snprintf(sql, sizeof sql,
             "CREATE SEQUENCE cuts;"
             "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
             " IF nextval('pawl.cuts') <= %d THEN PERFORM pg_terminate_backend(pg_backend_pid());"
             " PERFORM pg_sleep(10); END IF; RETURN NULL; END $$;"
             "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON jobs DEFERRABLE INITIALLY DEFERRED"
             " FOR EACH ROW EXECUTE FUNCTION cut()",
             times);
    box_sql(box, sql);
}

TEST_EACH_DB(OPS_9_a_commit_that_is_cut_off_is_looked_up_and_made_again)
{
    struct pipeline *pipeline = pipeline_on(box);
    struct pawl_error err = {0};
    cut_commits(box, 1);
    MUST(enqueue(box, pipeline, &err));
    EXPECT_INT(jobs(box), 1);
    EXPECT_INT(pipeline_figures(pipeline).doubts, 1);
    pipeline_close(pipeline);
}

TEST_EACH_DB(OPS_9_a_commit_that_is_cut_off_is_in_doubt_and_the_connection_is_done)
{
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated = false;
    struct tx tx = {0};
    cut_commits(box, 1);
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    EXPECT_REFUSED(PAWL_IN_DOUBT, tx_commit(&tx, &err));
    tx_end(&tx);
    db_begin_ahead(box->db);  // of a connection that is done: nothing
    EXPECT_REFUSED(PAWL_STORE, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
    box_reopen(box);
    EXPECT_INT(jobs(box), 0);
}

// Whatever is there is asked first.
TEST_EACH_DB(OPS_9_a_store_of_any_version_begins_nothing_ahead)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    MUST(db_open(&db, &(struct db_options){ .url = box->url, .any_version = true }, &err));
    db_begin_ahead(db);
    MUST(tx_begin(db, TX_READ, test_arena(), &tx, &err));
    tx_end(&tx);
    db_close(db);
}

static bool wrap_up_failing(struct box *box, int64_t n, struct pawl_error *err)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known = false;
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    bool done = job_enqueue(&tx, &contract, &job, &known, err);
    EXPECT(done);
    store_faults_begin(box->db, NULL);
    store_faults = (struct fault_counter){ .fail_at = n };
    done = tx_wrap_up(&tx, err);
    EXPECT(done == (store_faults.failed == 0));
    store_faults = (struct fault_counter){0};
    done = done && tx_commit(&tx, err);
    tx_end(&tx);
    store_faults_end(box->db);
    return done;
}

// Numbers are added up once in 64 transactions, where there is somebody to wait for it anyway.
TEST_EACH_DB(OPS_3_a_transaction_whose_numbers_cannot_be_added_up_is_refused)
{
    enum { TRANSACTIONS = 130 };
    for (int i = 0; i < TRANSACTIONS; i++)
        for (int64_t n = 1;; n++) {
            struct pawl_error err = {0};
            if (wrap_up_failing(box, n, &err))
                break;
            EXPECT(err.code == PAWL_STORE);
        }
    EXPECT_INT(jobs(box), TRANSACTIONS);
}

// What was done stays done, and which event was the last is not known.
TEST_EACH_DB(OPS_9_a_commit_whose_last_answer_cannot_be_read_is_done)
{
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known = false;
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    MUST(tx_wrap_up(&tx, &err));
    store_faults_begin(box->db, NULL);
    store_faults = (struct fault_counter){ .fail_at = 2 };  // behind the commit
    MUST(tx_commit(&tx, &err));
    EXPECT_INT(store_faults.failed, 1);
    store_faults = (struct fault_counter){0};
    EXPECT_INT(tx.last_event, 0);
    tx_end(&tx);
    store_faults_end(box->db);
    EXPECT_INT(jobs(box), 1);
}

TEST_EACH_DB(RUN_4_one_writes_at_a_time_and_who_waits_too_long_is_told)
{
    struct db *second = NULL;
    struct pawl_error err = {0};
    struct db_options options = {
        .url = box->url, .world = &box->world.world, .busy_us = MILLISECONDS(50)
    };
    MUST(db_open(&second, &options, &err));
    struct tx first = {0}, tx = {0};
    box_begin(box, &first);
    EXPECT_REFUSED(PAWL_BUSY, tx_begin(second, TX_WRITE, test_arena(), &tx, &err));
    tx_end(&first);
    MUST(tx_begin(second, TX_WRITE, test_arena(), &tx, &err));
    tx_end(&tx);
    db_close(second);
}

// Reading, like a fault where a transaction begins, lets go of what was begun ahead.
static bool refuse_begin(void *self, enum fault_point point, struct pawl_error *err)
{
    bool *refuses = self;
    return point != FAULT_BEGIN || !*refuses || fail(err, PAWL_BUSY, "not now");
}

// Nobody waits for it here, so it is looked for.
static void begin_ahead(struct box *box, struct db *db)
{
    db_begin_ahead(db);
    while (box_number(box, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
                           " AND mode = 'ExclusiveLock' AND database = (SELECT oid FROM pg_database"
                           " WHERE datname = current_database())")
           == 0) {}
}

TEST_EACH_DB(RUN_4_what_was_begun_ahead_has_the_lock_until_it_is_taken_up_or_back)
{
    static const enum { UP,
                        BACK,
                        BY_READING,
                        BY_A_FAULT } ends[] = { UP, BACK, BY_READING,
                                                BY_A_FAULT };
    struct db *first = NULL, *second = NULL;
    struct pawl_error err = {0};
    bool refuses = false;
    const struct faults faults = { &refuses, refuse_begin };
    struct db_options options = {
        .url = box->url, .world = &box->world.world, .busy_us = MILLISECONDS(50), .faults = &faults
    };
    MUST(db_open(&first, &options, &err));
    MUST(db_open(&second, &options, &err));
    for (size_t i = 0; i < countof(ends); i++) {
        struct tx tx = {0};
        begin_ahead(box, first);
        EXPECT_REFUSED(PAWL_BUSY, tx_begin(second, TX_WRITE, test_arena(), &tx, &err));
        refuses = ends[i] == BY_A_FAULT;
        if (ends[i] == BACK)
            db_begin_back(first);
        else
            EXPECT(tx_begin(first, ends[i] == BY_READING ? TX_READ : TX_WRITE, test_arena(), &tx,
                            &err)
                   == !refuses);
        refuses = false;
        if (ends[i] == UP)
            MUST(tx_commit(&tx, &err));
        tx_end(&tx);
        MUST(tx_begin(second, TX_WRITE, test_arena(), &tx, &err));
        tx_end(&tx);
    }
    db_begin_back(first);  // nothing was begun
    db_begin_ahead(first);
    db_close(first);       // the server takes it back
    db_close(second);
    must_enqueue(box, "report");
}

static void enqueue_on(struct box *box, struct db *db)
{
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated = false;
    struct tx tx = {0};
    MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    tx.caller = &box->caller;
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    MUST(tx_wrap_up(&tx, &err) && tx_commit(&tx, &err));
    tx_end(&tx);
}

// Those who wait for the lock would wait for its callers too.
TEST_EACH_DB(RUN_4_who_is_not_alone_does_not_begin_ahead)
{
    struct db *first = NULL, *second = NULL;
    struct pawl_error err = {0};
    struct db_options options = {
        .url = box->url, .world = &box->world.world, .busy_us = SECONDS(5)
    };
    MUST(db_open(&first, &options, &err));
    MUST(db_open(&second, &options, &err));
    enqueue_on(box, first);
    enqueue_on(box, second);
    enqueue_on(box, first);
    db_begin_ahead(first);
    enqueue_on(box, second);  // the lock is free: this would be refused as busy
    enqueue_on(box, first);
    enqueue_on(box, first);   // nobody was in between
    begin_ahead(box, first);
    db_begin_back(first);
    db_close(first);
    db_close(second);
}

TEST_EACH_DB(OPS_9_what_was_begun_ahead_and_cut_is_noticed_and_has_done_nothing)
{
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated = false;
    struct tx tx = {0};
    begin_ahead(box, box->db);
    cut_all(box);
    EXPECT_REFUSED(PAWL_BUSY, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err)
                                  && job_enqueue(&tx, &contract, &job, &deduplicated, &err)
                                  && tx_settle(&tx, &err));
    tx_end(&tx);
    EXPECT(db_lost(box->db));
    db_begin_ahead(box->db);  // of a connection that is lost: nothing
    db_begin_back(box->db);
    box_reopen(box);
    must_enqueue(box, "report");
}

TEST_EACH_DB(RUN_5_of_one_name_there_is_one_process_until_its_session_ends)
{
    struct hold one = {0}, other = {0};
    struct pawl_error err = {0};
    MUST(hold_take(&one, box->url, S("a"), &err));
    EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&other, box->url, S("a"), &err));
    cut_all(box);
    MUST(hold_take(&other, box->url, S("a"), &err));
    hold_give(&one);
    hold_give(&other);
    box_reopen(box);
}

TEST_EACH_DB(RUN_5_a_name_that_the_server_has_lost_is_taken_again)
{
    struct hold one = {0}, other = {0};
    struct pawl_error err = {0};
    MUST(hold_take(&one, box->url, S("a"), &err));
    MUST(hold_keep(&one, S("a"), &err));
    cut_all(box);
    MUST(hold_keep(&one, S("a"), &err));
    EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&other, box->url, S("a"), &err));
    cut_all(box);
    MUST(hold_take(&other, box->url, S("a"), &err));
    EXPECT_REFUSED(PAWL_CONFLICT, hold_keep(&one, S("a"), &err));
    hold_give(&one);
    hold_give(&other);
    box_reopen(box);
}

TEST_EACH_DB(EXEC_2_leases_go_by_the_clock_of_the_database)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    MUST(db_open(&db, &(struct db_options){ .url = box->url }, &err));
    struct tx tx = {0};
    static const char clock[] = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    int64_t before = box_number(box, clock);
    MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    EXPECT(before <= tx.now && tx.now <= box_number(box, clock));
    tx_end(&tx);
    db_close(db);
}

TEST_EACH_DB(a_schema_of_another_program_is_refused_and_left_alone)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    box_sql(box, "CREATE SCHEMA theirs; CREATE TABLE theirs.a (x INTEGER)");
    struct str url = str_format(test_arena(), "%.*s&schema=theirs", STR(box->url));
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = url }, &err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pg_tables WHERE schemaname = 'theirs'"), 1);
    url = str_format(test_arena(), "%.*s&schema=ours", STR(box->url));
    struct db_options options = { .url = url, .world = &box->world.world, .must_exist = true };
    EXPECT_REFUSED(PAWL_NOT_FOUND, db_open(&db, &options, &err));
    options.must_exist = false;
    MUST(db_open(&db, &options, &err));
    db_close(db);
    EXPECT(box_number(box, "SELECT count(*) FROM pg_tables WHERE schemaname = 'ours'") > 30);
}

// ----- a server that will not do

static int is_old(const PGconn *connection)
{
    (void)connection;
    return 140009;
}

static const char *said_encoding;
static const char *has_encoding(const PGconn *connection, const char *name)
{
    (void)connection, (void)name;
    return said_encoding;
}

// There is no such server here: the library says so instead.
TEST_EACH_DB(SLOT_11_a_server_that_is_too_old_or_has_another_encoding_is_refused)
{
    static const char *const encodings[] = { "LATIN1", NULL };
    struct db *db = NULL;
    struct pawl_error err = {0};
    const struct libpq real = pq;
    const struct db_options options = { .url = box->url, .world = &box->world.world };
    pq.serverVersion = is_old;
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &options, &err));
    EXPECT(strstr(err.message, "is PostgreSQL 14: Pawl needs 15 or newer") != NULL);
    pq = real;
    pq.parameterStatus = has_encoding;
    for (size_t i = 0; i < countof(encodings); i++) {
        said_encoding = encodings[i];
        EXPECT_REFUSED(PAWL_STORE, db_open(&db, &options, &err));
        EXPECT(strstr(err.message, "Pawl needs a database with UTF8") != NULL);
    }
    pq = real;
}

TEST_EACH_DB(OPS_9_what_the_server_has_its_own_tools_for_is_left_to_them)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_USAGE, db_copy(box->db, "/tmp/never", NULL, &err));
    EXPECT(strstr(err.message, "pg_dump") != NULL);
    MUST(db_scrub(box->db, false, &err));
    MUST(db_scrub(box->db, true, &err));
}

// ----- what the server refuses, and lives

static bool enqueue_here(struct box *box, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated = false;
    box_begin(box, tx);
    return job_enqueue(tx, &contract, &job, &deduplicated, err) && tx_settle(tx, err);
}

// By a check that somebody has put off to the end of the transaction.
TEST_EACH_DB(OPS_9_a_commit_that_the_server_refuses_has_not_happened)
{
    static const struct {
        const char *sqlstate;
        enum pawl_code code;
    } rows[] = { { "23514", PAWL_CONFLICT }, { "P0001", PAWL_STORE }, { "53100", PAWL_DISK_FULL } };
    for (size_t i = 0; i < countof(rows); i++) {
        struct pawl_error err = {0};
        struct tx tx = {0};
        box_sql(box, str_format(test_arena(),
                                "CREATE OR REPLACE FUNCTION public.refuses() RETURNS trigger"
                                " LANGUAGE plpgsql AS"
                                " 'BEGIN RAISE EXCEPTION ''no'' USING ERRCODE = ''%s''; END';"
                                "CREATE CONSTRAINT TRIGGER refuses AFTER INSERT ON pawl.jobs"
                                " DEFERRABLE INITIALLY DEFERRED"
                                " FOR EACH ROW EXECUTE FUNCTION public.refuses()",
                                rows[i].sqlstate)
                         .s);
        MUST(enqueue_here(box, &tx, &err));
        EXPECT_REFUSED(rows[i].code, tx_commit(&tx, &err));
        tx_end(&tx);
        EXPECT(!db_lost(box->db));
        box_sql(box, "DROP TRIGGER refuses ON pawl.jobs");
        EXPECT_INT(jobs(box), 0);
    }
    must_enqueue(box, "report");
}

// The commit was on its way behind it: what is blamed is the statement, and only for that time.
TEST_EACH_DB(OPS_9_a_commit_behind_a_statement_that_is_refused_is_not_done)
{
    struct pawl_error err = {0};
    struct tx tx = {0}, next = {0};
    MUST(enqueue_here(box, &tx, &err));
    MUST(sql_run(&tx, Q_GENERATION_INSERT, &err, INT(1)));  // it is there
    EXPECT_REFUSED(PAWL_STORE, tx_commit(&tx, &err));
    EXPECT(db_refused(box->db) && !db_lost(box->db));
    tx_end(&tx);
    EXPECT_INT(jobs(box), 0);
    MUST(enqueue_here(box, &next, &err));
    MUST(tx_commit(&next, &err));
    EXPECT(!db_refused(box->db));
    EXPECT_INT(jobs(box), 1);
}

// Whoever goes on behind a statement that failed is told so, whatever is asked for next.
TEST_EACH_DB(OPS_9_behind_a_statement_that_failed_nothing_is_read_or_committed)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    int64_t number = 0;
    MUST(enqueue_here(box, &tx, &err));
    {
        SCOPED(rows) struct rows twice = {0}, once = {0}, newest = {0};
        MUST(sql_ask(&tx, &once, Q_KEY_REPLACE, &err, INT(1), INT(1)));
        MUST(sql_ask(&tx, &twice, Q_GENERATION_INSERT, &err, INT(1)));
        MUST(sql_ask_plain(&tx, &newest, Q_GENERATION_NEWEST, &err));
        EXPECT(!rows_next(&twice) && !rows_ok(&twice, NULL));
        EXPECT_REFUSED(PAWL_STORE, rows_number(&newest, &number, &err));
        EXPECT(strstr(err.message, "an earlier statement of this transaction failed") != NULL);
    }
    EXPECT(!tx_commit(&tx, &err));
    tx_end(&tx);
    EXPECT_INT(jobs(box), 0);

    MUST(enqueue_here(box, &tx, &err));
    EXPECT(!tx_execute(&tx, "SELECT 1 / 0", &err));
    EXPECT_REFUSED(PAWL_STORE, tx_commit(&tx, &err));
    tx_end(&tx);
    EXPECT_INT(jobs(box), 0);
}
