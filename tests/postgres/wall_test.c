// The second wall between tenants: in the name of one, the database shows no row of another,
// whatever is asked. The statements are all there are, with arguments by the dice.
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "engine/api_key.h"
#include "rich_store.h"
#include "store/store_url.h"

enum { DRAWS = 60,
       BIG_TYPE = 20 };  // the OID of a number

static const struct str other_org = { "bbbbbbbb-0000-7000-8000-000000000000", 36 };

// ----- the store of one tenant, and what is his

struct thing {
    const char *id, *low, *org;
};

struct secrets {
    struct list texts;   // struct str: ids and texts that nobody else has
    struct list values;  // struct str: what arguments are drawn from
    struct list things;  // struct thing: likewise
};

static void keep_thing(void *self, const struct str *texts, size_t count)
{
    EXPECT_INT(count, 3);
    struct thing *thing = list_add(self);
    *thing = (struct thing){ str_dup(test_arena(), texts[0]).s, str_dup(test_arena(), texts[1]).s,
                             str_dup(test_arena(), texts[2]).s };
}

static void keep_text(void *self, const struct str *texts, size_t count)
{
    struct list *list = self;
    for (size_t i = 0; i < count; i++)
        if (texts[i].n > 0)
            *(struct str *)list_add(list) = str_dup(test_arena(), texts[i]);
}

static void gather(struct box *box, struct list *list, const char *const *sql, size_t count)
{
    *list = list_of(test_arena(), sizeof(struct str));
    for (size_t i = 0; i < count; i++)
        EXPECT(outside_run(box->url, sql[i], keep_text, list));
}

static struct secrets secrets_of(struct box *box)
{
    static const char *const hidden[] = {
        "SELECT id, idempotency_key FROM jobs WHERE org <> pawl_own()",
        "SELECT id FROM executions WHERE org <> pawl_own()",
        "SELECT id, file, sha256 FROM artifacts WHERE org <> pawl_own()",
        "SELECT id FROM job_batches WHERE org <> pawl_own()",
        "SELECT key_id, hash FROM api_keys WHERE org <> pawl_own()",
    };
    static const char *const drawn[] = {
        "SELECT id, id_low, idempotency_key, serial_key FROM jobs ORDER BY id LIMIT 40",
        "SELECT id, id_low, worker FROM executions WHERE org <> pawl_own() LIMIT 20",
        "SELECT id, id_low, file FROM artifacts", "SELECT id, id_low FROM job_batches",
        "SELECT id, org_id FROM orgs", "SELECT id, name FROM queues",
        "SELECT id, name FROM job_types",
        "SELECT name FROM schedules", "SELECT worker_id FROM workers",
        "SELECT key_id FROM api_keys",
        "SELECT 0, 1, 2, 3, 1000, 1000, 1000, 1000, 1, 9000000000000000, -9000000000000000",
    };
    struct secrets secrets;
    box_sql(box, "CREATE FUNCTION pawl.pawl_own() RETURNS BIGINT STABLE LANGUAGE sql AS"
                 " $$ SELECT id FROM pawl.orgs WHERE org_id LIKE 'bbbb%' $$");
    gather(box, &secrets.texts, hidden, countof(hidden));
    gather(box, &secrets.values, drawn, countof(drawn));
    secrets.things = list_of(test_arena(), sizeof(struct thing));
    EXPECT(outside_run(box->url,
                       "SELECT id, id_low, org FROM jobs WHERE org <> pawl_own() UNION ALL"
                       " SELECT id, id_low, org FROM executions UNION ALL"
                       " SELECT id, id_low, org FROM artifacts UNION ALL"
                       " SELECT id, id_low, org FROM job_batches",
                       keep_thing, &secrets.things));
    EXPECT(secrets.texts.count > 60 && secrets.values.count > 100);
    return secrets;
}

static PGconn *open_store(struct box *box)
{
    rich_store(box);
    struct contract contract = contract_for(box, "of.the.other");
    contract.org_id = other_org;
    must_add(box, &contract);
    struct server_url parts;
    struct pawl_error err = {0};
    MUST(server_url_parse(test_arena(), box->url, &parts, &err));
    PGconn *connection = PQconnectdb(parts.connect);
    EXPECT(PQstatus(connection) == CONNECTION_OK);
    PQclear(PQexec(connection, "SET search_path = pawl, pg_temp"));
    return connection;
}

static int64_t number_of(struct box *box, struct str org_id)
{
    return box_number(box, str_format(test_arena(), "SELECT id FROM orgs WHERE org_id = '%.*s'",
                                      STR(org_id))
                               .s);
}

// ----- one statement, asked of each side of the wall

struct question {
    const char *name;
    int count;
    Oid types[64];
    const char *values[64];
};

static bool is_secret(const struct secrets *secrets, const char *value)
{
    const struct str *all = secrets->texts.items;
    for (size_t i = 0; i < secrets->texts.count; i++)
        if (strcmp(value, all[i].s) == 0)
            return true;
    return false;
}

// How many secrets the statement answers to who stands there; org 0: there is no wall.
static int told(PGconn *connection, const struct question *q, int64_t org,
                const struct secrets *secrets)
{
    char begin[96];
    int found = 0;
    snprintf(begin, sizeof begin, "BEGIN READ ONLY; SET LOCAL pawl.org = '%lld'", (long long)org);
    PQclear(PQexec(connection, begin));
    PGresult *result = PQexecPrepared(connection, q->name, q->count, q->values, NULL, NULL, 0);
    for (int row = 0; row < PQntuples(result); row++)
        for (int column = 0; column < PQnfields(result); column++)
            found += is_secret(secrets, PQgetvalue(result, row, column));
    PQclear(result);
    PQclear(PQexec(connection, "ROLLBACK"));
    return found;
}

static unsigned roll(unsigned *dice, size_t sides)
{
    *dice = *dice * 1664525 + 1013904223;
    return (*dice >> 8) % (unsigned)sides;
}

static const char *draw_one(const struct list *from, bool is_number, unsigned *dice)
{
    const struct str *all = from->items;
    for (;;) {
        struct str value = all[roll(dice, from->count)];
        int64_t number = 0;
        if (str_int(value, &number) == is_number)
            return value.s;
    }
}

// Mostly anything; else a thing of his with its id whole, and its org before or behind it.
static void draw(struct question *q, const struct secrets *secrets, unsigned *dice)
{
    const struct list *things = &secrets->things;
    const struct thing *thing = &((const struct thing *)things->items)[roll(dice, things->count)];
    const char *const orders[][4] = {
        { thing->id, thing->low, thing->org, "1000" }, { thing->id, thing->org, "1000", "0" },
        { thing->org, thing->id, "1000", "0" },        { thing->org, "0", "1000", "1000" },
        { thing->org, "9000000000000000", "1000", "0" }, { thing->id, "0", "1000", "0" },
        { "0", "1000", "0", "1000" },
    };
    unsigned order = roll(dice, countof(orders) * 2);
    for (int i = 0, number = 0; i < q->count; i++) {
        bool is_number = q->types[i] == BIG_TYPE;
        q->values[i] = is_number && order < countof(orders) && number < 4
                         ? orders[order][number++]
                         : draw_one(&secrets->values, is_number, dice);
    }
}

static bool reads(const char *sql)
{
    return (strncmp(sql, "SELECT", 6) == 0 || strncmp(sql, "WITH", 4) == 0)
        && !strstr(sql, "set_config") && !strstr(sql, "setval") && !strstr(sql, "DELETE")
        && !strstr(sql, "UPDATE ") && !strstr(sql, "INSERT ");
}

static bool prepare(PGconn *connection, const struct query_row *row, struct question *q)
{
    *q = (struct question){ .name = row->name };
    PQclear(PQprepare(connection, row->name, row->postgres, 0, NULL));
    PGresult *about = PQdescribePrepared(connection, row->name);
    bool known = PQresultStatus(about) == PGRES_COMMAND_OK;
    if (!known)
        print_error("%s: %s", row->name, PQresultErrorMessage(about));
    q->count = PQnparams(about);
    for (int i = 0; i < q->count; i++)
        q->types[i] = PQparamtype(about, i);
    PQclear(about);
    return known;
}

TEST_EACH_DB(OPS_10_two_tenants_through_every_query_see_nothing_of_each_other)
{
    PGconn *connection = open_store(box);
    struct secrets secrets = secrets_of(box);
    int64_t own = number_of(box, other_org);
    int asked = 0, telling = 0, leaks = 0;
    unsigned dice = 1;
    for (size_t i = 0; i < QUERIES; i++) {
        struct question q;
        if (!reads(queries[i].postgres))
            continue;
        EXPECT(prepare(connection, &queries[i], &q));
        asked++;
        bool tells = false;
        for (int d = 0; d < DRAWS && !(tells && q.count == 0); d++) {
            draw(&q, &secrets, &dice);
            if (told(connection, &q, 0, &secrets) == 0)
                continue;
            tells = true;
            int seen = told(connection, &q, own, &secrets);
            if (seen > 0)
                print_error("%s tells %d secrets of another org\n", q.name, seen);
            leaks += seen > 0;
        }
        telling += tells;
    }
    printf("%d statements that read: %d of them told something without the wall, %d with it\n",
           asked, telling, leaks);
    EXPECT(asked > 200 && telling > 60);
    EXPECT_INT(leaks, 0);
    PQfinish(connection);
    box_sql(box, "DROP FUNCTION pawl.pawl_own()");
}

TEST_EACH_DB(OPS_10_every_table_with_an_org_is_behind_the_wall)
{
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pg_roles"
                               " WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"),
               0);  // else there would be no wall to test
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pg_class WHERE relforcerowsecurity"), 34);
    EXPECT_STR(box_text(box, "SELECT coalesce(string_agg(c.relname, ' '), '') FROM pg_class c"
                             " JOIN pg_attribute a ON a.attrelid = c.oid"
                             " WHERE c.relnamespace = 'pawl'::regnamespace AND c.relkind = 'r'"
                             " AND a.attname IN ('org', 'org_id') AND c.relname <> 'orgs'"
                             " AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"),
               "");
}

// ----- as the server reads

static int64_t jobs_seen(struct tx *tx)
{
    SCOPED(rows) struct rows rows = {0};
    struct pawl_error err = {0};
    int64_t count = -1;
    MUST(sql_ask_plain(tx, &rows, Q_COPY_COUNT_JOBS, &err));
    MUST(rows_number(&rows, &count, &err));
    return count;
}

// Only within the transaction: the next one on the connection is not walled in.
TEST_EACH_DB(OPS_10_a_reader_sees_the_rows_of_its_caller_until_its_transaction_ends)
{
    struct pawl_error err = {0};
    must_enqueue(box, "report");
    must_enqueue(box, "report");
    struct contract contract = contract_for(box, "report");
    contract.org_id = other_org;
    must_add(box, &contract);
    struct db *reader = box_second(box, true);
    static const struct {
        struct str org_id;
        int64_t sees;
    } callers[] = {
        { { "bbbbbbbb-0000-7000-8000-000000000000", 36 }, 1 },
        { { "00000000-0000-7000-8000-000000000000", 36 }, 2 },
        { { "cccccccc-0000-7000-8000-000000000000", 36 }, 0 },  // which nobody knows
    };
    for (size_t i = 0; i < countof(callers); i++) {
        struct caller caller = { .org_id = callers[i].org_id };
        struct tx tx = {0};
        MUST(tx_begin(reader, TX_READ, test_arena(), &tx, &err));
        EXPECT_INT(jobs_seen(&tx), 3);
        tx.caller = &caller;
        MUST(caller_wall(&tx, &err));
        EXPECT_INT(jobs_seen(&tx), callers[i].sees);
        tx_end(&tx);
    }
    db_close(reader);
}
