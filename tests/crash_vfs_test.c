// The disk that forgets, by itself: before anything is concluded from it, it must do what it says.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash_vfs.h"
#include "test.h"

static char directory[64];

static const char *path(void)
{
    static char text[96];
    snprintf(text, sizeof text, "%s/plain.db", directory);
    return text;
}

static void begin(void)
{
    snprintf(directory, sizeof directory, "/tmp/pawl-crash-XXXXXX");
    EXPECT(mkdtemp(directory) != NULL);
    crash_vfs_install();
}

static void end(void)
{
    crash_vfs_remove();
    EXPECT(rmdir(directory) == 0);
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static sqlite3 *open_plain(const char *synchronous)
{
    sqlite3 *db = NULL;
    char pragma[64];
    EXPECT_INT(sqlite3_open(path(), &db), SQLITE_OK);
    snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", synchronous);
    EXPECT_INT(run(db, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=20"), SQLITE_OK);
    EXPECT_INT(run(db, pragma), SQLITE_OK);
    return db;
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK
        && sqlite3_step(row) == SQLITE_ROW)
        value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return value;
}

// Inserts until the power goes; answers how many commits were acknowledged.
static int64_t insert_until_dark(sqlite3 *db)
{
    int64_t acknowledged = 0;
    while (run(db, "INSERT INTO t (b) VALUES (randomblob(3000))") == SQLITE_OK)
        acknowledged++;
    return acknowledged;
}

struct toll {
    int64_t acknowledged, lost, damaged;
};

static struct toll lose_power(const char *synchronous, uint64_t rounds, bool syncs_lie)
{
    struct toll toll = {0};
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        begin();
        sqlite3 *db = open_plain(synchronous);
        EXPECT_INT(run(db, "CREATE TABLE t (i INTEGER PRIMARY KEY, b BLOB)"), SQLITE_OK);
        sqlite3_close(db);
        db = open_plain(synchronous);
        crash_vfs.syncs_lie = syncs_lie;
        crash_vfs.cut_at = crash_vfs.changes + 1 + (int64_t)(seed * 7 % 150);
        int64_t acknowledged = insert_until_dark(db);
        EXPECT(crash_vfs.dark);
        sqlite3_close(db);
        crash_vfs_power_on(seed);
        EXPECT_INT(sqlite3_open(path(), &db), SQLITE_OK);
        int64_t found = number(db, "SELECT count(*) FROM t");
        toll.acknowledged += acknowledged;
        toll.lost += found < acknowledged;
        toll.damaged += number(db, "SELECT count(*) FROM pragma_integrity_check"
                                   " WHERE integrity_check <> 'ok'")
                     != 0;
        sqlite3_close(db);
        end();
    }
    return toll;
}

TEST(OPS_9_a_disk_that_keeps_its_word_loses_nothing_that_was_acknowledged)
{
    struct toll toll = lose_power("FULL", 100, false);
    EXPECT(toll.acknowledged > 500);
    EXPECT_INT(toll.lost, 0);
    EXPECT_INT(toll.damaged, 0);
}

TEST(OPS_9_what_was_not_synced_is_lost_and_the_file_stays_whole)
{
    struct toll toll = lose_power("NORMAL", 100, false);
    EXPECT(toll.lost > 10);
    EXPECT_INT(toll.damaged, 0);
}

TEST(OPS_9_a_disk_that_lies_about_syncs_is_found_out)
{
    struct toll toll = lose_power("FULL", 100, true);
    EXPECT(toll.lost > 10);
    EXPECT(toll.damaged > 10);
}

TEST(OPS_9_connections_of_one_process_share_locks_and_log)
{
    begin();
    sqlite3 *writer = open_plain("FULL"), *reader = open_plain("FULL");
    EXPECT_INT(run(writer, "CREATE TABLE t (i INTEGER PRIMARY KEY, b BLOB)"), SQLITE_OK);
    EXPECT_INT(run(reader, "BEGIN; SELECT count(*) FROM t"), SQLITE_OK);
    EXPECT_INT(run(writer, "INSERT INTO t (b) VALUES (1)"), SQLITE_OK);
    EXPECT_INT(number(reader, "SELECT count(*) FROM t"), 0);
    EXPECT_INT(run(reader, "COMMIT"), SQLITE_OK);
    EXPECT_INT(number(reader, "SELECT count(*) FROM t"), 1);
    EXPECT_INT(run(writer, "BEGIN IMMEDIATE"), SQLITE_OK);
    EXPECT_INT(run(reader, "BEGIN IMMEDIATE"), SQLITE_BUSY);
    EXPECT_INT(run(writer, "COMMIT"), SQLITE_OK);
    sqlite3_close(reader);
    sqlite3_close(writer);
    end();
}

TEST(OPS_9_a_disk_is_full_at_its_size_and_an_operation_fails_once_or_for_ever)
{
    begin();
    sqlite3 *db = open_plain("FULL");
    EXPECT_INT(run(db, "CREATE TABLE t (i INTEGER PRIMARY KEY, b BLOB)"), SQLITE_OK);
    crash_vfs.bytes_max = disk_bytes_used() + 10000;
    EXPECT_INT(run(db, "INSERT INTO t (b) VALUES (zeroblob(100000))"), SQLITE_FULL);
    crash_vfs.bytes_max = 0;
    crash_vfs.fail_at = crash_vfs.operations + 1;
    EXPECT(run(db, "INSERT INTO t (b) VALUES (1)") != SQLITE_OK);
    EXPECT_INT(run(db, "INSERT INTO t (b) VALUES (1)"), SQLITE_OK);
    crash_vfs.fail_at = crash_vfs.operations + 1;
    crash_vfs.fails_on = true;
    EXPECT(run(db, "INSERT INTO t (b) VALUES (1)") != SQLITE_OK);
    EXPECT(run(db, "INSERT INTO t (b) VALUES (1)") != SQLITE_OK);
    EXPECT(crash_vfs.failed >= 2);
    crash_vfs.fail_at = 0;
    sqlite3_close(db);
    end();
}
