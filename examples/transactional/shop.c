// One transaction is the whole idea: see shop_place. Everything else is what a shop has anyway.
#include "shop.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

// `orders.job_id` lets the shop answer "where is my invoice?". `invoices` could have a UNIQUE
// order_number and has none: were a job's effect applied twice, it would show here.
static const char *const tables =
    "CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, customer TEXT NOT NULL,"
    "  cents INTEGER NOT NULL CHECK (cents > 0), job_id TEXT) STRICT;"
    "CREATE TABLE IF NOT EXISTS invoices (number INTEGER PRIMARY KEY,"
    "  order_number INTEGER NOT NULL REFERENCES orders (number), cents INTEGER NOT NULL) STRICT";

// ----- statements

// Fills err from the connection's last error and answers false.
static bool failed(sqlite3 *db, const char *what, struct pawl_error *err)
{
    err->code = PAWL_STORE;
    snprintf(err->message, sizeof(err->message), "%s: %s", what, sqlite3_errmsg(db));
    return false;
}

static bool bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    int at = sqlite3_bind_parameter_index(statement, name);  // 0: the statement has no such one
    return at == 0 || sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

static bool bind_number(sqlite3_stmt *statement, const char *name, int64_t number)
{
    int at = sqlite3_bind_parameter_index(statement, name);
    return at == 0 || sqlite3_bind_int64(statement, at, number) == SQLITE_OK;
}

// Runs a statement about one order, which names what it needs of :number :customer :cents :job_id.
static bool change(sqlite3 *db, const char *sql, const struct order *order, struct pawl_error *err)
{
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK
        && bind_number(statement, ":number", order->number)
        && bind_text(statement, ":customer", order->customer)
        && bind_number(statement, ":cents", order->cents)
        && bind_text(statement, ":job_id", order->job_id)
        && sqlite3_step(statement) == SQLITE_DONE;
    if (!done)
        failed(db, sql, err);
    sqlite3_finalize(statement);  // before the transaction ends
    return done;
}

// ----- placing an order

static bool insert_order(sqlite3 *db, struct order *order, struct pawl_error *err)
{
    if (!change(db, "INSERT INTO orders (customer, cents) VALUES (:customer, :cents)", order, err))
        return false;
    order->number = sqlite3_last_insert_rowid(db);
    return true;
}

static bool enqueue_invoice(struct pawl_tx *tx, struct order *order, struct pawl_error *err)
{
    char payload[64], key[64];
    snprintf(payload, sizeof(payload), "{\"order\":%" PRId64 "}", order->number);
    snprintf(key, sizeof(key), "invoice-%" PRId64, order->number);
    struct pawl_job job = {
        .job_type = "invoice.send", .payload = payload, .idempotency_key = key,
    };
    struct pawl_ticket ticket;
    if (!pawl_tx_enqueue(tx, &job, &ticket, err))
        return false;
    memcpy(order->job_id, ticket.job_id, sizeof(order->job_id));
    return true;
}

bool shop_place(struct shop *shop, struct order *order, struct pawl_error *err)
{
    struct pawl_tx *tx;
    if (!pawl_begin(shop->pawl, &tx, err))
        return false;
    sqlite3 *db = pawl_tx_sqlite(tx);
    bool placed = insert_order(db, order, err);
    if (placed && order->halfway)
        order->halfway();
    if (placed && enqueue_invoice(tx, order, err)
        && change(db, "UPDATE orders SET job_id = :job_id WHERE number = :number", order, err))
        return pawl_commit(tx, err);
    pawl_rollback(tx);
    return false;
}

// ----- sending an invoice

static bool read_order(struct pawl_run *run, struct order *order)
{
    json_t *payload = json_loads(pawl_payload(run), 0, NULL);
    order->number = json_integer_value(json_object_get(payload, "order"));
    json_decref(payload);
    return order->number > 0 || pawl_fail(run, PAWL_INVALID_INPUT, "the payload names no order");
}

// What can be made again at any time is made here; nothing is stored yet.
static bool prepare_invoice(struct pawl_run *run, void *context)
{
    (void)context;
    struct order order = {0};
    char result[64];
    if (!read_order(run, &order))
        return false;
    snprintf(result, sizeof(result), "{\"text\":\"Invoice for order %" PRId64 "\"}", order.number);
    return pawl_result(run, result);
}

// In the transaction that marks the job COMMITTED: this row is written exactly once.
static bool commit_invoice(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    (void)context;
    static const char *const sql = "INSERT INTO invoices (order_number, cents)"
                                   " SELECT number, cents FROM orders WHERE number = :number";
    struct order order = {0};
    struct pawl_error err = {0};
    return read_order(run, &order)
        && (change(pawl_tx_sqlite(tx), sql, &order, &err)
            || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message));
}

// After COMMITTED, and again until it answers true: the mail. The name of the file is the key the
// provider recognises a repetition by, so that a crash between rename and DONE sends no second one.
static bool mail_invoice(struct pawl_run *run, void *context)
{
    const struct shop *shop = context;
    char path[512], half[512];
    snprintf(path, sizeof(path), "%s/%s", shop->mail_directory, pawl_effect_key(run));
    snprintf(half, sizeof(half), "%s/.%s", shop->mail_directory, pawl_effect_key(run));
    FILE *mail = fopen(half, "we");
    bool sent = mail && fprintf(mail, "%s\n", pawl_result_of(run)) > 0;
    sent = mail && fclose(mail) == 0 && sent && rename(half, path) == 0;
    return sent || pawl_fail(run, PAWL_DEPENDENCY, "cannot mail %s: %s", path, strerror(errno));
}

// ----- the shop

static bool make_tables(struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_tx *tx;
    if (!pawl_begin(pawl, &tx, err))
        return false;
    if (pawl_tx_execute(tx, tables, err))
        return pawl_commit(tx, err);
    pawl_rollback(tx);
    return false;
}

bool shop_open(struct shop *shop, const char *store, const char *mail_directory,
               struct pawl_error *err)
{
    // As `default`, but always tried again after two seconds.
    struct pawl_policy policy = {
        .name = "invoice", .exponential = PAWL_NO, .jitter = PAWL_NO,
        .base_us = 2000000, .delay_us_max = 2000000,
    };
    struct pawl_handler handler = {
        .job_type = "invoice.send", .policy = "invoice", .context = shop,
        .prepare = prepare_invoice, .commit = commit_invoice, .finish = mail_invoice,
    };
    // The name stays: a shop that starts recovers at once what its dead predecessor left.
    struct pawl_options options = { .store = store, .instance = "shop" };
    *shop = (struct shop){ .mail_directory = mail_directory };
    if (pawl_open(&shop->pawl, &options, err) && make_tables(shop->pawl, err)
        && pawl_define_policy(shop->pawl, &policy, err) && pawl_handle(shop->pawl, &handler, err))
        return true;
    shop_close(shop);
    return false;
}

void shop_close(struct shop *shop)
{
    pawl_close(shop->pawl);
    shop->pawl = NULL;
}

bool shop_start(struct shop *shop, struct pawl_error *err)
{
    return pawl_start(shop->pawl, err);
}

bool shop_ask(struct shop *shop, const char *sql, int64_t *answer, struct pawl_error *err)
{
    struct pawl_tx *tx;
    sqlite3_stmt *statement = NULL;
    if (!pawl_begin(shop->pawl, &tx, err))
        return false;
    sqlite3 *db = pawl_tx_sqlite(tx);
    bool answered = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK
        && sqlite3_step(statement) == SQLITE_ROW;
    if (answered)
        *answer = sqlite3_column_int64(statement, 0);
    else
        failed(db, sql, err);
    sqlite3_finalize(statement);
    pawl_rollback(tx);
    return answered;
}
