// Several processes on one store: everybody is answered, nobody sees `database is locked`.
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checker.h"
#include "process.h"

enum { PROCESSES_MAX = 4,
       ROUNDS = 150,
       WAL_BYTES_MAX = 1 << 20,
       TRANSACTION_BYTES = 200000 };

#define HEARS(process, line, expected) \
    expect_str(str_of(process_ask((process), (line))), str_of(expected), PLACE(line))
#define STARTS(text, start) expect(strncmp((text), (start), strlen(start)) == 0, PLACE(#text))

static struct process puppet(const struct scratch *scratch, const char *name)
{
    return process_start("puppet", scratch_store(scratch), name);
}

// ----- under load

// The longest row of runs of one worker: a process that starves leaves all of them to the others.
static int64_t longest_streak(const struct scratch *scratch)
{
    return scratch_number(
        scratch, "WITH e AS (SELECT lease_owner AS w, row_number() OVER (ORDER BY exec_id) AS n,"
                 " row_number() OVER (PARTITION BY lease_owner ORDER BY exec_id) AS m"
                 " FROM pawl_executions WHERE attempt = 1)"
                 " SELECT max(c) FROM (SELECT count(*) AS c FROM e GROUP BY w, n - m) AS streaks");
}

// Each process adds and does `share` jobs; then the checker looks at all of it.
static void load(size_t processes, int share)
{
    struct scratch scratch = scratch_open();
    struct process loaders[PROCESSES_MAX];
    char count[16];
    snprintf(count, sizeof count, "%d", share);
    for (size_t i = 0; i < processes; i++) {
        char name[] = { 'L', (char)('0' + i), 0 };
        const char *log = str_format(test_arena(), "%s.log", name).s;
        loaders[i] = process_start("loader", scratch_store(&scratch), scratch_file(&scratch, log),
                                   name, "1", count);
    }
    for (size_t i = 0; i < processes; i++)
        EXPECT(strcmp(process_hear(&loaders[i]), "ready") == 0);
    for (size_t i = 0; i < processes; i++)
        process_tell(&loaders[i], "go");
    for (size_t i = 0; i < processes; i++)
        EXPECT_INT(process_end(&loaders[i]), 0);  // any answer but success would have ended it
    sqlite3 *facts = checker_open(&scratch);
    for (size_t i = 0; i < checks_count; i++)
        if (checks[i].planted)
            EXPECT_INT(checker_count(facts, checks[i].name), 0);
    EXPECT_INT(checker_count(facts, "jobs"), (int64_t)processes * share);
    EXPECT_INT(checker_count(facts, "succeeded"), (int64_t)processes * share);
    EXPECT_INT(checker_count(facts, "calls"), (int64_t)processes * share * 3);
    EXPECT_INT(checker_count(facts, "calls_cut_off"), 0);
    checker_close(facts);
    EXPECT(longest_streak(&scratch) < share * 3 / 4);
    scratch_close(&scratch);
}

TEST(RUN_4_two_processes_under_load_are_never_told_that_the_store_is_locked)
{
    load(2, 400);
}

TEST(RUN_4_four_processes_under_load_are_never_told_that_the_store_is_locked)
{
    load(4, 200);
}

// ----- races

// All ask at once for the one job of a serial key that may start.
TEST(RUN_4_of_processes_racing_to_start_one_run_exactly_one_wins)
{
    struct scratch scratch = scratch_open();
    struct process racers[PROCESSES_MAX];
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        racers[i] = puppet(&scratch, (char[]){ 'R', (char)('0' + i), 0 });
    for (int i = 0; i < ROUNDS + 1; i++)
        HEARS(&racers[0], "enqueue_serial document-1", "ok");
    for (int round = 0; round < ROUNDS; round++) {
        size_t winners = 0, winner = 0;
        for (size_t i = 0; i < PROCESSES_MAX; i++)
            process_tell(&racers[i], "claim_start 30");
        for (size_t i = 0; i < PROCESSES_MAX; i++) {
            bool won = strncmp(process_hear(&racers[i]), "ok", 2) == 0;
            EXPECT(won || strcmp(racers[i].line, "none") == 0);
            winner = won ? i : winner;
            winners += won;
        }
        EXPECT_INT(winners, 1);
        HEARS(&racers[winner], "commit_done", "ok");
    }
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM effects"), ROUNDS);
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        process_kill(&racers[i]);
    scratch_close(&scratch);
}

// ----- a new file

// The first process dies somewhere in creating the store; the next one has a whole store.
TEST(JOB_7_killed_while_it_creates_the_store_a_process_leaves_no_half_of_one)
{
    for (int64_t i = 0; i < 40; i++) {
        struct scratch scratch = scratch_open();
        struct process first = puppet(&scratch, "A");
        wait_us(250 * i);
        process_kill(&first);
        struct process next = puppet(&scratch, "B");
        STARTS(process_ask(&next, "enqueue b-1"), "ok");
        STARTS(process_ask(&next, "claim_start 30"), "ok");
        HEARS(&next, "commit_done", "ok");
        process_kill(&next);
        EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM effects"), 1);
        scratch_close(&scratch);
    }
}

// ----- others on the file

static sqlite3 *foreign(const struct scratch *scratch)
{
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(scratch_file(scratch, "pawl.db"), &connection) == SQLITE_OK);
    sqlite3_busy_timeout(connection, 5000);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(connection, 0);
    return connection;
}

static void foreign_run(sqlite3 *connection, const char *sql)
{
    EXPECT(sqlite3_exec(connection, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void foreign_read(sqlite3 *connection)
{
    foreign_run(connection, "BEGIN; SELECT count(*) FROM jobs");
}

SQLITE_ONLY(RUN_4_a_foreign_writer_makes_callers_wait_and_not_fail, "the lock of a file")
TEST(RUN_4_a_foreign_writer_makes_callers_wait_and_not_fail)
{
    struct scratch scratch = scratch_open();
    struct process puppets[2];
    puppets[0] = puppet(&scratch, "A");
    puppets[1] = puppet(&scratch, "B");
    STARTS(process_ask(&puppets[0], "enqueue a-1"), "ok");
    STARTS(process_ask(&puppets[1], "enqueue b-1"), "ok");
    sqlite3 *connection = foreign(&scratch);
    foreign_run(connection, "BEGIN IMMEDIATE");
    process_tell(&puppets[0], "enqueue a-2");
    process_tell(&puppets[1], "enqueue b-2");
    EXPECT(process_silent(&puppets[0], 200));
    EXPECT(process_silent(&puppets[1], 200));
    foreign_run(connection, "COMMIT");
    STARTS(process_hear(&puppets[0]), "ok");
    STARTS(process_hear(&puppets[1]), "ok");
    sqlite3_close(connection);
    process_kill(&puppets[0]);
    process_kill(&puppets[1]);
    scratch_close(&scratch);
}

TEST(RUN_4_a_process_killed_in_its_transaction_blocks_nobody_and_leaves_nothing)
{
    struct scratch scratch = scratch_open();
    struct process holder = puppet(&scratch, "A"), waiter = puppet(&scratch, "B");
    HEARS(&holder, "hold", "holding");
    process_tell(&waiter, "enqueue b-1");
    EXPECT(process_silent(&waiter, 200));
    process_kill(&holder);
    STARTS(process_hear(&waiter), "ok");
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM effects"), 0);
    process_kill(&waiter);
    scratch_close(&scratch);
}

// A process that is stopped there does block the others: they are told so in bounded time, and can
// go on when it does.
TEST(RUN_4_a_process_stopped_in_its_transaction_makes_others_busy_until_it_goes_on)
{
    struct scratch scratch = scratch_open();
    struct process holder = puppet(&scratch, "A");
    STARTS(process_ask(&holder, "enqueue a-0"), "ok");  // each has opened the store ...
    struct process waiter = process_start("puppet", scratch_store(&scratch), "B", "0", "300");
    STARTS(process_ask(&waiter, "enqueue b-0"), "ok");  // ... before one of them is stopped
    HEARS(&holder, "hold", "holding");
    process_stop(&holder);
    HEARS(&waiter, "enqueue b-1", "busy -");
    process_wake(&holder);
    HEARS(&holder, "commit", "ok");
    STARTS(process_ask(&waiter, "enqueue b-1"), "ok");
    EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM jobs"), 3);
    process_kill(&holder);
    process_kill(&waiter);
    scratch_close(&scratch);
}

// ----- the log

static int64_t log_bytes(const struct scratch *scratch)
{
    struct stat about;
    EXPECT(stat(scratch_file(scratch, "pawl.db-wal"), &about) == 0);
    return about.st_size;
}

static struct process with_log_of(const struct scratch *scratch, const char *name, int most)
{
    char bytes[16];
    snprintf(bytes, sizeof bytes, "%d", most);
    return process_start("puppet", scratch_store(scratch), name, bytes, "100");
}

static struct process bounded(const struct scratch *scratch, const char *name)
{
    return with_log_of(scratch, name, WAL_BYTES_MAX);
}

SQLITE_ONLY(RUN_4_a_reader_with_an_old_snapshot_stops_writers_at_the_maximum_of_the_log,
            "the log of an SQLite file")
TEST(RUN_4_a_reader_with_an_old_snapshot_stops_writers_at_the_maximum_of_the_log)
{
    struct scratch scratch = scratch_open();
    struct process a = bounded(&scratch, "A");
    STARTS(process_ask(&a, "flood 1"), "ok");  // it has made the store
    struct process b = bounded(&scratch, "B");
    STARTS(process_ask(&b, "flood 1"), "ok");
    sqlite3 *reader = foreign(&scratch);
    foreign_read(reader);
    STARTS(process_ask(&a, "flood 1000"), "full");
    STARTS(process_ask(&b, "flood 1000"), "full");
    EXPECT(log_bytes(&scratch) <= WAL_BYTES_MAX + 2 * TRANSACTION_BYTES);
    HEARS(&a, "flood 1", "full 0");
    foreign_run(reader, "COMMIT");
    HEARS(&a, "flood 100", "ok 100");
    HEARS(&b, "flood 100", "ok 100");
    EXPECT(log_bytes(&scratch) <= WAL_BYTES_MAX + 2 * TRANSACTION_BYTES);
    sqlite3_close(reader);
    process_kill(&a);
    process_kill(&b);
    scratch_close(&scratch);
}

// Readers that are short but overlap never leave the log without one: it must not grow for that.
SQLITE_ONLY(RUN_4_readers_that_take_turns_do_not_make_the_log_grow, "the log of an SQLite file")
TEST(RUN_4_readers_that_take_turns_do_not_make_the_log_grow)
{
    struct scratch scratch = scratch_open();
    struct process a = bounded(&scratch, "A");
    int stored = 0;
    STARTS(process_ask(&a, "flood 1"), "ok");
    sqlite3 *readers[] = { foreign(&scratch), foreign(&scratch) };
    foreign_read(readers[0]);
    for (size_t i = 1; i <= 24; i++) {
        const char *heard = process_ask(&a, "flood 1");
        EXPECT(strcmp(heard, "ok 1") == 0 || strcmp(heard, "full 0") == 0);
        stored += heard[0] == 'o';
        foreign_read(readers[i % 2]);
        foreign_run(readers[(i + 1) % 2], "COMMIT");
    }
    EXPECT(log_bytes(&scratch) <= WAL_BYTES_MAX + TRANSACTION_BYTES);
    EXPECT(stored >= 12);  // one that is refused lets the log start over for the next
    foreign_run(readers[0], "COMMIT");
    HEARS(&a, "flood 100", "ok 100");
    EXPECT(log_bytes(&scratch) <= WAL_BYTES_MAX + 2 * TRANSACTION_BYTES);
    sqlite3_close(readers[0]);
    sqlite3_close(readers[1]);
    process_kill(&a);
    scratch_close(&scratch);
}

struct relay {
    sqlite3 *readers[2];
    atomic_bool ended;
};

static void *take_turns(void *self)
{
    struct relay *relay = self;
    foreign_read(relay->readers[0]);
    size_t i = 0;
    for (; !relay->ended; i++) {
        usleep(2000);
        foreign_read(relay->readers[(i + 1) % 2]);
        foreign_run(relay->readers[i % 2], "COMMIT");
    }
    foreign_run(relay->readers[i % 2], "COMMIT");
    return NULL;
}

// `pawl verify` reads like that for minutes, beside whoever writes.
SQLITE_ONLY(RUN_4_readers_that_take_turns_let_the_log_start_over_before_its_maximum,
            "the log of an SQLite file")
TEST(RUN_4_readers_that_take_turns_let_the_log_start_over_before_its_maximum)
{
    enum { MOST = 8 << 20 };
    struct scratch scratch = scratch_open();
    struct process a = with_log_of(&scratch, "A", MOST);
    STARTS(process_ask(&a, "flood 1"), "ok");
    struct relay relay = { .readers = { foreign(&scratch), foreign(&scratch) } };
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, take_turns, &relay) == 0);
    HEARS(&a, "flood 300", "ok 300");
    relay.ended = true;
    pthread_join(thread, NULL);
    EXPECT(log_bytes(&scratch) < MOST);
    sqlite3_close(relay.readers[0]);
    sqlite3_close(relay.readers[1]);
    process_kill(&a);
    scratch_close(&scratch);
}
