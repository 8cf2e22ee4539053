// A server that cannot do what it is asked: it has become read only, its disk is full, it has no
// connection left. Callers are told which, nobody crashes, and when it can again all goes on.
#include <fcntl.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adding.h"
#include "process.h"

enum { CONNECTIONS = 100,  // of the server: tests/postgres/run ...
       NOBODY = 65534,    // ... which starts it as this user
       TRIES = 600,
       TRY_MS = 50 };

static bool enqueue_with(struct box *box, struct pipeline *pipeline, struct str payload,
                         struct pawl_error *err)
{
    struct contract contract = contract_for(box, "report");
    contract.payload = payload;
    return enqueue_through(pipeline, box, contract, NULL, err);
}

static bool enqueue(struct box *box, struct pipeline *pipeline, struct pawl_error *err)
{
    return enqueue_with(box, pipeline, S("{}"), err);
}

static struct pipeline *pipeline_on(struct box *box)
{
    return pipeline_to(box->url, world_real());
}

// Somebody else's sessions are not what is tested.
static PGconn *as_administrator(const char *database)
{
    const char *place = getenv("PAWL_TEST_BOX");
    EXPECT(place != NULL);
    PGconn *connection = PQconnectdb(
        str_format(test_arena(), "postgres://postgres@/%s?host=%s", database, place).s);
    EXPECT(PQstatus(connection) == CONNECTION_OK);
    return connection;
}

static void administer(PGconn *administrator, const char *sql)
{
    PGresult *result = PQexec(administrator, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        print_error("%s: %s", sql, PQresultErrorMessage(result));
    EXPECT(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
    PQclear(result);
}

static void set_read_only(PGconn *administrator, const char *on)
{
    administer(administrator,
               str_format(test_arena(), "ALTER SYSTEM SET default_transaction_read_only = %s",
                          on)
                   .s);
    administer(administrator, "SELECT pg_reload_conf()");
}

// Asked until it is answered so; nothing else may be answered meanwhile.
static void expect_refusals(struct box *box, struct pipeline *pipeline, enum pawl_code code,
                            const char *words)
{
    struct pawl_error err = {0};
    for (int i = 0; i < TRIES && enqueue(box, pipeline, &err); i++)
        wait_ms(TRY_MS);
    for (int i = 0; i < TRIES && !strstr(err.message, words); i++) {
        EXPECT_INT(err.code, code);
        wait_ms(TRY_MS);
        EXPECT(!enqueue(box, pipeline, &err));
    }
    EXPECT_INT(err.code, code);
    EXPECT(strstr(err.message, words) != NULL);
}

static void expect_recovery(struct box *box, struct pipeline *pipeline)
{
    struct pawl_error err = {0};
    bool done = false;
    for (int i = 0; i < TRIES && !(done = enqueue(box, pipeline, &err)); i++)
        wait_ms(TRY_MS);
    if (!done)
        print_error("%s\n", err.message);
    EXPECT(done);
}

TEST_EACH_DB(SLOT_11_a_server_that_has_become_read_only_is_left_until_it_is_not)
{
    struct pipeline *pipeline = pipeline_on(box);
    PGconn *administrator = as_administrator("postgres");
    struct pawl_error err = {0};
    MUST(enqueue(box, pipeline, &err));
    set_read_only(administrator, "on");
    expect_refusals(box, pipeline, PAWL_BUSY, "read");
    struct db *db = NULL;
    EXPECT_REFUSED(PAWL_BUSY, db_open(&db, &(struct db_options){ .url = box->url }, &err));
    EXPECT(strstr(err.message, "read-only") != NULL);
    set_read_only(administrator, "off");
    expect_recovery(box, pipeline);
    PQfinish(administrator);
    pipeline_close(pipeline);
}

// Takes what connections there are.
static int exhaust(PGconn **others, int count)
{
    const char *url = str_format(test_arena(), "postgres://pawl@/postgres?host=%s",
                                 getenv("PAWL_TEST_BOX"))
                          .s;
    while (count < CONNECTIONS) {
        others[count] = PQconnectdb(url);
        if (PQstatus(others[count]) != CONNECTION_OK)
            break;
        count++;
    }
    EXPECT(count < CONNECTIONS);
    PQfinish(others[count]);
    return count;
}

TEST_EACH_DB(SLOT_11_a_server_without_a_connection_left_is_asked_again)
{
    struct pipeline *pipeline = pipeline_on(box);
    PGconn *administrator = as_administrator("postgres"), *others[CONNECTIONS];
    struct pawl_error err = {0};
    struct db *db = NULL;
    MUST(enqueue(box, pipeline, &err));
    int count = exhaust(others, 0);
    EXPECT_REFUSED(PAWL_BUSY, db_open(&db, &(struct db_options){ .url = box->url }, &err));
    EXPECT(strstr(err.message, "cannot connect") != NULL);
    MUST(enqueue(box, pipeline, &err));  // who is connected goes on
    administer(administrator, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                              " WHERE application_name = 'pawl'");
    count = exhaust(others, count);
    expect_refusals(box, pipeline, PAWL_BUSY, "cannot connect");
    for (int i = 0; i < count; i++)
        PQfinish(others[i]);
    expect_recovery(box, pipeline);
    PQfinish(administrator);
    pipeline_close(pipeline);
    box_reopen(box);
}

// ----- a disk that is full

static const char *filler(void)
{
    return str_format(test_arena(), "%s/small/filler", getenv("PAWL_TEST_BOX")).s;
}

// A small file system for a part of the store, most of it taken by a file. It takes root to mount
// one; tests/postgres/run takes it away when the server has stopped.
static bool move_to_small_disk(PGconn *administrator)
{
    const char *place = getenv("PAWL_TEST_BOX");
    const char *disk = str_format(test_arena(), "%s/small", place).s;
    const char *data = str_format(test_arena(), "%s/data", disk).s;
    EXPECT(mkdir(disk, 0755) == 0);
    if (geteuid() != 0 || mount("tmpfs", disk, "tmpfs", 0, "size=24m,mode=0755") != 0) {
        print_message("left out: a file system of its own cannot be mounted here\n");
        return false;
    }
    EXPECT(mkdir(data, 0700) == 0 && chown(data, NOBODY, NOBODY) == 0);
    int fd = open(filler(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    EXPECT(fd >= 0 && posix_fallocate(fd, 0, 18 << 20) == 0 && close(fd) == 0);
    administer(administrator,
               str_format(test_arena(), "CREATE TABLESPACE small LOCATION '%s'", data).s);
    administer(administrator, "ALTER TABLE pawl.jobs SET TABLESPACE small");
    return true;
}

// What cannot be made smaller by compressing it.
static struct str large_payload(struct box *box)
{
    struct buf text = buf_new(test_arena(), 1 << 18);
    buf_add(&text, S("{\"a\": \""));
    for (int i = 0; i < 12000; i++)
        buf_addf(&text, "%016llx", (unsigned long long)world_random(&box->world.world));
    buf_add(&text, S("\"}"));
    return buf_str(&text);
}

TEST_EACH_DB(SLOT_11_a_server_whose_disk_is_full_says_so_and_goes_on_when_it_is_not)
{
    struct str name = box_text(box, "SELECT current_database()");
    PGconn *administrator = as_administrator(str_cstr(test_arena(), name));
    struct pawl_error err = {0};
    int64_t stored = 0;
    if (move_to_small_disk(administrator)) {
        struct pipeline *pipeline = pipeline_on(box);
        while (stored < TRIES && enqueue_with(box, pipeline, large_payload(box), &err))
            stored++;
        EXPECT_INT(err.code, PAWL_DISK_FULL);
        EXPECT(strstr(err.message, "the server's disk is full") != NULL);
        EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), stored);
        EXPECT(unlink(filler()) == 0);
        MUST(enqueue_with(box, pipeline, large_payload(box), &err));
        EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), stored + 1);
        pipeline_close(pipeline);
    }
    PQfinish(administrator);
}

// ----- news that nobody may send

TEST_EACH_DB(RUN_10_a_ring_that_the_server_refuses_harms_nobody)
{
    struct str name = box_text(box, "SELECT current_database()");
    PGconn *administrator = as_administrator(str_cstr(test_arena(), name));
    administer(administrator, "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM public");
    for (int i = 0; i < 3; i++)
        must_enqueue(box, "report");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 3);
    administer(administrator, "GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO public");
    must_enqueue(box, "report");
    PQfinish(administrator);
}
