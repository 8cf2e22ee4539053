// News from other processes, by notifications of the server (RUN-10).
#include <poll.h>
#include <string.h>

#include "fixture.h"
#include "process.h"

#include "store/bell.h"
#include "store/postgres_library.h"
#include "store/server_bell.h"

#define LONG_US SECONDS(60)
#define QUIET_US MILLISECONDS(700)

struct ear {
    struct bell *bell;
    struct db *own;  // whose process has the bell
};

static struct db *open_with(struct box *box, struct bell *bell)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .world = &box->world.world, .bell = bell };
    MUST(db_open(&db, &options, &err));
    return db;
}

static struct ear ear_open(struct box *box)
{
    struct ear ear = {0};
    struct pawl_error err = {0};
    MUST(bell_open(&ear.bell, box->url, &err));
    ear.own = open_with(box, ear.bell);
    return ear;
}

static void ear_close(struct ear *ear)
{
    db_close(ear->own);
    bell_close(ear->bell);
}

static void enqueue_by(struct box *box, struct db *db)
{
    struct db *kept = box->db;
    box->db = db;
    must_enqueue(box, "report");
    box->db = kept;
}

TEST_EACH_DB(RUN_10_what_another_process_has_enqueued_rings_here)
{
    struct ear ear = ear_open(box);
    EXPECT(bell_hears_others(ear.bell));
    EXPECT(!bell_wait(ear.bell, 0));
    must_enqueue(box, "report");
    EXPECT(bell_wait(ear.bell, LONG_US));
    ear_close(&ear);
}

TEST_EACH_DB(RUN_10_a_commit_of_this_process_rings_once)
{
    struct ear ear = ear_open(box);
    enqueue_by(box, ear.own);
    EXPECT(bell_wait(ear.bell, 0));  // by its eventfd: the commit is over
    EXPECT(!bell_wait(ear.bell, QUIET_US));
    ear_close(&ear);
}

TEST_EACH_DB(RUN_10_a_commit_without_news_rings_nobody)
{
    struct ear ear = ear_open(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(tx_commit(&tx, &err));
    EXPECT(!bell_wait(ear.bell, QUIET_US));
    ear_close(&ear);
}

// Not one for each of its jobs.
TEST_EACH_DB(RUN_10_a_commit_of_many_jobs_rings_once)
{
    enum { JOBS = 50 };
    struct ear ear = ear_open(box);
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < JOBS; i++) {
        struct contract contract = contract_for(box, "report");
        struct job job;
        bool deduplicated;
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    }
    MUST(tx_commit(&tx, &err));
    EXPECT(bell_wait(ear.bell, LONG_US));
    EXPECT(!bell_wait(ear.bell, QUIET_US));
    ear_close(&ear);
}

static void cut_all(struct box *box)
{
    EXPECT(box_number(box, "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                           " WHERE application_name = 'pawl' AND datname = current_database()")
           > 0);
}

// What came while nobody listened is not known, so it rings when somebody does again.
TEST_EACH_DB(RUN_10_a_session_that_was_cut_listens_again_and_counts_as_news)
{
    struct ear ear = ear_open(box);
    cut_all(box);
    EXPECT(bell_wait(ear.bell, LONG_US));
    EXPECT(bell_hears_others(ear.bell));
    box_reopen(box);
    must_enqueue(box, "report");
    EXPECT(bell_wait(ear.bell, LONG_US));
    ear_close(&ear);
}

// One for the transaction, though it has three; and again after the session was cut.
TEST_EACH_DB(RUN_10_jobs_that_come_in_sql_ring_once_and_say_so)
{
    struct ear ear = ear_open(box);
    for (int i = 0; i < 2; i++) {
        box_sql(box, "BEGIN; SELECT pawl.enqueue('a'); SELECT pawl.enqueue('b');"
                     "SELECT pawl.enqueue('c'); COMMIT");
        EXPECT(bell_wait(ear.bell, LONG_US));
        EXPECT(bell_posted(ear.bell) && !bell_posted(ear.bell));
        EXPECT(!bell_wait(ear.bell, QUIET_US));
        cut_all(box);
        EXPECT(bell_wait(ear.bell, LONG_US));
        EXPECT(bell_posted(ear.bell));  // may have been, meanwhile
    }
    box_reopen(box);
    must_enqueue(box, "report");
    EXPECT(bell_wait(ear.bell, LONG_US));
    EXPECT(!bell_posted(ear.bell));
    must_sweep(box);
    ear_close(&ear);
}

TEST_EACH_DB(RUN_10_a_job_in_sql_that_is_rolled_back_rings_nobody)
{
    struct ear ear = ear_open(box);
    box_sql(box, "BEGIN; SELECT pawl.enqueue('a'); ROLLBACK");
    EXPECT(!bell_wait(ear.bell, QUIET_US));
    ear_close(&ear);
}

// Another store in the same database has the same channel.
TEST_EACH_DB(RUN_10_news_of_another_store_ring_nobody)
{
    struct ear ear = ear_open(box);
    struct box other = *box;
    struct pawl_error err = {0};
    other.url = str_format(test_arena(), "%.*s&schema=other", STR(box->url));
    MUST(db_open(&other.db,
                 &(struct db_options){ .url = other.url, .world = &box->world.world }, &err));
    must_enqueue(&other, "report");
    EXPECT(!bell_wait(ear.bell, QUIET_US));
    db_close(other.db);
    ear_close(&ear);
}

// ----- a session that is lost comes back, whatever fails on the way

static int refuse_input(PGconn *connection)
{
    (void)connection;
    return 0;
}

static int refuse_query(PGconn *connection, const char *sql)
{
    (void)connection, (void)sql;
    return 0;
}

static PGconn *start_nothing(const char *const *keywords, const char *const *values, int expand)
{
    (void)keywords, (void)values, (void)expand;
    return NULL;
}

static ConnStatusType is_bad(const PGconn *connection)
{
    (void)connection;
    return CONNECTION_BAD;
}

static PostgresPollingStatusType poll_failed(PGconn *connection)
{
    (void)connection;
    return PGRES_POLLING_FAILED;
}

static PostgresPollingStatusType poll_on(PGconn *connection)
{
    (void)connection;
    return PGRES_POLLING_READING;
}

static PostgresPollingStatusType poll_writing(PGconn *connection)
{
    (void)connection;
    return PGRES_POLLING_WRITING;
}

static ExecStatusType is_refused(const PGresult *result)
{
    (void)result;
    return PGRES_FATAL_ERROR;
}

enum way { NO_START, BAD_START, NO_POLL, NO_END, NO_WRITE, NO_QUERY, NO_LISTEN, WAYS };

static void fail_by(enum way way)
{
    const struct libpq real = pq;
    struct libpq by[WAYS] = { real, real, real, real, real, real, real };
    by[NO_START].connectStartParams = start_nothing;
    by[BAD_START].status = is_bad;
    by[NO_POLL].connectPoll = poll_failed;
    by[NO_END].connectPoll = poll_on;
    by[NO_WRITE].connectPoll = poll_writing;
    by[NO_QUERY].sendQuery = refuse_query;
    by[NO_LISTEN].resultStatus = is_refused;
    pq = by[way];
}

// One look when there is something to see, or when it is time.
static bool look(struct server_bell *bell, int64_t *now)
{
    int64_t until = 0;
    struct pollfd fd = server_bell_poll(bell, &until);
    if (poll(&fd, 1, 20) == 0)
        *now = until < INT64_MAX ? until : *now;
    return server_bell_look(bell, *now);
}

TEST_EACH_DB(RUN_10_a_session_that_is_lost_listens_again_whatever_fails_on_the_way)
{
    enum { LOOKS = 40 };
    struct server_bell *bell = NULL;
    struct pawl_error err = {0};
    int64_t now = 0;
    MUST(server_bell_open(&bell, box->url, "me", &err));
    const struct libpq real = pq;
    for (enum way way = 0; way < WAYS; way++) {
        pq.consumeInput = refuse_input;
        EXPECT(!server_bell_look(bell, now) && !server_bell_hears(bell));
        EXPECT(!server_bell_look(bell, now));  // it is not time yet
        pq = real;
        fail_by(way);
        for (int i = 0; i < LOOKS; i++)
            EXPECT(!look(bell, &now) && !server_bell_hears(bell));
        pq = real;
        bool news = false;
        for (int i = 0; i < 10 * LOOKS && !server_bell_hears(bell); i++)
            news = look(bell, &now);
        EXPECT(news && server_bell_hears(bell));  // something may have been told meanwhile
        EXPECT(server_bell_posted(bell) && !server_bell_posted(bell));
    }
    server_bell_close(bell);
}

// What is its own stands between what others tell.
TEST_EACH_DB(RUN_10_news_of_others_are_heard_whatever_comes_behind_them)
{
    static const char *const told[] = { "pawl you", "pawl me", "other you", "pawl you" };
    struct server_bell *bell = NULL;
    struct pawl_error err = {0};
    int64_t until;
    MUST(server_bell_open(&bell, box->url, "me", &err));
    for (size_t i = 0; i < countof(told); i++)
        box_sql(box, str_format(test_arena(), "NOTIFY pawl_news, '%s'", told[i]).s);
    wait_ms(200);
    struct pollfd fd = server_bell_poll(bell, &until);
    EXPECT_INT(poll(&fd, 1, 10000), 1);
    EXPECT(server_bell_look(bell, 0));
    EXPECT(!server_bell_look(bell, 0) && !server_bell_posted(bell));
    server_bell_close(bell);
}

TEST_EACH_DB(RUN_10_a_server_that_lets_nobody_listen_is_told_of)
{
    struct server_bell *bell = NULL;
    struct pawl_error err = {0};
    const struct libpq real = pq;
    fail_by(NO_LISTEN);
    EXPECT_REFUSED(PAWL_BUSY, server_bell_open(&bell, box->url, "me", &err));
    pq = real;
    EXPECT(bell == NULL && strstr(err.message, "cannot listen for news") != NULL);
}
