// The log is written in large pieces: what that must not change.
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faulty_vfs.h"
#include "process.h"
#include "store/sqlite.h"

// Stores opened from now on write through a disk that can be told to fail.
static void use_faulty_disk(struct box *box)
{
    faulty_vfs_install();
    box_reopen(box);
}

static void use_real_disk(struct box *box)
{
    faulty_vfs_remove();
    box_reopen(box);
}

static struct str payload_of(size_t bytes)
{
    char *text = arena_raw(test_arena(), bytes + 1);
    memset(text, 'x', bytes);
    memcpy(text, "{\"x\":\"", 6);
    memcpy(text + bytes - 2, "\"}", 3);
    return (struct str){ text, bytes };
}

static void add(struct box *box, struct tx *tx, int jobs, size_t bytes)
{
    struct contract contract = contract_for(box, "report");
    struct pawl_error err = {0};
    struct job job;
    bool known;
    contract.payload = payload_of(bytes);
    for (int i = 0; i < jobs; i++)
        MUST(job_enqueue(tx, &contract, &job, &known, &err));
}

// In one transaction.
static bool store(struct box *box, struct db *db, int jobs, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    EXPECT(tx_begin(db, TX_WRITE, test_arena(), &tx, err));
    add(box, &tx, jobs, 300);
    return tx_commit(&tx, err);
}

static int64_t stored(struct box *box)
{
    return box_number(box, "SELECT count(*) FROM jobs");
}

TEST_EACH_DB(OPS_9_a_commit_is_written_in_few_pieces)
{
    struct pawl_error err = {0};
    use_faulty_disk(box);
    faulty_vfs.writes = 0;
    MUST(store(box, box->db, 300, &err));
    EXPECT(faulty_vfs.writes >= 1 && faulty_vfs.writes <= 12);  // of 60 pages and more
    EXPECT_INT(stored(box), 300);  // and it is all there for others
    use_real_disk(box);
}

TEST_EACH_DB(OPS_9_a_piece_that_cannot_be_written_leaves_nothing_of_its_transaction)
{
    NEEDS_EVERY_ANSWER("it looks under the connection it has");
    enum { JOBS = 200, PIECES = 6 };
    int refused = 0;
    use_faulty_disk(box);
    for (int n = 1; n <= PIECES; n++) {
        struct pawl_error err = {0};
        int64_t before = stored(box);
        faulty_vfs.fail_write = n;
        bool done = store(box, box->db, JOBS, &err);
        faulty_vfs.fail_write = 0;
        refused += !done;
        box_reopen(box);
        EXPECT_INT(stored(box), done ? before + JOBS : before);
        MUST(store(box, box->db, 1, &err));
        EXPECT_INT(stored(box), (done ? before + JOBS : before) + 1);
    }
    EXPECT(refused >= 2 && refused < PIECES);
    use_real_disk(box);
}

TEST_EACH_DB(OPS_9_after_a_full_disk_the_same_connection_goes_on)
{
    struct pawl_error err = {0};
    use_faulty_disk(box);
    for (int i = 0; i < 3; i++) {
        faulty_vfs.full = true;
        EXPECT_REFUSED(PAWL_DISK_FULL, store(box, box->db, 200, &err));
        faulty_vfs.full = false;
        EXPECT_INT(stored(box), i);
        MUST(store(box, box->db, 1, &err));
    }
    EXPECT_INT(stored(box), 3);
    use_real_disk(box);
}

// More than the cache holds goes to the log before the commit. Taken back it is of no use, and
// written later it would be in the place of what others have stored meanwhile: they store enough to
// come to where the first piece ended and the next was gathered.
TEST_EACH_DB(OPS_9_what_was_taken_back_is_never_written_over_what_others_stored)
{
    NEEDS_EVERY_ANSWER("it looks under the connection it has");
    enum { LARGE = 20 * 1000, OTHERS = 800 };
    struct pawl_error err = {0};
    use_faulty_disk(box);
    struct db *other = box_second(box, false);
    struct tx tx = {0};
    box_begin(box, &tx);
    for (faulty_vfs.writes = 0; faulty_vfs.writes == 0;)
        add(box, &tx, 1, LARGE);
    tx_end(&tx);
    MUST(store(box, other, OTHERS, &err));
    MUST(store(box, box->db, 1, &err));
    EXPECT_INT(stored(box), OTHERS + 1);
    db_close(other);
    use_real_disk(box);
}

// ----- the file itself

static int64_t bytes_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_size : -1;
}

static int truncate_log(sqlite3_file *log)
{
    return log->pMethods->xTruncate(log, 1 << 20);  // which it is not longer than
}

static int ask_size(sqlite3_file *log)
{
    sqlite3_int64 size = 0;
    return log->pMethods->xFileSize(log, &size);
}

static int lock_log(sqlite3_file *log)
{
    return log->pMethods->xLock(log, SQLITE_LOCK_SHARED);
}

static int unlock_log(sqlite3_file *log)
{
    return log->pMethods->xUnlock(log, SQLITE_LOCK_NONE);
}

static int ask_lock(sqlite3_file *log)
{
    int locked = 0;
    return log->pMethods->xCheckReservedLock(log, &locked);
}

static int ask_control(sqlite3_file *log)
{
    int number = 0;
    return log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
}

static int ask_sector(sqlite3_file *log)
{
    return log->pMethods->xSectorSize(log) > 0 ? SQLITE_OK : SQLITE_ERROR;
}

static int ask_traits(sqlite3_file *log)
{
    return log->pMethods->xDeviceCharacteristics(log) >= 0 ? SQLITE_OK : SQLITE_ERROR;
}

static int read_back(sqlite3_file *log)
{
    char byte;
    return log->pMethods->xRead(log, &byte, 1, 0);
}

static int sync_log(sqlite3_file *log)
{
    return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
}

// What nobody could be told of is told by the next who can be.
TEST(OPS_9_a_piece_that_could_not_be_written_is_told_by_what_is_asked_next)
{
    static int (*const asks[])(sqlite3_file * log) = { read_back, sync_log };
    static const char bytes[100];
    struct scratch scratch = scratch_open();
    faulty_vfs_install();
    EXPECT(sqlite3_initialize() == SQLITE_OK);
    sqlite3_vfs *vfs = sqlite3_vfs_find(sqlite_gather());
    int flags = SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    FILE *store = fopen(scratch_file(&scratch, "log"), "w");
    EXPECT(store && fclose(store) == 0);
    for (size_t i = 0; i <= countof(asks); i++) {
        sqlite3_file *log = arena_alloc(test_arena(), (size_t)vfs->szOsFile);
        EXPECT_INT(vfs->xOpen(vfs, scratch_file(&scratch, "log-wal"), log, flags, NULL), SQLITE_OK);
        EXPECT_INT(log->pMethods->xWrite(log, bytes, sizeof bytes, 0), SQLITE_OK);
        faulty_vfs.fail_write = 1;
        EXPECT_INT(ask_size(log), SQLITE_OK);
        EXPECT_INT(faulty_vfs.fail_write, 0);
        int told = i < countof(asks) ? asks[i](log)
                                     : log->pMethods->xWrite(log, bytes, sizeof bytes, 100);
        EXPECT_INT(told & 0xff, SQLITE_IOERR);
        EXPECT_INT(log->pMethods->xClose(log), SQLITE_OK);
    }
    faulty_vfs_remove();
    scratch_close(&scratch);
}

// A program may have another file system of the same name later, with larger files.
TEST(OPS_9_the_file_system_under_the_log_is_the_one_that_is_there_now)
{
    EXPECT(sqlite3_initialize() == SQLITE_OK);
    static sqlite3_vfs first, second;
    sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    first = *usual;
    first.zName = "twice";
    second = first;
    sqlite3_vfs_register(&first, 1);
    const char *over_first = sqlite_gather();
    EXPECT(sqlite_gather() == over_first);
    sqlite3_vfs_unregister(&first);
    sqlite3_vfs_register(&second, 1);
    const char *over_second = sqlite_gather();
    EXPECT(over_second != over_first);
    second.szOsFile += 64;
    EXPECT(sqlite_gather() != over_second);
    sqlite3_vfs_unregister(&second);
    sqlite3_vfs_register(usual, 1);
}

// SQLite does not ask all of it of a log today.
TEST(OPS_9_whatever_is_asked_of_the_log_finds_what_was_written_to_it)
{
    static int (*const asks[])(sqlite3_file *log) = {
        truncate_log, ask_size,    lock_log,   unlock_log, ask_lock,
        ask_control,  ask_sector,  ask_traits, read_back,  sync_log,
    };
    enum { PIECE = 100, LARGE = 127 << 10 };
    static char bytes[LARGE];
    struct scratch scratch = scratch_open();
    const char *path = scratch_file(&scratch, "log-wal");
    sqlite3_vfs *vfs = sqlite3_vfs_find(sqlite_gather());
    int flags = SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    sqlite3_file *log = arena_alloc(test_arena(), (size_t)vfs->szOsFile);
    FILE *store = fopen(scratch_file(&scratch, "log"), "w");  // whose log it is
    EXPECT(store && fclose(store) == 0);
    EXPECT(sqlite3_initialize() == SQLITE_OK);
    EXPECT_INT(vfs->xOpen(vfs, path, log, flags, NULL), SQLITE_OK);
    int64_t written = 0;
    for (size_t i = 0; i < countof(asks); i++, written += PIECE) {
        EXPECT_INT(log->pMethods->xWrite(log, bytes, PIECE, written), SQLITE_OK);
        EXPECT_INT(bytes_of(path), written);  // not yet
        EXPECT_INT(asks[i](log), SQLITE_OK);
        EXPECT_INT(bytes_of(path), i == 0 ? 1 << 20 : written + PIECE);
        EXPECT(i > 0 || truncate(path, PIECE) == 0);
    }
    EXPECT_INT(log->pMethods->xWrite(log, bytes, PIECE, written), SQLITE_OK);
    written += PIECE;
    // Too large to be gathered.
    EXPECT_INT(log->pMethods->xWrite(log, bytes, LARGE, written), SQLITE_OK);
    EXPECT_INT(bytes_of(path), written + LARGE);
    EXPECT_INT(log->pMethods->xClose(log), SQLITE_OK);
    scratch_close(&scratch);
}
