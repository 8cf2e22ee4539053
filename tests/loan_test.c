// The application's own tables: a job and a business row in one transaction, bounded in time.
#include "answers.h"
#include "faulty_vfs.h"
#include "outside.h"
#include "process.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "run/handle.h"
#include "run/loan.h"
#include "store/guest.h"

struct shop {
    struct scratch scratch;
    struct pawl *pawl;
};

static struct pawl *open_pawl(struct scratch *scratch, struct pawl_options options)
{
    struct pawl_error err = {0};
    struct pawl *pawl = NULL;
    options.store = scratch_store(scratch);
    MUST(pawl_open(&pawl, &options, &err));
    return pawl;
}

static struct shop shop_open(struct pawl_options options)
{
    struct shop shop = { .scratch = scratch_open() };
    shop.pawl = open_pawl(&shop.scratch, options);
    struct pawl_tx *tx = NULL;
    struct pawl_error err = {0};
    MUST(pawl_begin(shop.pawl, &tx, &err));
    MUST(pawl_tx_execute(tx, "CREATE TABLE orders (id TEXT PRIMARY KEY)", &err));
    MUST(lent_commit(tx, &err));
    return shop;
}

static void shop_close(struct shop *shop)
{
    pawl_close(shop->pawl);
    scratch_close(&shop->scratch);
}

static int64_t orders(struct shop *shop)
{
    return scratch_number(&shop->scratch, "SELECT count(*) FROM orders");
}

static int64_t jobs(struct shop *shop)
{
    return scratch_number(&shop->scratch, "SELECT count(*) FROM jobs");
}

static struct pawl_tx *must_begin(struct shop *shop)
{
    struct pawl_tx *tx = NULL;
    struct pawl_error err = {0};
    MUST(pawl_begin(shop->pawl, &tx, &err));
    return tx;
}

static void must_order(struct pawl_tx *tx, const char *id)
{
    struct pawl_error err = {0};
    struct pawl_job job = { .job_type = "ship", .idempotency_key = id };
    MUST(pawl_tx_execute(tx, str_format(test_arena(), "INSERT INTO orders VALUES ('%s')", id).s,
                         &err));
    MUST(pawl_tx_enqueue(tx, &job, NULL, &err));
}

static bool enqueue_one(struct pawl *pawl, const char *key, struct pawl_error *err)
{
    return pawl_enqueue(pawl, &(struct pawl_job){ .job_type = "other", .idempotency_key = key },
                        NULL, err);
}

// On a thread that has borrowed nothing.
static void *enqueue_meanwhile(void *shop)
{
    struct pawl_error err = {0};
    MUST(enqueue_one(((struct shop *)shop)->pawl, "meanwhile", &err));
    return NULL;
}

static void enqueue_elsewhere(struct shop *shop)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, enqueue_meanwhile, shop) == 0);
    pthread_join(thread, NULL);
}

// ----- together or not at all

TEST(EXEC_6_a_job_and_a_row_are_committed_together)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    MUST(lent_commit(tx, &err));
    EXPECT_INT(orders(&shop), 1);
    EXPECT_INT(jobs(&shop), 1);
    shop_close(&shop);
}

TEST(EXEC_6_a_job_and_a_row_are_rolled_back_together)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    pawl_rollback(tx);
    pawl_rollback(NULL);
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    tx = must_begin(&shop);  // on the same connection, whose names were forgotten
    must_order(tx, "o-1");
    MUST(lent_commit(tx, &err));
    EXPECT_INT(jobs(&shop), 1);
    MUST(enqueue_one(shop.pawl, "after", &err));
    shop_close(&shop);
}

TEST(OPS_4_jobs_of_a_loan_are_deduplicated_and_a_refusal_leaves_it_usable)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_job job = { .job_type = "ship", .idempotency_key = "k", .payload = "{\"n\":1}" };
    struct pawl_ticket first, second;
    struct pawl_tx *tx = must_begin(&shop);
    MUST(pawl_tx_enqueue(tx, &job, &first, &err));
    MUST(pawl_tx_enqueue(tx, &job, &second, &err));
    EXPECT(!first.deduplicated && second.deduplicated);
    EXPECT(strcmp(first.job_id, second.job_id) == 0);
    job.payload = "{\"n\":2}";
    EXPECT_REFUSED(PAWL_KEY_REUSED, pawl_tx_enqueue(tx, &job, NULL, &err));
    struct pawl_job bad = { .job_type = "no spaces", .payload = "[1]", .priority = 1000 };
    EXPECT_REFUSED(PAWL_INVALID, pawl_tx_enqueue(tx, &bad, NULL, &err));
    EXPECT(strstr(err.message, "job_type") && strstr(err.message, "payload")
           && strstr(err.message, "priority"));
    EXPECT(!pawl_tx_enqueue(tx, &bad, NULL, NULL));
    EXPECT_REFUSED(PAWL_FORBIDDEN, pawl_tx_execute(tx, "UPDATE queues SET paused_at = 1", &err));
    EXPECT(strstr(err.message, on_postgres() ? "it changes queues, which belongs to Pawl"
                                             : "table queues belongs to Pawl: use pawl_tx_enqueue")
           != NULL);
    must_order(tx, "o-1");
    MUST(lent_commit(tx, &err));
    EXPECT_INT(jobs(&shop), 2);
    EXPECT_INT(orders(&shop), 1);
    EXPECT(pawl_tx_owns("jobs") && !pawl_tx_owns("orders"));
    shop_close(&shop);
}

SQLITE_ONLY(EXEC_6_a_borrower_uses_sqlite_itself, "the connection of SQLite")
TEST(EXEC_6_a_borrower_uses_sqlite_itself)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    sqlite3_stmt *insert = NULL;
    EXPECT_INT(sqlite3_prepare_v2(pawl_tx_sqlite(tx), "INSERT INTO orders VALUES (?)", -1, &insert,
                                  NULL),
               SQLITE_OK);
    sqlite3_bind_text(insert, 1, "o-1", -1, SQLITE_STATIC);
    EXPECT_INT(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(insert);
    EXPECT_INT(sqlite3_exec(pawl_tx_sqlite(tx), "DELETE FROM jobs", NULL, NULL, NULL), SQLITE_AUTH);
    MUST(lent_commit(tx, &err));
    EXPECT_INT(orders(&shop), 1);
    shop_close(&shop);
}

// Called by SQLite for each row, so with its connection held.
static int enqueue_row(void *tx, int columns, char **texts, char **names)
{
    (void)columns;
    (void)names;
    struct pawl_error err = {0};
    struct pawl_job job = { .job_type = "ship", .idempotency_key = texts[0] };
    MUST(pawl_tx_enqueue(tx, &job, NULL, &err));
    return 0;
}

SQLITE_ONLY(EXEC_6_jobs_may_be_enqueued_from_within_a_query, "the connection of SQLite")
TEST(EXEC_6_jobs_may_be_enqueued_from_within_a_query)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    MUST(pawl_tx_execute(tx, "INSERT INTO orders VALUES ('a'), ('b'), ('c')", &err));
    EXPECT_INT(sqlite3_exec(pawl_tx_sqlite(tx), "SELECT id FROM orders", enqueue_row, tx, NULL),
               SQLITE_OK);
    MUST(lent_commit(tx, &err));
    EXPECT_INT(jobs(&shop), 3);
    shop_close(&shop);
}

// ----- what a borrower does wrong

SQLITE_ONLY(EXEC_6_a_statement_left_open_refuses_the_commit, "the connection of SQLite")
TEST(EXEC_6_a_statement_left_open_refuses_the_commit)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    sqlite3_stmt *left = NULL;
    const char *sql = "INSERT INTO orders VALUES ('o-2') RETURNING id";
    EXPECT_INT(sqlite3_prepare_v2(pawl_tx_sqlite(tx), sql, -1, &left, NULL), SQLITE_OK);
    EXPECT_INT(sqlite3_step(left), SQLITE_ROW);
    EXPECT_REFUSED(PAWL_USAGE, pawl_commit(tx, &err));
    EXPECT(strstr(err.message, "finalized") != NULL);
    int again = sqlite3_step(left);  // its connection only reads now
    EXPECT(again != SQLITE_ROW && again != SQLITE_DONE);
    sqlite3_finalize(left);
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    tx = must_begin(&shop);
    must_order(tx, "o-1");
    MUST(lent_commit(tx, &err));
    EXPECT_INT(orders(&shop), 1);
    shop_close(&shop);
}

SQLITE_ONLY(EXEC_6_a_loan_whose_transaction_is_gone_is_not_committed, "the connection of SQLite")
TEST(EXEC_6_a_loan_whose_transaction_is_gone_is_not_committed)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    EXPECT(!pawl_tx_execute(tx, "INSERT OR ROLLBACK INTO orders VALUES ('o-1')", &err));
    EXPECT(!pawl_tx_execute(tx, "INSERT INTO orders VALUES ('o-2')", &err));
    struct pawl_job job = { .job_type = "ship" };
    EXPECT(!pawl_tx_enqueue(tx, &job, NULL, &err));
    EXPECT(!pawl_commit(tx, &err));
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    MUST(enqueue_one(shop.pawl, "after", &err));
    shop_close(&shop);
}

TEST(EXEC_6_a_thread_has_one_transaction_at_a_time)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop), *second = NULL;
    EXPECT_REFUSED(PAWL_USAGE, pawl_begin(shop.pawl, &second, &err));
    EXPECT_REFUSED(PAWL_USAGE, enqueue_one(shop.pawl, "waits for itself", &err));
    pawl_rollback(tx);
    MUST(enqueue_one(shop.pawl, "afterwards", &err));
    EXPECT_INT(jobs(&shop), 1);
    shop_close(&shop);
}

// ----- time

// A shop that is lent its store for a moment only, once it has its table.
static struct shop shop_open_briefly(void)
{
    struct shop shop = shop_open((struct pawl_options){ .loan_us = SECONDS(60) });
    shop.pawl->options.loan_us = MILLISECONDS(500);
    return shop;
}

TEST(OPS_9_a_loan_that_is_not_ended_is_taken_back_and_others_go_on)
{
    struct shop shop = shop_open_briefly();
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    MUST(pawl_tx_execute(tx, "INSERT INTO orders VALUES ('o-1')", &err));
    enqueue_elsewhere(&shop);  // waits until it may
    EXPECT_REFUSED(PAWL_FENCED, pawl_tx_execute(tx, "INSERT INTO orders VALUES ('o-2')", &err));
    EXPECT(strstr(err.message, "the loan of 500 ms is over: nothing was stored") != NULL);
    EXPECT_REFUSED(PAWL_FENCED,
                   pawl_tx_enqueue(tx, &(struct pawl_job){ .job_type = "ship" }, NULL, &err));
    const char *third = "INSERT INTO orders VALUES ('o-3')";
    EXPECT(on_postgres()
           || sqlite3_exec(pawl_tx_sqlite(tx), third, NULL, NULL, NULL) != SQLITE_OK);
    EXPECT_REFUSED(PAWL_FENCED, pawl_commit(tx, &err));
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 1);
    shop_close(&shop);
}

TEST(OPS_9_a_slow_statement_of_a_loan_is_stopped)
{
    struct shop shop = shop_open_briefly();
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    EXPECT_REFUSED(PAWL_FENCED,
                   pawl_tx_execute(tx, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL"
                                       " SELECT x + 1 FROM n)"
                                       " INSERT INTO orders SELECT x FROM n",
                                   &err));
    enqueue_elsewhere(&shop);
    pawl_rollback(tx);
    EXPECT_INT(orders(&shop), 0);
    shop_close(&shop);
}

TEST(OPS_9_a_loan_in_virtual_time_is_over_when_that_says_so)
{
    struct shop shop = shop_open((struct pawl_options){ .virtual_time = true });
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    world_pass(&shop.pawl->virtual_world, MILLISECONDS(900));
    MUST(pawl_tx_execute(tx, "INSERT INTO orders VALUES ('o-2')", &err));
    world_pass(&shop.pawl->virtual_world, MILLISECONDS(100));
    EXPECT_REFUSED(PAWL_FENCED, pawl_commit(tx, &err));
    EXPECT_INT(orders(&shop), 0);
    MUST(enqueue_one(shop.pawl, "after", &err));
    shop_close(&shop);
}

TEST(EXEC_6_closing_the_store_takes_back_what_is_lent)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    pawl_close(shop.pawl);
    EXPECT_REFUSED(PAWL_FENCED, pawl_tx_execute(tx, "INSERT INTO orders VALUES ('o-2')", &err));
    EXPECT_REFUSED(PAWL_FENCED, pawl_commit(tx, &err));
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    shop.pawl = open_pawl(&shop.scratch, (struct pawl_options){0});
    tx = must_begin(&shop);
    must_order(tx, "o-1");
    MUST(lent_commit(tx, &err));
    shop_close(&shop);
}

// ----- a store that fails

static void outside(struct shop *shop, const char *sql)
{
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(scratch_file(&shop->scratch, "pawl.db"), &connection) == SQLITE_OK);
    EXPECT_INT(sqlite3_exec(connection, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(connection);
}

// The job is stored before its event, which fails: without the latter it must not be committed.
SQLITE_ONLY(OPS_9_half_an_operation_is_not_committed_though_its_error_is_overlooked,
            "a disk that fails, by a file system of SQLite")
TEST(OPS_9_half_an_operation_is_not_committed_though_its_error_is_overlooked)
{
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    outside(&shop, "CREATE TRIGGER broken BEFORE INSERT ON audit_events"
                   " BEGIN SELECT RAISE(ABORT, 'broken'); END");
    struct pawl_tx *tx = must_begin(&shop);
    MUST(pawl_tx_execute(tx, "INSERT INTO orders VALUES ('o-1')", &err));
    EXPECT_REFUSED(PAWL_STORE,
                   pawl_tx_enqueue(tx, &(struct pawl_job){ .job_type = "ship" }, NULL, &err));
    EXPECT_REFUSED(PAWL_STORE, pawl_commit(tx, &err));
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    outside(&shop, "DROP TRIGGER broken");
    tx = must_begin(&shop);
    must_order(tx, "o-1");
    MUST(lent_commit(tx, &err));
    shop_close(&shop);
}

SQLITE_ONLY(OPS_9_a_loan_whose_commit_fails_is_in_doubt_and_the_next_one_works,
            "a disk that fails, by a file system of SQLite")
TEST(OPS_9_a_loan_whose_commit_fails_is_in_doubt_and_the_next_one_works)
{
    faulty_vfs_install();
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    faulty_vfs.fail_syncs = 1;
    EXPECT_REFUSED(PAWL_IN_DOUBT, pawl_commit(tx, &err));
    faulty_vfs.fail_syncs = 0;
    EXPECT_INT(orders(&shop), jobs(&shop));  // both or neither
    tx = must_begin(&shop);
    must_order(tx, "o-2");
    MUST(lent_commit(tx, &err));
    EXPECT_INT(orders(&shop), jobs(&shop));
    shop_close(&shop);
    faulty_vfs_remove();
}

SQLITE_ONLY(OPS_9_a_full_disk_refuses_a_loan_and_the_next_one_works,
            "a disk that fails, by a file system of SQLite")
TEST(OPS_9_a_full_disk_refuses_a_loan_and_the_next_one_works)
{
    faulty_vfs_install();
    struct shop shop = shop_open((struct pawl_options){0});
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "o-1");
    faulty_vfs.full = true;
    EXPECT_REFUSED(PAWL_DISK_FULL, pawl_commit(tx, &err));
    faulty_vfs.full = false;
    EXPECT_INT(orders(&shop), 0);
    EXPECT_INT(jobs(&shop), 0);
    tx = must_begin(&shop);
    must_order(tx, "o-1");
    MUST(lent_commit(tx, &err));
    EXPECT_INT(orders(&shop), 1);
    shop_close(&shop);
    faulty_vfs_remove();
}

// ----- many at once

enum { THREADS = 8, EACH = 20 };

struct hand {
    struct shop *shop;
    int number;
    int done, fenced;
    bool lends;  // by turns: a transaction of its own, or the pipeline
};

static void *work(void *self)
{
    struct hand *hand = self;
    for (int i = 0; i < EACH; i++) {
        char key[32];
        struct pawl_error err = {0};
        struct pawl_tx *tx = NULL;
        snprintf(key, sizeof key, "%d-%d", hand->number, i);
        if (!hand->lends) {
            hand->done += enqueue_one(hand->shop->pawl, key, &err);
            continue;
        }
        char sql[80];
        struct pawl_job job = { .job_type = "ship", .idempotency_key = key };
        snprintf(sql, sizeof sql, "INSERT INTO orders VALUES ('%s')", key);
        bool kept = pawl_begin(hand->shop->pawl, &tx, &err);
        bool said = kept && pawl_tx_execute(tx, sql, &err) && pawl_tx_enqueue(tx, &job, NULL, &err);
        kept = kept && lent_commit(tx, &err);
        hand->done += said && kept;
        hand->fenced += err.code == PAWL_FENCED;
        if (!(said && kept) && err.code != PAWL_FENCED)
            print_error("%s: %s: %s\n", key, tx ? "in its loan" : "no loan", err.message);
    }
    return NULL;
}

static void work_together(struct shop *shop, struct hand hands[THREADS])
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        hands[i].shop = shop;
        hands[i].number = i;
        EXPECT(pthread_create(&threads[i], NULL, work, &hands[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

TEST(OPS_9_threads_borrow_in_turn_while_others_enqueue)
{
    struct shop shop = shop_open((struct pawl_options){ .loan_us = SECONDS(60) });
    struct hand hands[THREADS] = {0};
    for (int i = 0; i < THREADS; i += 2)
        hands[i].lends = true;
    work_together(&shop, hands);
    for (int i = 0; i < THREADS; i++)
        EXPECT_INT(hands[i].done, EACH);
    EXPECT_INT(orders(&shop), THREADS / 2 * EACH);
    EXPECT_INT(jobs(&shop), THREADS * EACH);
    shop_close(&shop);
}

// The time is so short that some are taken back in the middle of anything; whatever was answered is
// what is there.
TEST(OPS_9_what_a_borrower_is_told_is_true_whenever_its_loan_is_taken_back)
{
    struct shop shop = shop_open((struct pawl_options){ .loan_us = SECONDS(60) });
    shop.pawl->options.loan_us = 400;
    struct hand hands[THREADS] = {0};
    int64_t done = 0;
    for (int i = 0; i < THREADS; i++)
        hands[i].lends = true;
    work_together(&shop, hands);
    for (int i = 0; i < THREADS; i++) {
        EXPECT_INT(hands[i].done + hands[i].fenced, EACH);
        done += hands[i].done;
    }
    EXPECT_INT(orders(&shop), done);
    EXPECT_INT(jobs(&shop), done);
    shop_close(&shop);
}

// ----- death

// A real process that borrows until it is killed. After each kill every order has its job and every
// job its order; and the store takes work again at once.
TEST(EXEC_6_a_killed_borrower_leaves_no_row_without_its_job)
{
    enum { KILLS = 20 };
    struct shop shop = shop_open((struct pawl_options){0});
    uint64_t dice = 7;
    for (int i = 0; i < KILLS; i++) {
        struct process process = process_start("borrower", scratch_store(&shop.scratch));
        EXPECT(strcmp(process_hear(&process), "ready") == 0);
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        wait_us((int64_t)(dice >> 33) % 40000);
        for (int tries = 0; i == KILLS - 1 && orders(&shop) == 0 && tries < 1000; tries++)
            wait_us(20000);  // a slow machine: the last one lives until it has done something
        process_kill(&process);
        EXPECT_INT(scratch_number(&shop.scratch,
                                  "SELECT count(*) FROM (SELECT id FROM orders EXCEPT"
                                  " SELECT idempotency_key FROM jobs) AS bare"),
                   0);
        EXPECT_INT(scratch_number(&shop.scratch,
                                  "SELECT count(*) FROM (SELECT idempotency_key FROM jobs EXCEPT"
                                  " SELECT id FROM orders) AS bare"),
                   0);
    }
    EXPECT(orders(&shop) > 0);
    struct pawl_error err = {0};
    struct pawl_tx *tx = must_begin(&shop);
    must_order(tx, "last");
    MUST(lent_commit(tx, &err));
    shop_close(&shop);
}
