// A handler's commit: the application's effect in the transaction that marks its job COMMITTED.
#include "answers.h"
#include "outside.h"
#include "process.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "run/handle.h"
#include "run/loan.h"

struct shop {
    struct scratch scratch;
    struct pawl *pawl;
    atomic_int calls;        // of the commit under test
    struct pawl_error said;  // what the library answered in it
    sqlite3_stmt *left;
};

static bool prepare(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

typedef bool (*commit_work)(struct pawl_run *run, struct pawl_tx *tx, void *context);

static bool pay(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    char sql[128];
    snprintf(sql, sizeof sql, "INSERT INTO payments VALUES ('%s')", pawl_job_id(run));
    return pawl_tx_execute(tx, sql, &shop->said);
}

// `pay` has a handler of every shop; `odd` has the commit under test.
static void shop_open(struct shop *shop, struct pawl_options options, commit_work commit)
{
    struct pawl_error err = {0};
    *shop = (struct shop){ .scratch = scratch_open() };
    options.store = scratch_store(&shop->scratch);
    MUST(pawl_open(&shop->pawl, &options, &err));
    struct pawl_handler handlers[] = {
        { .job_type = "pay", .prepare = prepare, .commit = pay, .context = shop },
        { .job_type = "odd", .prepare = prepare, .commit = commit, .context = shop },
    };
    for (size_t i = 0; i < countof(handlers); i++)
        MUST(pawl_handle(shop->pawl, &handlers[i], &err));
    struct pawl_tx *tx = NULL;
    MUST(pawl_begin(shop->pawl, &tx, &err));
    MUST(pawl_tx_execute(tx, "CREATE TABLE payments (job_id TEXT PRIMARY KEY);"
                             "CREATE TABLE parts (payment TEXT REFERENCES payments (job_id)"
                             " DEFERRABLE INITIALLY DEFERRED)",
                         &err));
    MUST(lent_commit(tx, &err));
}

static void shop_close(struct shop *shop)
{
    pawl_close(shop->pawl);
    scratch_close(&shop->scratch);
}

static struct pawl_ticket must_enqueue(struct shop *shop, const char *job_type)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    MUST(pawl_enqueue(shop->pawl, &(struct pawl_job){ .job_type = job_type }, &ticket, &err));
    return ticket;
}

static struct pawl_status must_get(struct shop *shop, const struct pawl_ticket *ticket)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    MUST(pawl_get(shop->pawl, ticket->job_id, &status, &err));
    return status;
}

static int64_t count(struct shop *shop, const char *what)
{
    return scratch_number(&shop->scratch,
                          str_format(test_arena(), "SELECT count(*) FROM %s", what).s);
}

// Enqueues an odd job between two others, runs what can be run now, and says how it stands. The
// others must have paid, whatever the odd one did.
static struct pawl_status run_odd(struct shop *shop)
{
    struct pawl_error err = {0};
    struct pawl_ticket before = must_enqueue(shop, "pay"), odd = must_enqueue(shop, "odd"),
                       after = must_enqueue(shop, "pay");
    MUST(pawl_run_until_idle(shop->pawl, &err));
    EXPECT(strcmp(must_get(shop, &before).state, "SUCCEEDED") == 0);
    EXPECT(strcmp(must_get(shop, &after).state, "SUCCEEDED") == 0);
    return must_get(shop, &odd);
}

#define VIRTUAL ((struct pawl_options){ .virtual_time = true })

// ----- the effect

static bool pay_and_ship(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    return pay(run, tx, context)
        && pawl_tx_enqueue(tx, &(struct pawl_job){ .job_type = "ship" }, NULL, &shop->said);
}

TEST(EXEC_6_the_effect_on_the_applications_tables_comes_with_committed)
{
    struct shop shop;
    shop_open(&shop, VIRTUAL, pay_and_ship);
    EXPECT(strcmp(run_odd(&shop).state, "SUCCEEDED") == 0);
    EXPECT_INT(count(&shop, "payments"), 3);
    EXPECT_INT(count(&shop, "pawl_jobs WHERE job_type = 'ship' AND state = 'QUEUED'"), 1);
    shop_close(&shop);
}

static bool refuse(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    atomic_fetch_add(&shop->calls, 1);
    return pay_and_ship(run, tx, context) && pawl_fail(run, PAWL_BUSINESS_RULE, "no funds");
}

TEST(EXEC_6_a_commit_that_says_no_leaves_nothing_and_ends_the_attempt)
{
    struct shop shop;
    shop_open(&shop, VIRTUAL, refuse);
    struct pawl_status status = run_odd(&shop);
    EXPECT(strcmp(status.state, "FAILED") == 0);
    EXPECT(strcmp(status.error, "no funds") == 0);
    EXPECT_INT(shop.calls, 1);
    EXPECT_INT(count(&shop, "payments"), 2);
    EXPECT_INT(count(&shop, "pawl_jobs WHERE job_type = 'ship'"), 0);
    shop_close(&shop);
}

static bool shrug(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    atomic_fetch_add(&shop->calls, 1);
    return pay(run, tx, context) && shop->calls > 1;
}

TEST(EXEC_6_a_commit_that_does_not_say_why_is_tried_again)
{
    struct shop shop;
    struct pawl_error err = {0};
    shop_open(&shop, VIRTUAL, shrug);
    EXPECT(strcmp(run_odd(&shop).state, "RETRYING") == 0);
    EXPECT_INT(count(&shop, "payments"), 2);
    MUST(pawl_advance(shop.pawl, MINUTES(1), &err));
    EXPECT_INT(shop.calls, 2);
    EXPECT_INT(count(&shop, "payments"), 3);
    shop_close(&shop);
}

// ----- what a commit does wrong: its attempt fails, its neighbours do not

static bool leave_statement(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    sqlite3_prepare_v2(pawl_tx_sqlite(tx), "SELECT * FROM payments", -1, &shop->left, NULL);
    return pay(run, tx, context);
}

static bool leave_reference(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    (void)run;
    return pawl_tx_execute(tx, "INSERT INTO parts VALUES ('of nothing')", &shop->said);
}

static bool refer_to_pawl(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    (void)run;
    return pawl_tx_execute(tx, "CREATE TABLE mine (job INTEGER REFERENCES jobs)", &shop->said);
}

static bool end_it(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    atomic_fetch_add(&shop->calls, 1);
    bool paid = pay(run, tx, context);
    sqlite3_exec(pawl_tx_sqlite(tx), "INSERT OR ROLLBACK INTO payments SELECT * FROM payments",
                 NULL, NULL, NULL);
    return paid;
}

static bool dawdle(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    bool paid = pay(run, tx, context);
    world_pass(&shop->pawl->virtual_world, SECONDS(1));
    return paid;
}

static bool touch_pawls(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    return pay(run, tx, context) && pawl_tx_execute(tx, "DELETE FROM outcomes", &shop->said);
}

TEST(EXEC_6_a_commit_that_does_wrong_harms_nobody_else)
{
    static const struct {
        commit_work work;
        const char *on_sqlite, *on_postgres;  // why it fails; NULL: there it cannot be done
    } wrongs[] = {
        { leave_statement, "not finalized", NULL },
        { leave_reference, "foreign key", "foreign key" },
        { refer_to_pawl, "belongs to Pawl", "did not say why" },  // there the statement is refused
        { end_it, "ended the transaction", NULL },
        { dawdle, "took longer than 1000 ms", "took longer than 1000 ms" },
        { touch_pawls, "did not say why", "did not say why" },
    };
    for (size_t i = 0; i < countof(wrongs); i++) {
        const char *why = on_postgres() ? wrongs[i].on_postgres : wrongs[i].on_sqlite;
        if (!why)
            continue;
        struct shop shop;
        shop_open(&shop, VIRTUAL, wrongs[i].work);
        struct pawl_status status = run_odd(&shop);
        if (!strstr(status.error, why))
            print_error("%s is not in: %s\n", why, status.error);
        EXPECT(strcmp(status.state, "RETRYING") == 0);
        EXPECT(strstr(status.error, why) != NULL);
        EXPECT_INT(count(&shop, "payments"), 2);
        EXPECT_INT(count(&shop, "parts"), 0);
        EXPECT_INT(shop.calls, wrongs[i].work == end_it);  // not called again when run alone
        sqlite3_finalize(shop.left);
        shop_close(&shop);
    }
}

static bool be_slow(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    (void)run;
    atomic_fetch_add(&shop->calls, 1);
    return pawl_tx_execute(tx, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
                               " INSERT INTO payments SELECT x FROM n",
                           &shop->said);
}

TEST(EXEC_6_a_commit_that_takes_too_long_is_stopped)
{
    struct shop shop;
    struct pawl_error err = {0};
    shop_open(&shop, (struct pawl_options){ .commit_us = MILLISECONDS(500) }, be_slow);
    MUST(pawl_start(shop.pawl, &err));
    struct pawl_status status = run_odd(&shop);
    EXPECT_INT(shop.said.code, PAWL_FENCED);
    EXPECT(strcmp(status.state, "RETRYING") == 0);
    EXPECT(strstr(status.error, "took longer than 500 ms") != NULL);
    EXPECT_INT(count(&shop, "payments"), 2);
    EXPECT_INT(shop.calls, status.attempt);
    shop_close(&shop);
}

// ----- what it may not call

static bool end_or_begin(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct shop *shop = context;
    struct pawl_error err = {0};
    struct pawl_tx *another = NULL;
    EXPECT_REFUSED(PAWL_USAGE, pawl_begin(shop->pawl, &another, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_commit(tx, &err));
    EXPECT_REFUSED(PAWL_USAGE,
                   pawl_enqueue(shop->pawl, &(struct pawl_job){ .job_type = "x" }, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, loan_none_here(shop->pawl, &err));
    pawl_rollback(tx);
    return pay(run, tx, context);
}

TEST(EXEC_6_a_commit_can_neither_end_its_transaction_nor_begin_another)
{
    struct shop shop;
    shop_open(&shop, VIRTUAL, end_or_begin);
    EXPECT(strcmp(run_odd(&shop).state, "SUCCEEDED") == 0);
    EXPECT_INT(count(&shop, "payments"), 3);
    struct pawl_error err = {0};
    MUST(loan_none_here(shop.pawl, &err));
    shop_close(&shop);
}
