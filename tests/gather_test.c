// OPS-9: writes to the log are gathered, and nothing that was answered can be lost by that.
#include "fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "faulty_vfs.h"
#include "store/gather_vfs.h"

// ----- one file

// The log of a store of its own, opened through the layer, with the faulty disk under it.
struct log {
    sqlite3 *connection;
    sqlite3_file *file;
    char path[128];
};

static sqlite3 *connect(const char *path)
{
    sqlite3 *connection = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    EXPECT_INT(sqlite3_open_v2(path, &connection, flags, gather_vfs()), SQLITE_OK);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return connection;
}

static void run(sqlite3 *connection, const char *sql)
{
    EXPECT_INT(sqlite3_exec(connection, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void log_open(struct box *box, struct log *log)
{
    faulty_vfs_install();
    int n = snprintf(log->path, sizeof log->path, "%s-aside", box->url.s + S("sqlite:").n);
    log->connection = connect(log->path);
    snprintf(log->path + n, sizeof log->path - (size_t)n, "-wal");
    run(log->connection, "PRAGMA journal_mode=WAL; SELECT count(*) FROM sqlite_schema");
    sqlite3_file_control(log->connection, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log->file);
    faulty_vfs.writes = 0;
}

static int log_write(struct log *log, const char *text, sqlite3_int64 at)
{
    return log->file->pMethods->xWrite(log->file, text, (int)strlen(text), at);
}

static int log_sync(struct log *log)
{
    return log->file->pMethods->xSync(log->file, SQLITE_SYNC_NORMAL);
}

static void log_close(struct log *log)
{
    EXPECT_INT(sqlite3_close(log->connection), SQLITE_OK);
    faulty_vfs_remove();
}

static void expect_read(struct log *log, const char *text, sqlite3_int64 at)
{
    char found[64] = "";
    EXPECT_INT(log->file->pMethods->xRead(log->file, found, (int)strlen(text), at), SQLITE_OK);
    EXPECT(strcmp(found, text) == 0);
}

// What is in the file, past the layer.
static struct str on_disk(const struct log *log)
{
    char found[64] = "";
    FILE *file = fopen(log->path, "r");
    EXPECT(file != NULL);
    size_t n = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return str_dup(test_arena(), (struct str){ found, n });
}

TEST_EACH_DB(OPS_9_adjacent_writes_are_one_and_on_disk_after_the_sync)
{
    struct log log;
    log_open(box, &log);
    EXPECT_INT(log_write(&log, "head", 0), SQLITE_OK);
    EXPECT_INT(log_write(&log, "page", 4), SQLITE_OK);
    EXPECT_INT(faulty_vfs.writes, 0);
    EXPECT_INT(log_sync(&log), SQLITE_OK);
    EXPECT_INT(faulty_vfs.writes, 1);
    EXPECT_STR(on_disk(&log), "headpage");
    log_close(&log);
}

TEST_EACH_DB(OPS_9_what_is_held_back_is_seen_by_whoever_asks)
{
    struct log log;
    sqlite3_int64 size = 0;
    log_open(box, &log);
    EXPECT_INT(log_write(&log, "abcd", 0), SQLITE_OK);
    expect_read(&log, "bc", 1);
    EXPECT_INT(log_write(&log, "XY", 1), SQLITE_OK);  // over what was there
    expect_read(&log, "aXYd", 0);
    EXPECT_INT(log_write(&log, "efgh", 4), SQLITE_OK);
    EXPECT_INT(log.file->pMethods->xFileSize(log.file, &size), SQLITE_OK);
    EXPECT_INT(size, 8);
    EXPECT_INT(log_write(&log, "ijkl", 8), SQLITE_OK);
    EXPECT_INT(log.file->pMethods->xTruncate(log.file, 6), SQLITE_OK);
    EXPECT_STR(on_disk(&log), "aXYdef");
    EXPECT_INT(log_write(&log, "last", 6), SQLITE_OK);
    log_close(&log);
    EXPECT_STR(on_disk(&log), "aXYdef");  // what no commit has synced is dropped
}

TEST_EACH_DB(OPS_9_more_than_a_buffer_goes_through_whole)
{
    struct log log;
    char page[4096], found[4096];
    log_open(box, &log);
    for (int i = 0; i < 100; i++) {
        memset(page, 'a' + i % 26, sizeof page);
        EXPECT_INT(log.file->pMethods->xWrite(log.file, page, sizeof page, i * 4096), SQLITE_OK);
    }
    EXPECT_INT(log_sync(&log), SQLITE_OK);
    EXPECT_INT(faulty_vfs.writes, 4);
    for (int i = 0; i < 100; i++) {
        memset(page, 'a' + i % 26, sizeof page);
        EXPECT_INT(log.file->pMethods->xRead(log.file, found, sizeof found, i * 4096), SQLITE_OK);
        EXPECT(memcmp(page, found, sizeof page) == 0);
    }
    log_close(&log);
}

TEST_EACH_DB(OPS_9_a_full_disk_keeps_what_was_held_back_until_there_is_room)
{
    struct log log;
    log_open(box, &log);
    EXPECT_INT(log_write(&log, "head", 0), SQLITE_OK);
    faulty_vfs.full = true;
    EXPECT_INT(log_write(&log, "elsewhere", 100), SQLITE_FULL);
    EXPECT_INT(log_sync(&log), SQLITE_FULL);
    EXPECT_INT(log_sync(&log), SQLITE_FULL);
    faulty_vfs.full = false;
    EXPECT_INT(log_sync(&log), SQLITE_OK);
    EXPECT_STR(on_disk(&log), "head");
    log_close(&log);
}

TEST_EACH_DB(OPS_9_a_failed_write_fails_every_sync_until_the_file_is_opened_again)
{
    struct log log;
    log_open(box, &log);
    EXPECT_INT(log_write(&log, "head", 0), SQLITE_OK);
    faulty_vfs.fail_write = 1;
    sqlite3_int64 size = 0;
    EXPECT_INT(log.file->pMethods->xFileSize(log.file, &size), SQLITE_IOERR_WRITE);
    EXPECT_INT(log_sync(&log), SQLITE_IOERR_WRITE);  // though the disk would take it now
    EXPECT_INT(log_write(&log, "page", 4), SQLITE_IOERR_WRITE);
    log_close(&log);
    log_open(box, &log);
    EXPECT_INT(log_write(&log, "head", 0), SQLITE_OK);
    EXPECT_INT(log_sync(&log), SQLITE_OK);
    log_close(&log);
}

TEST_EACH_DB(OPS_9_a_failed_sync_fails_every_later_one)
{
    struct log log;
    log_open(box, &log);
    EXPECT_INT(log_write(&log, "head", 0), SQLITE_OK);
    faulty_vfs.fail_syncs = 1;
    EXPECT_INT(log_sync(&log), SQLITE_IOERR_FSYNC);
    EXPECT_INT(log_sync(&log), SQLITE_IOERR_FSYNC);
    EXPECT_INT(log_write(&log, "page", 4), SQLITE_IOERR_FSYNC);
    log_close(&log);
}

// ----- a store

enum { JOBS = 40 };

static bool enqueue_many(struct box *box, struct pawl_error *err)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(box->db, TX_WRITE, test_arena(), &tx, err))
        return false;
    tx.caller = &box->caller;
    for (int i = 0; i < JOBS; i++)
        if (!job_enqueue(&tx, &contract, &job, &known, err))
            return false;
    return tx_commit(&tx, err);
}

TEST_EACH_DB(OPS_9_a_commit_of_many_pages_is_few_writes)
{
    struct pawl_error err = {0};
    faulty_vfs_install();
    box_reopen(box);
    must_enqueue(box, "report");
    int64_t before = db_wal_bytes(box->db);
    faulty_vfs.writes = 0;
    MUST(enqueue_many(box, &err));
    EXPECT(db_wal_bytes(box->db) - before > 8 * 4096);
    EXPECT(faulty_vfs.writes <= 2);
    faulty_vfs_remove();
    box_reopen(box);
}

// Whichever write fails: the commit is not answered as done, the connection refuses to go on, and
// after opening again all of it is there or nothing, and everything answered before.
TEST_EACH_DB(OPS_9_no_failed_write_loses_what_was_answered)
{
    faulty_vfs_install();
    int64_t stored = 0;
    for (int n = 1; n <= 6; n++) {
        struct pawl_error err = {0};
        box_reopen(box);
        MUST(enqueue_many(box, &err));
        stored += JOBS;
        faulty_vfs.fail_write = n;
        bool done = enqueue_many(box, &err);
        EXPECT(!done || faulty_vfs.fail_write > 0);
        if (!done)
            EXPECT(!enqueue_many(box, &err));  // not before it was opened again
        faulty_vfs.fail_write = 0;
        box_reopen(box);
        int64_t found = box_number(box, "SELECT count(*) FROM jobs");
        EXPECT(found == stored + JOBS || (!done && found == stored));
        stored = found;
    }
    faulty_vfs_remove();
    box_reopen(box);
}

// ----- two connections

static int64_t ask(sqlite3 *connection, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    EXPECT_INT(sqlite3_prepare_v2(connection, sql, -1, &statement, NULL), SQLITE_OK);
    EXPECT_INT(sqlite3_step(statement), SQLITE_ROW);
    int64_t answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

// A transaction too large for the cache goes to the log before its end. What is held back of one
// that was rolled back must not come to the log later, where another has written its commit.
TEST_EACH_DB(OPS_9_what_was_rolled_back_never_overwrites_the_commit_of_another)
{
    const char *path = str_cstr(test_arena(), str_format(test_arena(), "%s-two",
                                                         box->url.s + S("sqlite:").n));
    sqlite3 *first = connect(path), *second = connect(path);
    run(first, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=10;"
               "CREATE TABLE t (n INTEGER PRIMARY KEY, b BLOB)");
    run(second, "PRAGMA synchronous=FULL");
    run(first, "BEGIN IMMEDIATE; WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
               " WHERE n < 30) INSERT INTO t SELECT n, randomblob(3000) FROM c; ROLLBACK");
    run(second, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
                " WHERE n < 20) INSERT INTO t SELECT n, randomblob(3000) FROM c");
    EXPECT_INT(ask(first, "SELECT count(*) FROM t WHERE length(b) = 3000"), 20);
    sqlite3_close(first);
    sqlite3_close(second);
    second = connect(path);
    EXPECT_INT(ask(second, "SELECT count(*) FROM t WHERE length(b) = 3000"), 20);
    EXPECT_INT(ask(second, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    sqlite3_close(second);
}
