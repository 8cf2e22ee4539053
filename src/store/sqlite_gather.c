// A file system for SQLite that gathers what is written to the log.
//
// SQLite writes each page of its log in two pieces, and a commit of a thousand jobs has hundreds of
// them. Here pieces that follow one another are put together and written at once: when the log is
// synced, which is before anybody is told that they are in it, or when somebody else must see them.
// Nothing is reordered. Every other file is the default file system's own.
//
// A write that failed is told by the next write or sync, because those SQLite believes: it then
// gives the transaction up, and what was gathered with it. A transaction that is over leaves
// nothing behind: a moment later another process may have written to the same place.
//
// After a sync that failed Linux takes what was to be synced for clean: it can be read, but another
// sync does not bring it to the disk. Were such pages found by a recovery and copied back, a power
// loss in the middle would leave a file that no log repairs. So the log is made to end before them.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite.h"

enum {
    FRAME_HEADER_BYTES = 24,
    GATHERED_MAX = 30 * (4096 + FRAME_HEADER_BYTES),  // SQLite writes over 128 KiB in pieces
};

#define NOWHERE INT64_MAX

struct gather_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
};

struct log_file {
    sqlite3_file base;
    sqlite3_file *real;  // in the memory behind this struct
    bool relaxed;        // see sqlite_gather_relax
    int failed;          // how a write failed that nobody was told about; SQLITE_OK: none
    int gathered;        // so many bytes ...
    sqlite3_int64 at;    // ... to be written from here on
    char *bytes;
    sqlite3_int64 unsynced;  // the first byte that this transaction wrote; NOWHERE: none
    sqlite3_int64 skipped;   // the first that may never have been synced; NOWHERE: none
};

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)(void *)file;
}

static int write_now(struct log_file *log, const void *from, int n, sqlite3_int64 at)
{
    if (at < log->unsynced)
        log->unsynced = at;
    return log->real->pMethods->xWrite(log->real, from, n, at);
}

static void write_gathered(struct log_file *log)
{
    assert(log->gathered == 0 || log->failed == SQLITE_OK);
    if (log->gathered > 0)
        log->failed = write_now(log, log->bytes, log->gathered, log->at);
    log->gathered = 0;
}

// The same, for those who may tell.
static int write_and_tell(struct log_file *log)
{
    write_gathered(log);
    int result = log->failed;
    log->failed = SQLITE_OK;
    return result;
}

static int write_log(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct log_file *log = log_of(file);
    bool follows = log->failed == SQLITE_OK && at == log->at + log->gathered
                && n <= GATHERED_MAX - log->gathered;
    if (!follows) {
        int result = write_and_tell(log);
        if (result != SQLITE_OK)
            return result;
        log->at = at;
    }
    if (n > GATHERED_MAX)
        return write_now(log, from, n, at);
    memcpy(log->bytes + log->gathered, from, (size_t)n);
    log->gathered += n;
    return SQLITE_OK;
}

// Commits whose sync was left out are taken for clean too. Written again, the next sync brings them
// to the disk. Whoever has just opened the log does not know of any that it was synced: a process
// that was killed may have left one behind. What is known to be there is not touched.
static void write_skipped_again(struct log_file *log, sqlite3_int64 end)
{
    const sqlite3_io_methods *real = log->real->pMethods;
    for (sqlite3_int64 at = log->skipped, n; at < end; at += n) {
        n = end - at < GATHERED_MAX ? end - at : GATHERED_MAX;
        if (real->xRead(log->real, log->bytes, (int)n, at) != SQLITE_OK
            || real->xWrite(log->real, log->bytes, (int)n, at) != SQLITE_OK)
            return;
    }
}

// The log ends where no frame begins.
static void end_before_unsynced(struct log_file *log)
{
    static const char nothing[FRAME_HEADER_BYTES];
    sqlite3_int64 end = log->unsynced;
    if (end == NOWHERE && log->real->pMethods->xFileSize(log->real, &end) != SQLITE_OK)
        return;
    write_skipped_again(log, end);
    if (log->unsynced != NOWHERE)
        (void)write_now(log, nothing, sizeof nothing, log->unsynced);
}

// A log that starts over must have its new header on the disk before anything follows it: else
// what is left there of the old one could pass for its continuation.
static int sync_log(sqlite3_file *file, int flags)
{
    struct log_file *log = log_of(file);
    bool needed = !log->relaxed || log->at == 0;
    int result = write_and_tell(log);
    if (result != SQLITE_OK)
        return result;
    if (needed)
        result = log->real->pMethods->xSync(log->real, flags);
    if (result != SQLITE_OK)
        end_before_unsynced(log);
    else if (needed)
        log->skipped = NOWHERE;
    else if (log->unsynced < log->skipped)
        log->skipped = log->unsynced;
    log->unsynced = NOWHERE;
    return result;
}

// Behind a write that failed there is an older page.
static int read_log(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    struct log_file *log = log_of(file);
    write_gathered(log);
    return log->failed ? log->failed : log->real->pMethods->xRead(log->real, to, n, at);
}

// What was not synced is of no transaction that counts.
static int close_log(sqlite3_file *file)
{
    free(log_of(file)->bytes);
    return log_of(file)->real->pMethods->xClose(log_of(file)->real);
}

// Everything else sees the file as SQLite left it.
#define PASS_ON(name, parameters, arguments)        \
    static int name parameters                      \
    {                                               \
        struct log_file *log = log_of(file);        \
        write_gathered(log);                        \
        return log->real->pMethods->name arguments; \
    }
PASS_ON(xTruncate, (sqlite3_file * file, sqlite3_int64 size), (log->real, size))
PASS_ON(xFileSize, (sqlite3_file * file, sqlite3_int64 *size), (log->real, size))
PASS_ON(xLock, (sqlite3_file * file, int lock), (log->real, lock))
PASS_ON(xUnlock, (sqlite3_file * file, int lock), (log->real, lock))
PASS_ON(xCheckReservedLock, (sqlite3_file * file, int *out), (log->real, out))
PASS_ON(xFileControl, (sqlite3_file * file, int op, void *arg), (log->real, op, arg))
PASS_ON(xSectorSize, (sqlite3_file * file), (log->real))
PASS_ON(xDeviceCharacteristics, (sqlite3_file * file), (log->real))

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = close_log,
    .xRead = read_log,
    .xWrite = write_log,
    .xTruncate = xTruncate,
    .xSync = sync_log,
    .xFileSize = xFileSize,
    .xLock = xLock,
    .xUnlock = xUnlock,
    .xCheckReservedLock = xCheckReservedLock,
    .xFileControl = xFileControl,
    .xSectorSize = xSectorSize,
    .xDeviceCharacteristics = xDeviceCharacteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    sqlite3_vfs *real = ((struct gather_vfs *)(void *)vfs)->real;
    if (!(flags & SQLITE_OPEN_WAL))
        return real->xOpen(real, name, file, flags, out);
    struct log_file *log = log_of(file);
    *log = (struct log_file){ .real = (sqlite3_file *)(void *)(log + 1),
                              .bytes = malloc(GATHERED_MAX),
                              .unsynced = NOWHERE,
                              .skipped = NOWHERE };
    int result = log->bytes ? real->xOpen(real, name, log->real, flags, out) : SQLITE_NOMEM;
    if (result == SQLITE_OK)
        log->base.pMethods = &log_methods;
    else
        free(log->bytes);
    return result;
}

// It stays for the life of the process: a connection may outlive whoever opened it.
const char *sqlite_gather(void)
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    char name[64];
    if (!real)  // defensive: a SQLite without any file system
        return NULL;
    sqlite3_snprintf(sizeof name, name, "pawl-over-%s", real->zName);
    struct gather_vfs *vfs = (struct gather_vfs *)(void *)sqlite3_vfs_find(name);
    int file_bytes = real->szOsFile + (int)sizeof(struct log_file);
    if (vfs && vfs->real == real && vfs->base.szOsFile == file_bytes)
        return vfs->base.zName;
    vfs = malloc(sizeof *vfs + sizeof name);
    if (!vfs)
        return NULL;
    *vfs = (struct gather_vfs){ *real, real };
    vfs->base.pNext = NULL;
    vfs->base.zName = memcpy(vfs + 1, name, sizeof name);
    vfs->base.szOsFile = file_bytes;
    vfs->base.xOpen = open_file;
    sqlite3_vfs_register(&vfs->base, 0);
    return vfs->base.zName;
}

static struct log_file *log_under(sqlite3 *connection)
{
    sqlite3_file *file = NULL;
    sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    // defensive: SQLite has a place for the file of its log from the opening on, NULL it is never
    return file && file->pMethods == &log_methods ? log_of(file) : NULL;
}

void sqlite_gather_relax(sqlite3 *connection, bool relaxed)
{
    struct log_file *log = log_under(connection);
    if (log)
        log->relaxed = relaxed;
}

void sqlite_gather_done(sqlite3 *connection)
{
    const struct log_file *log = log_under(connection);
    assert(!log || (log->gathered == 0 && log->failed == SQLITE_OK));
}

void sqlite_gather_drop(sqlite3 *connection)
{
    struct log_file *log = log_under(connection);
    if (!log)
        return;
    log->gathered = log->failed = 0;
    log->unsynced = NOWHERE;
}
