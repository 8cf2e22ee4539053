// `pawl.enqueue(…)`: a job in the application's own transaction, by whatever speaks SQL.
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/posted.h"
#include "fixture.h"
#include "store/names.h"
#include "store/store_url.h"

// ----- an application

static PGconn *connect_as(struct box *box, const char *role)
{
    struct server_url parts;
    struct pawl_error err = {0};
    MUST(server_url_parse(test_arena(), box->url, &parts, &err));
    const char *at = strchr(parts.connect, '@');
    EXPECT(at != NULL);
    PGconn *app = PQconnectdb(str_format(test_arena(), "postgres://%s%s", role, at).s);
    EXPECT(PQstatus(app) == CONNECTION_OK);
    return app;
}

// The first value of what the last statement answers; NULL: it was refused, and `sqlstate` says
// why.
static char sqlstate[6], said[512];

static const char *ask(PGconn *app, const char *sql)
{
    PGresult *result = PQexec(app, sql);
    bool fine = PQresultStatus(result) == PGRES_TUPLES_OK
             || PQresultStatus(result) == PGRES_COMMAND_OK;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    snprintf(sqlstate, sizeof sqlstate, "%s", state ? state : "");
    snprintf(said, sizeof said, "%s", PQresultErrorMessage(result));
    const char *value = !fine                  ? NULL
                      : PQntuples(result) == 0 ? ""
                                               : str_dup(test_arena(),
                                                         str_of(PQgetvalue(result, 0, 0)))
                                                     .s;
    PQclear(result);
    return value;
}

static struct str must_ask(PGconn *app, const char *sql)
{
    const char *value = ask(app, sql);
    if (!value)
        print_error("%s: %s\n", sql, said);
    EXPECT(value != NULL);
    return str_of(value);
}

static struct job job_of(struct box *box, struct str id)
{
    struct id parsed;
    EXPECT(id_parse(id, &parsed));
    return must_load(box, parsed);
}

static int64_t jobs(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM jobs");
}

static int64_t waiting(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM posted_jobs");
}

#define TEST_APPLICATION(name)                            \
    static void name##_for(struct box *box, PGconn *app); \
    TEST_EACH_DB(name)                                    \
    {                                                     \
        PGconn *app = connect_as(box, "pawl");            \
        name##_for(box, app);                             \
        PQfinish(app);                                    \
    }                                                     \
    static void name##_for(struct box *box, PGconn *app)

// ----- one transaction

TEST_APPLICATION(a_job_that_is_enqueued_in_sql_is_there_when_its_transaction_is)
{
    must_ask(app, "BEGIN; CREATE TABLE public.orders (id int);"
                  "INSERT INTO public.orders VALUES (7)");
    struct str id = must_ask(app, "SELECT pawl.enqueue('order.paid', '{\"order\": 7}')");
    EXPECT_INT(must_sweep(box).posted, 0);  // nobody waits for the application, nor sees its job
    must_ask(app, "COMMIT");
    EXPECT_INT(must_sweep(box).posted, 1);
    EXPECT_INT(waiting(box), 0);
    struct job job = job_of(box, id);
    EXPECT(job.state == JOB_QUEUED && job.phase == PHASE_READY);
    EXPECT_STR(job.contract.job_type, "order.paid");
    EXPECT_STR(job.contract.payload, "{\"order\":7}");
    EXPECT_STR(job.contract.actor_id, "pawl");
    EXPECT_INT(events(box, job.id, EVENT_JOB_CREATED), 1);
    EXPECT_INT(events(box, job.id, EVENT_JOB_ENQUEUED), 1);
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    EXPECT(job_of(box, id).state == JOB_SUCCEEDED);
}

static size_t take_with(struct box *box, const struct queue_terms *terms)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    size_t taken = 0;
    bool more = false;
    box_begin(box, &tx);
    tx.queue_terms = terms;
    MUST(posted_take(&tx, 100, &taken, &more, &err));
    box_commit(&tx);
    return taken;
}

TEST_APPLICATION(OPS_20_a_job_for_a_full_queue_waits_until_there_is_room)
{
    const struct queue_term rows[] = { { S("small"), 4, 1 } };
    const struct queue_terms terms = { rows, countof(rows) };
    struct str first = must_ask(app, "SELECT pawl.enqueue('order.paid', queue => 'small')");
    struct str second = must_ask(app, "SELECT pawl.enqueue('order.paid', queue => 'small')");
    must_ask(app, "SELECT pawl.enqueue('order.paid')");
    EXPECT_INT(take_with(box, &terms), 2);
    EXPECT_INT(waiting(box), 1);
    EXPECT_INT(take_with(box, &terms), 0);
    struct job job = job_of(box, first);
    OK(job_cancel(tx, job.id, &job, err));
    pass(box, SECONDS(2));
    EXPECT_INT(take_with(box, &terms), 1);
    EXPECT(job_of(box, second).state == JOB_QUEUED);
}

TEST_APPLICATION(OPS_20_jobs_for_a_full_queue_keep_no_others_waiting)
{
    enum { LIMIT = 100 };  // of take_with
    const struct queue_term rows[] = { { S("small"), 4, 1 } };
    const struct queue_terms terms = { rows, countof(rows) };
    must_ask(app, "SELECT count(pawl.enqueue('order.paid', queue => 'small'))"
                  " FROM generate_series(1, 101)");
    EXPECT_INT(take_with(box, &terms), 1);
    EXPECT_INT(waiting(box), LIMIT);
    pass(box, SECONDS(2));
    must_ask(app, "SELECT pawl.enqueue('order.paid')");
    EXPECT_INT(take_with(box, &terms), 1);
    EXPECT_INT(waiting(box), LIMIT);
}

TEST_APPLICATION(a_transaction_that_is_rolled_back_has_enqueued_nothing)
{
    must_ask(app, "BEGIN");
    must_ask(app, "SELECT pawl.enqueue('order.paid', idempotency_key => 'k')");
    must_ask(app, "ROLLBACK");
    EXPECT_INT(must_sweep(box).posted, 0);
    EXPECT_INT(jobs(box), 0);
    must_ask(app, "BEGIN");
    must_ask(app, "SELECT pawl.enqueue('order.paid', idempotency_key => 'k')");
    PQfinish(connect_as(box, "pawl"));
    must_ask(app, "COMMIT");
    EXPECT_INT(must_sweep(box).posted, 1);
}

TEST_APPLICATION(everything_that_can_be_said_of_a_job_can_be_said_in_sql)
{
    struct str id = must_ask(
        app, "SELECT pawl.enqueue('report', payload => '{}', idempotency_key => 'k',"
             " org_id => '11111111-0000-7000-8000-000000000000',"
             " project_id => '22222222-0000-7000-8000-000000000000', queue => 'q:own',"
             " priority => 7, serial_key => 's', limit_key => 'l', policy => 'audit',"
             " scheduled_for => '2035-01-01 00:00:00+00', max_wait => interval '90 s',"
             " correlation_id => 'c', submit => false)");
    EXPECT_INT(must_sweep(box).posted, 1);
    box->caller.org_id = S("11111111-0000-7000-8000-000000000000");
    struct job job = job_of(box, id);
    struct contract *c = &job.contract;
    if (job.state != JOB_CREATED)
        print_error("%.*s\n", STR(job.last_error));
    EXPECT(job.state == JOB_CREATED);
    EXPECT_STR(c->idempotency_key, "k");
    EXPECT_STR(c->project_id, "22222222-0000-7000-8000-000000000000");
    EXPECT_STR(job.queue, "q:own");
    EXPECT_INT(job.priority, 7);
    EXPECT_STR(c->serial_key, "s");
    EXPECT_STR(c->limit_key, "l");
    EXPECT_STR(c->policy.name, "audit");
    EXPECT_INT(c->scheduled_for, SECONDS(2051222400));
    EXPECT_INT(c->max_wait_us, SECONDS(90));
    EXPECT_STR(c->correlation_id, "c");
}

// ----- keys (OPS-2)

TEST_APPLICATION(OPS_2_the_same_key_is_the_same_job_before_and_after_it_is_taken_in)
{
    const char *sql = "SELECT pawl.enqueue('report', '{\"a\": 1.50}', 'k')";
    struct str id = must_ask(app, sql);
    EXPECT(str_eq(must_ask(app, sql), id));
    EXPECT_INT(must_sweep(box).posted, 1);
    EXPECT(str_eq(must_ask(app, sql), id));
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    EXPECT(str_eq(must_ask(app, sql), id));
    EXPECT_INT(must_sweep(box).posted, 0);
    EXPECT_INT(jobs(box), 1);
    EXPECT(!str_eq(must_ask(app, "SELECT pawl.enqueue('report', '{\"a\": 1.50}', 'k',"
                                 " project_id => '22222222-0000-7000-8000-000000000000')"),
                   id));
    EXPECT(!str_eq(must_ask(app, "SELECT pawl.enqueue('report')"),
                   must_ask(app, "SELECT pawl.enqueue('report')")));
}

TEST_APPLICATION(OPS_2_a_key_that_the_engine_knows_is_known_in_sql)
{
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("schl\xc3\xbcssel, of more than eight bytes");
    struct job job = must_add(box, &contract);
    struct str id = must_ask(app, "SELECT pawl.enqueue('report', '{}',"
                                  " 'schl\xc3\xbcssel, of more than eight bytes')");
    EXPECT(str_eq(id, id_text(test_arena(), job.id)));
    EXPECT_INT(waiting(box), 0);
}

TEST_APPLICATION(OPS_2_a_key_with_other_content_is_refused)
{
    must_ask(app, "SELECT pawl.enqueue('report', '{\"a\": 1}', 'k')");
    for (int i = 0; i < 2; i++) {
        EXPECT(!ask(app, "SELECT pawl.enqueue('report', '{\"a\": 2}', 'k')"));
        EXPECT(strcmp(sqlstate, "23505") == 0 && strstr(said, "key_reused"));
        EXPECT(!ask(app, "SELECT pawl.enqueue('other', '{\"a\": 1}', 'k')"));
        must_sweep(box);
    }
    EXPECT_INT(jobs(box), 1);
}

// Whoever comes second waits for the first, and has its job.
TEST_APPLICATION(OPS_2_two_transactions_with_one_key_have_one_job)
{
    PGconn *second = connect_as(box, "pawl");
    must_ask(app, "BEGIN");
    struct str id = must_ask(app, "SELECT pawl.enqueue('report', '{}', 'k')");
    EXPECT(PQsendQuery(second, "SELECT pawl.enqueue('report', '{}', 'k')") == 1);
    must_ask(app, "COMMIT");
    must_sweep(box);
    PGresult *result = PQgetResult(second);
    EXPECT(PQntuples(result) == 1 && str_eq(str_of(PQgetvalue(result, 0, 0)), id));
    PQclear(result);
    PQfinish(second);
    must_sweep(box);
    EXPECT_INT(jobs(box), 1);
}

// A key that the API took while the transaction was open: there is one job, and it is the API's.
TEST_APPLICATION(OPS_2_a_key_that_was_taken_meanwhile_is_not_taken_twice)
{
    must_ask(app, "BEGIN");
    must_ask(app, "SELECT pawl.enqueue('report', '{}', 'k')");
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("k");
    must_add(box, &contract);
    must_ask(app, "COMMIT");
    EXPECT_INT(must_sweep(box).posted, 1);
    EXPECT_INT(jobs(box), 1);
    EXPECT_INT(waiting(box), 0);
}

TEST_APPLICATION(ids_of_jobs_in_sql_and_in_the_engine_never_meet)
{
    for (int i = 0; i < 20; i++) {
        struct str id = must_ask(app, "SELECT pawl.enqueue('report')");
        must_enqueue(box, "report");
        EXPECT((id.s[17] - '0') % 2 != 0 || id.s[17] == 'b' || id.s[17] == 'd' || id.s[17] == 'f');
    }
    must_sweep(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs WHERE id % 2 = 0"), 20);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs WHERE id % 2 = 1"), 20);
}

// ----- what is refused, and what fails

TEST_APPLICATION(OPS_1_what_the_tables_can_say_is_refused_to_the_caller)
{
    static const char *const wrong[] = {
        "SELECT pawl.enqueue('')",
        "SELECT pawl.enqueue('no spaces')",
        "SELECT pawl.enqueue(NULL)",
        "SELECT pawl.enqueue('report', '[]')",
        "SELECT pawl.enqueue('report', NULL)",
        "SELECT pawl.enqueue('report', priority => 101)",
        "SELECT pawl.enqueue('report', org_id => 'me')",
        "SELECT pawl.enqueue('report', org_id => upper('abababab-0000-7000-8000-000000000000'))",
        "SELECT pawl.enqueue('report', project_id => 'mine')",
        "SELECT pawl.enqueue('report', queue => 'q:deadletter')",
        "SELECT pawl.enqueue('report', idempotency_key => '')",
        "SELECT pawl.enqueue('report', idempotency_key => E'a\\nb')",
        "SELECT pawl.enqueue('report', idempotency_key => repeat('k', 233))",
        "SELECT pawl.enqueue('report', serial_key => '')",
        "SELECT pawl.enqueue('report', max_wait => interval '-1 s')",
        "SELECT pawl.enqueue('report', scheduled_for => now() - interval '2 minutes')",
        "SELECT pawl.enqueue('report', jsonb_build_object('a', repeat('x', 1048576)))",
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        if (ask(app, wrong[i]))
            print_error("%s is accepted\n", wrong[i]);
        EXPECT(!ask(app, wrong[i]));
    }
    EXPECT_INT(waiting(box), 0);
}

// What only the contract says: it ends FAILED when it is taken in, and says why.
TEST_APPLICATION(OPS_1_what_only_the_contract_says_ends_the_job_with_validation)
{
    static const struct {
        const char *sql, *why;
    } broken[] = {
        { "SELECT pawl.enqueue('report', policy => 'nobody')", "validation: policy: " },
        { "SELECT pawl.enqueue('report', '{\"password\": \"p\"}')", "validation: payload" },
        { "SELECT pawl.enqueue('report', scheduled_for => now() + interval '11 years')",
          "validation: scheduled_for: " },
        { "SELECT pawl.enqueue('report', (repeat('{\"a\":', 40) || '1' || repeat('}', 40))::jsonb)",
          "validation: payload" },
    };
    for (size_t i = 0; i < countof(broken); i++) {
        struct str id = must_ask(app, broken[i].sql);
        EXPECT_INT(must_sweep(box).posted, 1);
        struct job job = job_of(box, id);
        if (!str_starts(job.last_error, str_of(broken[i].why)))
            print_error("%s: %.*s\n", broken[i].sql, STR(job.last_error));
        EXPECT(str_starts(job.last_error, str_of(broken[i].why)));
        EXPECT(job.state == JOB_FAILED && job.error_class == ERROR_VALIDATION);
        EXPECT_STR(job.contract.payload, "{}");  // what must not be stored is not
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
}

// Another job has the key by now, with other content: this one has to end as well.
TEST_APPLICATION(OPS_2_a_key_that_somebody_else_took_for_another_job_ends_this_one)
{
    must_ask(app, "BEGIN");
    struct str id = must_ask(app, "SELECT pawl.enqueue('report', '{\"a\": 1}', 'k')");
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("k");
    must_add(box, &contract);
    must_ask(app, "COMMIT");
    EXPECT_INT(must_sweep(box).posted, 1);
    struct job job = job_of(box, id);
    EXPECT(job.state == JOB_FAILED && job.error_class == ERROR_VALIDATION);
}

// ----- who may

TEST_APPLICATION(OPS_10_nobody_enqueues_in_sql_unless_he_was_told_that_he_may)
{
    must_ask(app, "CREATE ROLE stranger_x LOGIN; CREATE ROLE shop_x LOGIN;"
                  "GRANT USAGE ON SCHEMA pawl TO shop_x, stranger_x;"
                  "GRANT EXECUTE ON FUNCTION pawl.enqueue TO shop_x");
    PGconn *stranger = connect_as(box, "stranger_x"), *shop = connect_as(box, "shop_x");
    EXPECT(!ask(stranger, "SELECT pawl.enqueue('report')") && strcmp(sqlstate, "42501") == 0);
    // Its own tables do not stand in for Pawl's, whatever it puts before them.
    must_ask(app, "GRANT shop_x, stranger_x TO pawl; CREATE SCHEMA shop_x AUTHORIZATION shop_x");
    must_ask(shop, "SET search_path = shop_x; CREATE TABLE posted_jobs (x int);"
                   "CREATE TABLE jobs (x int); CREATE TEMP TABLE store (secret text)");
    struct str id = must_ask(shop, "SELECT pawl.enqueue('report', '{}', 'k')");
    EXPECT(!ask(shop, "SELECT count(*) FROM pawl.posted_jobs") && strcmp(sqlstate, "42501") == 0);
    EXPECT(!ask(shop, "SELECT count(*) FROM pawl.jobs") && strcmp(sqlstate, "42501") == 0);
    EXPECT_INT(must_sweep(box).posted, 1);
    EXPECT_STR(job_of(box, id).contract.actor_id, "shop_x");
    PQfinish(stranger);
    PQfinish(shop);
    must_ask(app, "DROP SCHEMA shop_x CASCADE; DROP OWNED BY shop_x, stranger_x;"
                  "DROP ROLE shop_x; DROP ROLE stranger_x");
}
