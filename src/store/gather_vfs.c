// A file of ours carries the real one and hands every call on; only the log has a buffer.
//
// - What is held back is written before anything else happens to its file that could miss it: a
//   sync, a read of the same bytes, a write elsewhere, a truncation, a question for its size.
// - Bytes that could not be written stay in the buffer, and the next call tries again before doing
//   anything else. So a full disk that has room again has lost nothing, and an error that SQLite
//   chose to ignore comes back at the sync.
// - Nothing is held back past the end of its transaction: whoever takes the write lock of the log
//   next writes to the same place, and what came later would destroy a commit. So the unlocking
//   writes what is left, and what cannot be written then is dropped: no commit has synced it.
// - Any other error stays: after a failed sync the system may have thrown the bytes away and call
//   the next sync a success. Every write and sync is refused until the file is opened again.
//
// The file of the store itself is not buffered. A checkpoint that a reader holds up half-way tells
// other connections to read the copied pages without a sync in between.
#include "store/gather_vfs.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

enum {
    WRITE_LOCK = 0,            // of the log, among the locks of xShmLock: part of its file format
    BUFFER_BYTES = 124 << 10,  // SQLite's own file system writes less than 128 KiB at a time
    PATH_BYTES_MAX = 512,      // as there
};

struct file {
    sqlite3_file base;
    sqlite3_file *real;
    char *buffer;       // NULL: not the log
    int held;           // so many bytes of the buffer ...
    sqlite3_int64 at;   // ... belong here
    int error;          // for good; 0: none
    struct file *log;   // of a store: its log, while that is open
    struct file *store; // of a log: its store
};

static sqlite3_vfs gather;

// Whatever the host program has made the default, looked up each time: it may change. When it takes
// its own away, ours can come first.
static sqlite3_vfs *below(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    return vfs == &gather ? vfs->pNext : vfs;
}

static struct file *of(sqlite3_file *file)
{
    return (struct file *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return of(file)->real;
}

static int remember(struct file *file, int result)
{
    if (result != SQLITE_OK && (result & 0xff) != SQLITE_FULL)
        file->error = result;
    return result;
}

static int flush(struct file *file)
{
    if (file->error)
        return file->error;
    if (file->held == 0)
        return SQLITE_OK;
    int result = remember(file, file->real->pMethods->xWrite(file->real, file->buffer, file->held,
                                                             file->at));
    if (result == SQLITE_OK)
        file->held = 0;
    return result;
}

static int xWrite(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
    struct file *file = of(base);
    bool follows = file->held > 0 && at == file->at + file->held;
    if (!follows || n > BUFFER_BYTES - file->held) {
        int result = flush(file);
        if (result != SQLITE_OK)
            return result;
    }
    if (file->error)
        return file->error;
    if (!file->buffer || n > BUFFER_BYTES)
        return remember(file, file->real->pMethods->xWrite(file->real, from, n, at));
    if (file->held == 0)
        file->at = at;
    memcpy(file->buffer + file->held, from, (size_t)n);
    file->held += n;
    return SQLITE_OK;
}

static int xSync(sqlite3_file *base, int flags)
{
    int result = flush(of(base));
    if (result != SQLITE_OK)
        return result;
    return remember(of(base), real_of(base)->pMethods->xSync(real_of(base), flags));
}

static int xRead(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    struct file *file = of(base);
    bool held = file->held > 0 && at < file->at + file->held && at + n > file->at;
    int result = held ? flush(file) : SQLITE_OK;
    return result == SQLITE_OK ? file->real->pMethods->xRead(file->real, to, n, at) : result;
}

static int xTruncate(sqlite3_file *base, sqlite3_int64 size)
{
    int result = flush(of(base));
    return result == SQLITE_OK ? real_of(base)->pMethods->xTruncate(real_of(base), size) : result;
}

static int xFileSize(sqlite3_file *base, sqlite3_int64 *size)
{
    int result = flush(of(base));
    return result == SQLITE_OK ? real_of(base)->pMethods->xFileSize(real_of(base), size) : result;
}

// The write lock of the log is given up: see above.
static void let_go(struct file *log)
{
    (void)flush(log);  // what it could not write belongs to no commit
    log->held = 0;
}

static int xShmLock(sqlite3_file *base, int offset, int n, int flags)
{
    struct file *file = of(base);
    bool unlocks = flags & SQLITE_SHM_UNLOCK && flags & SQLITE_SHM_EXCLUSIVE;
    if (file->log && unlocks && offset == WRITE_LOCK)
        let_go(file->log);
    return file->real->pMethods->xShmLock(file->real, offset, n, flags);
}

// What is still held back here belongs to no commit, and others may have written in its place.
static int xClose(sqlite3_file *base)
{
    struct file *file = of(base);
    if (file->store)
        file->store->log = NULL;
    int closed = file->real->pMethods->xClose(file->real);
    sqlite3_free(file->buffer);
    sqlite3_free(file->real);
    return closed;
}

#define HAND_ON(name, parameters, arguments)             \
    static int name parameters                           \
    {                                                    \
        return real_of(file)->pMethods->name arguments;  \
    }
HAND_ON(xLock, (sqlite3_file * file, int lock), (real_of(file), lock))
HAND_ON(xUnlock, (sqlite3_file * file, int lock), (real_of(file), lock))
HAND_ON(xCheckReservedLock, (sqlite3_file * file, int *out), (real_of(file), out))
HAND_ON(xFileControl, (sqlite3_file * file, int op, void *arg), (real_of(file), op, arg))
HAND_ON(xSectorSize, (sqlite3_file * file), (real_of(file)))
HAND_ON(xDeviceCharacteristics, (sqlite3_file * file), (real_of(file)))
HAND_ON(xShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **to),
        (real_of(file), page, size, extend, to))
HAND_ON(xShmUnmap, (sqlite3_file * file, int remove), (real_of(file), remove))

static void xShmBarrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,  // 3 would map the file into memory, past the buffer
    .xClose = xClose,
    .xRead = xRead,
    .xWrite = xWrite,
    .xTruncate = xTruncate,
    .xSync = xSync,
    .xFileSize = xFileSize,
    .xLock = xLock,
    .xUnlock = xUnlock,
    .xCheckReservedLock = xCheckReservedLock,
    .xFileControl = xFileControl,
    .xSectorSize = xSectorSize,
    .xDeviceCharacteristics = xDeviceCharacteristics,
    .xShmMap = xShmMap,
    .xShmLock = xShmLock,
    .xShmBarrier = xShmBarrier,
    .xShmUnmap = xShmUnmap,
};

static int give_up(struct file *file, int result)
{
    if (file->real && file->real->pMethods)
        file->real->pMethods->xClose(file->real);  // the reason is that it could not be opened
    sqlite3_free(file->real);
    sqlite3_free(file->buffer);
    *file = (struct file){0};
    return result;
}

// A log and the file of its store know each other.
static void join(struct file *log, const char *name)
{
    log->store = of(sqlite3_database_file_object(name));
    log->store->log = log;
}

static int xOpen(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out)
{
    (void)vfs;
    struct file *file = of(base);
    sqlite3_vfs *real_vfs = below();
    bool log = flags & SQLITE_OPEN_WAL;
    *file = (struct file){ .real = sqlite3_malloc(real_vfs->szOsFile),
                           .buffer = log ? sqlite3_malloc(BUFFER_BYTES) : NULL };
    if (!file->real || (log && !file->buffer)) {
        sqlite3_free(file->real);
        file->real = NULL;
        return give_up(file, SQLITE_NOMEM);
    }
    memset(file->real, 0, (size_t)real_vfs->szOsFile);
    int result = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
    if (result != SQLITE_OK)
        return give_up(file, result);
    file->base.pMethods = &methods;
    if (log)
        join(file, name);
    return SQLITE_OK;
}

#define ASK_BELOW(name, parameters, arguments)  \
    static int name parameters                  \
    {                                           \
        (void)vfs;                              \
        return below()->name arguments;         \
    }
ASK_BELOW(xDelete, (sqlite3_vfs * vfs, const char *name, int sync), (below(), name, sync))
ASK_BELOW(xAccess, (sqlite3_vfs * vfs, const char *name, int flags, int *out),
          (below(), name, flags, out))
ASK_BELOW(xFullPathname, (sqlite3_vfs * vfs, const char *name, int n, char *out),
          (below(), name, n, out))
ASK_BELOW(xRandomness, (sqlite3_vfs * vfs, int n, char *out), (below(), n, out))
ASK_BELOW(xSleep, (sqlite3_vfs * vfs, int microseconds), (below(), microseconds))
ASK_BELOW(xCurrentTime, (sqlite3_vfs * vfs, double *out), (below(), out))
ASK_BELOW(xGetLastError, (sqlite3_vfs * vfs, int n, char *out), (below(), n, out))

// Without the calls for loading extensions: a store needs none.
static sqlite3_vfs gather = {
    .iVersion = 1,
    .szOsFile = sizeof(struct file),
    .mxPathname = PATH_BYTES_MAX,
    .zName = "pawl-gather",
    .xOpen = xOpen,
    .xDelete = xDelete,
    .xAccess = xAccess,
    .xFullPathname = xFullPathname,
    .xRandomness = xRandomness,
    .xSleep = xSleep,
    .xCurrentTime = xCurrentTime,
    .xGetLastError = xGetLastError,
};

const char *gather_vfs(void)
{
    sqlite3_vfs_register(&gather, 0);  // again and again is fine; it fails only without memory
    return gather.zName;
}
