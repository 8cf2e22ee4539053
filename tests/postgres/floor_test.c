// The floor of a lane: a claim begins behind what was taken, also while nobody may clean that away,
// and never behind a job that waits.
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/store_url.h"

enum { TAKEN = 3000, AT_ONCE = 100, PAGES_MAX = 20 };

static PGconn *connect_to(struct box *box)
{
    struct server_url url;
    struct pawl_error err = {0};
    MUST(server_url_parse(test_arena(), box->url, &url, &err));
    PGconn *connection = PQconnectdb(url.connect);
    EXPECT(PQstatus(connection) == CONNECTION_OK);
    return connection;
}

static void say(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        print_error("%s: %s", sql, PQresultErrorMessage(result));
    EXPECT(PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK);
    PQclear(result);
}

static int64_t pages_once(PGconn *connection, const char *sql)
{
    int64_t found = 0;
    PGresult *result = PQexec(connection, sql);
    EXPECT(PQresultStatus(result) == PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(result) && found == 0; i++) {
        const char *hit = strstr(PQgetvalue(result, i, 0), "Buffers: shared hit=");
        found = hit ? strtoll(hit + strlen("Buffers: shared hit="), NULL, 10) : 0;
    }
    PQclear(result);
    EXPECT(found > 0);
    return found;
}

// How many pages the server looks at for a statement of a claim. The first time a session asks, it
// looks into the catalogue besides.
static int64_t pages(PGconn *connection, enum query query, const char *arguments)
{
    const char *run = str_format(test_arena(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF)"
                                               " EXECUTE asked(%s)",
                                 arguments)
                          .s;
    say(connection, str_format(test_arena(), "PREPARE asked AS %s", queries[query].postgres).s);
    pages_once(connection, run);
    int64_t found = pages_once(connection, run);
    say(connection, "DEALLOCATE asked");
    return found;
}

static void add(struct box *box, size_t count)
{
    struct contract contract = contract_for(box, "report");
    for (size_t done = 0; done < count;) {
        struct tx tx = {0};
        struct pawl_error err = {0};
        box_begin(box, &tx);
        for (size_t i = 0; i < AT_ONCE && done < count; i++, done++) {
            struct job job;
            bool deduplicated = false;
            MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
        }
        box_commit(&tx);
    }
}

static void take(struct box *box, size_t count)
{
    struct claimed *claimed = NULL;
    for (size_t taken = 0; taken < count;)
        taken += claim_some(box, "A", AT_ONCE, &claimed);
}

static const char settings[] =
    "SET search_path = pawl; SET jit = off; SET plan_cache_mode = force_generic_plan;"
    "SET enable_seqscan = off; SET enable_bitmapscan = off;"
    "SET enable_hashjoin = off; SET enable_mergejoin = off";

TEST_EACH_DB(SLOT_11_a_claim_steps_over_nothing_that_was_taken_while_an_old_snapshot_is_held)
{
    PGconn *holder = connect_to(box), *looker = connect_to(box);
    say(looker, settings);
    add(box, AT_ONCE + 1);
    say(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    add(box, TAKEN);
    take(box, TAKEN);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), AT_ONCE + 1);
    const char *lane = box_text(box, "SELECT queue || ', ' || type FROM ready LIMIT 1").s;
    const char *first = str_format(test_arena(), "%s, 1, -9223372036854775808, 0, 1", lane).s;
    const char *org = str_format(test_arena(), "%s, 0", lane).s;
    EXPECT(pages(looker, Q_READY_LANE, first) < PAGES_MAX);
    EXPECT(pages(looker, Q_READY_NEXT_ORG, org) < PAGES_MAX);
    EXPECT(pages(looker, Q_CLAIM_QUEUES, "0") < PAGES_MAX);
    say(holder, "ROLLBACK");
    PQfinish(holder);
    PQfinish(looker);
}

// What comes before the floor lowers it: a greater priority, a job that is tried again, one that
// is given back.
TEST_EACH_DB(RUN_9_what_is_put_before_the_floor_of_a_lane_is_claimed_first)
{
    struct contract urgent = contract_for(box, "report");
    struct execution e;
    struct job first = must_enqueue(box, "report");
    add(box, 5);
    struct lease lease = must_claim(box, "A");
    struct lease second = must_claim(box, "A");
    OK(execution_release(tx, &lease, &e, err));
    struct lease again = must_claim(box, "B");
    EXPECT(id_eq(must_execution(box, again.execution).job, first.id));
    urgent.priority = 50;
    struct job hurried = must_add(box, &urgent);
    struct lease third = must_claim(box, "B");
    EXPECT(id_eq(must_execution(box, third.execution).job, hurried.id));
    OK(execution_release(tx, &second, &e, err));
    struct lease fourth = must_claim(box, "B");
    EXPECT(id_eq(must_execution(box, fourth.execution).job, e.job));
}

// A claim that is taken back has not raised it.
TEST_EACH_DB(RUN_9_the_floor_of_a_lane_goes_back_with_its_claim)
{
    struct job first = must_enqueue(box, "report");
    add(box, 3);
    struct str queues[] = { S("q:default") };
    struct claim claim = {
        .worker = worker_named("A"), .queues = queues, .queue_count = 1, .limit = 2
    };
    struct claimed *claimed = NULL;
    size_t count = 0;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(execution_claim(&tx, &claim, &claimed, &count, &err));
    EXPECT_INT(count, 2);
    tx_end(&tx);
    struct lease lease = must_claim(box, "B");
    EXPECT(id_eq(must_execution(box, lease.execution).job, first.id));
}

// A worker of all orgs finds the one that has work behind many that have none.
TEST_EACH_DB(RUN_9_a_lane_with_work_is_found_behind_many_that_are_empty)
{
    enum { ORGS = 40 };
    struct claimed *claimed = NULL;
    for (int i = 0; i < ORGS; i++) {
        struct contract contract = contract_for(box, "report");
        contract.org_id = str_format(test_arena(), "00000000-0000-4000-8000-%012d", i + 100);
        box->caller.org_id = contract.org_id;
        must_add(box, &contract);
        box->caller.org_id = S("");  // of all
        if (i + 1 < ORGS)
            EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM (SELECT DISTINCT queue, type, org"
                               " FROM ready_floors) l"),
               ORGS);
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 0);
}

static void count_floors(void *self, const struct violation *violation)
{
    *(size_t *)self += strstr(violation->detail.s, "floor") != NULL;
}

TEST_EACH_DB(EXEC_8_a_place_that_is_not_behind_its_floor_is_reported)
{
    static const char *const damage[] = {
        "INSERT INTO ready_floors (queue, type, org, rank, job)"
        " SELECT queue, type, org, rank, job FROM ready LIMIT 1",
        "DELETE FROM ready_floors",
    };
    struct pawl_error err = {0};
    struct verified verified;
    add(box, 3);
    box->damaged = true;
    for (size_t i = 0; i < countof(damage); i++) {
        size_t found = 0;
        struct verify_options options = { .self = &found, .found = count_floors };
        box_sql(box, damage[i]);
        MUST(verify(box->db, &options, &verified, &err));
        EXPECT_INT(found, 1);
    }
}
