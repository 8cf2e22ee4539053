// Stores behind a pooler that gives a session away after each transaction (`pooler=transaction`).
//
// tests/postgres/run --pooler starts one that has two sessions for each store. The engine's own
// tests that run behind it are marked in tests.txt.
#include <libpq-fe.h>

#include "crowds.h"
#include "engine/transfer.h"
#include "shop.h"
#include "store/bell.h"
#include "store/guest.h"
#include "store/hold.h"
#include "store/store_url.h"

enum { SESSIONS = 2,  // of the pooler, for a store
       ENOUGH = 300 };

static struct str without_option(struct str url)
{
    const char *option = strstr(url.s, "&pooler=transaction");
    EXPECT(option != NULL);
    return (struct str){ url.s, (size_t)(option - url.s) };
}

TEST_EACH_DB(SLOT_11_a_pooler_that_was_not_told_of_is_found_out)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct db_options options = { .url = without_option(box->url), .world = &box->world.world };
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &options, &err));
    EXPECT(strstr(err.message, "add pooler=transaction to the URL"));
}

// ----- what is left in a session

static PGconn *session(struct box *box)
{
    struct server_url parts;
    struct pawl_error err = {0};
    MUST(server_url_parse(test_arena(), box->url, &parts, &err));
    PGconn *connection = PQconnectdb(parts.connect);
    EXPECT(PQstatus(connection) == CONNECTION_OK);
    return connection;
}

static void expect_answer(PGconn *connection, const char *sql, const char *answer)
{
    PGresult *result = PQexec(connection, sql);
    EXPECT(PQresultStatus(result) == PGRES_TUPLES_OK);
    expect_str(str_of(PQgetvalue(result, 0, 0)), str_of(answer), PLACE(sql));
    PQclear(result);
}

static void expect_untouched(PGconn *connection)
{
    static const char *const none[] = {
        ("SELECT count(*) FROM pg_settings WHERE source = 'session' AND setting <> reset_val"
         " AND name NOT IN ('application_name', 'client_encoding')"),
        "SELECT count(*) FROM pg_prepared_statements",
        "SELECT count(*) FROM pg_listening_channels()",
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    };
    for (size_t i = 0; i < countof(none); i++)
        expect_answer(connection, none[i], "0");
    expect_answer(connection, "SELECT current_setting('pawl.org', true)", "");
}

// Every session of the pooler at once, each in a transaction so that it stays the same.
static void expect_all_untouched(struct box *box)
{
    PGconn *all[SESSIONS];
    for (int i = 0; i < SESSIONS; i++) {
        all[i] = session(box);
        PQclear(PQexec(all[i], "BEGIN"));
        expect_untouched(all[i]);
    }
    for (int i = 0; i < SESSIONS; i++)
        PQfinish(all[i]);
}

static void read_for_one_org(struct box *box)
{
    struct db *reader = box_second(box, true);
    struct pawl_error err = {0};
    struct tx tx = {0};
    MUST(tx_begin(reader, TX_READ, test_arena(), &tx, &err));
    MUST(tx_wall(&tx, 1, &err));
    MUST(tx_commit(&tx, &err));
    db_close(reader);
}

TEST_EACH_DB(SLOT_11_nothing_is_left_in_sessions_that_others_get)
{
    struct hold hold = {0};
    struct bell *bell = NULL;
    struct pawl_error err = {0};
    MUST(hold_take(&hold, box->url, S("a"), &err));
    MUST(bell_open(&bell, box->url, &err));
    EXPECT(!bell_hears_others(bell));
    for (int i = 0; i < 3; i++)
        must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    must_sweep(box);
    read_for_one_org(box);
    expect_all_untouched(box);
    bell_close(bell);
    hold_give(&hold);
}

TEST_EACH_DB(SLOT_11_what_the_application_sets_stays_in_its_transaction)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    guest_enter(&tx, SECONDS(60));
    MUST(guest_execute(&tx, "SET work_mem = '1MB'; SET statement_timeout = 54321;"
                            "SET search_path = public",
                       &err));
    MUST(guest_leave(&tx, &err));
    MUST(tx_commit(&tx, &err));
    expect_all_untouched(box);
    must_enqueue(box, "report");
}

// ----- names

TEST_EACH_DB(RUN_5_there_is_no_hold_and_it_says_so)
{
    struct hold one = {0}, other = {0};
    struct str name;
    struct pawl_error err = {0};
    MUST(hold_take(&one, box->url, S("a"), &err));
    MUST(hold_keep(&one, S("a"), &err));
    MUST(hold_take_any(&other, box->url, S("a"), &name, test_arena(), &err));
    EXPECT(one.none && !one.taken && other.none && !other.taken);
    hold_give(&one);
    hold_give(&other);
}

// Its name would be free as well if it were alive.
TEST_EACH_DB(RUN_5_nobody_is_taken_for_dead_by_a_name_that_a_pooler_cannot_hold)
{
    struct transfer_report report;
    struct pawl_error err = {0};
    const char *target = str_format(test_arena(), "sqlite:%s/copy.db", box->directory).s;
    box_sql(box, "INSERT INTO instances (instance, boot_id, started_at, alive_until)"
                 " VALUES ('I', 'b', 1, 9000000000000000)");
    struct transfer transfer = {
        .from = box->url, .to = str_of(target), .world = &box->world.world
    };
    EXPECT_REFUSED(PAWL_CONFLICT, transfer_make(&transfer, &report, &err));
    EXPECT(strstr(err.message, "was alive a moment ago"));
}

static bool do_nothing(struct pawl_run *run, void *context)
{
    (void)run, (void)context;
    return true;
}

static const struct pawl_handler idle = { "idle", .prepare = do_nothing };

// cppcheck-suppress unknownMacro ; it does not find shop.h from here
TEST_SHOP(RUN_5_programs_without_a_name_take_the_next_number, .workers = 1)
{
    struct pawl *second = NULL;
    struct pawl_error err = {0};
    shop_handle(shop, idle);
    shop_start(shop);
    MUST(pawl_open(&second, &shop->options, &err));
    MUST(pawl_handle(second, &idle, &err));
    MUST(pawl_start(second, &err));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM instances WHERE unheld = 1"), 2);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM instances WHERE instance LIKE '%#2'"), 1);
    pawl_close(second);
}

// Another process that took the name is not told from one that is dead before its time is over.
TEST_SHOP(RUN_5_a_program_waits_for_the_name_of_a_dead_one, .instance = "web-1")
{
    box_sql(&shop->box, "INSERT INTO instances VALUES ('web-1', 'one', 0, (extract(epoch FROM"
                        " clock_timestamp()) * 1000000)::bigint + 1500000, 1)");
    shop_handle(shop, idle);
    shop_start(shop);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM instances WHERE boot_id = 'one'"), 0);
}

// ----- many clients

// Each program has a writer, a reader and a sealer, and there are three programs.
TEST(SLOT_11_programs_share_fewer_sessions_than_they_have_connections)
{
    static const char done[] = "SELECT count(*) FROM pawl_jobs WHERE completed_at IS NOT NULL";
    struct crowds crowds;
    crowds_start(&crowds, 7);
    for (int i = 0; i < 1200 && scratch_number(&crowds.scratch, done) < ENOUGH; i++)
        wait_ms(50);
    EXPECT(scratch_number(&crowds.scratch, done) >= ENOUGH);
    crowds_end(&crowds, "postgres pooler: 3 programs");
}
