// A shim: each file carries the real one behind it and hands every call on.
#include "faulty_vfs.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

struct faulty_vfs faulty_vfs;

struct file {
    sqlite3_file base;
    sqlite3_file *real;  // in the memory behind this struct
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs shim;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct file *)file)->real;
}

#define PASS_ON(name, parameters, arguments)                     \
    static int name parameters                                   \
    {                                                            \
        return real_of(file)->pMethods->name arguments;          \
    }
PASS_ON(xClose, (sqlite3_file * file), (real_of(file)))
PASS_ON(xRead, (sqlite3_file * file, void *to, int n, sqlite3_int64 at), (real_of(file), to, n, at))
PASS_ON(xTruncate, (sqlite3_file * file, sqlite3_int64 size), (real_of(file), size))
PASS_ON(xFileSize, (sqlite3_file * file, sqlite3_int64 *size), (real_of(file), size))
PASS_ON(xLock, (sqlite3_file * file, int lock), (real_of(file), lock))
PASS_ON(xUnlock, (sqlite3_file * file, int lock), (real_of(file), lock))
PASS_ON(xCheckReservedLock, (sqlite3_file * file, int *out), (real_of(file), out))
PASS_ON(xFileControl, (sqlite3_file * file, int op, void *arg), (real_of(file), op, arg))
PASS_ON(xSectorSize, (sqlite3_file * file), (real_of(file)))
PASS_ON(xDeviceCharacteristics, (sqlite3_file * file), (real_of(file)))
PASS_ON(xShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **to),
        (real_of(file), page, size, extend, to))
PASS_ON(xShmLock, (sqlite3_file * file, int offset, int n, int flags),
        (real_of(file), offset, n, flags))
PASS_ON(xShmUnmap, (sqlite3_file * file, int remove), (real_of(file), remove))

static void xShmBarrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int xWrite(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    faulty_vfs.writes++;
    if (faulty_vfs.full)
        return SQLITE_FULL;
    if (faulty_vfs.fail_write > 0 && --faulty_vfs.fail_write == 0)
        return SQLITE_IOERR_WRITE;
    return real_of(file)->pMethods->xWrite(real_of(file), from, n, at);
}

static int xSync(sqlite3_file *file, int flags)
{
    faulty_vfs.syncs++;
    int result = real_of(file)->pMethods->xSync(real_of(file), flags);
    if (faulty_vfs.fail_syncs == 0)
        return result;
    faulty_vfs.fail_syncs--;
    return SQLITE_IOERR_FSYNC;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
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

static int xOpen(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    if (faulty_vfs.fail_opens) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    struct file *mine = (struct file *)file;
    mine->real = (sqlite3_file *)(void *)(mine + 1);
    memset(mine->real, 0, (size_t)real_vfs->szOsFile);
    int result = real_vfs->xOpen(real_vfs, name, mine->real, flags, out);
    mine->base.pMethods = mine->real->pMethods ? &methods : NULL;
    return result;
}

void faulty_vfs_install(void)
{
    real_vfs = sqlite3_vfs_find("unix");
    shim = *real_vfs;
    shim.zName = "faulty";
    shim.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    shim.xOpen = xOpen;
    faulty_vfs = (struct faulty_vfs){0};
    sqlite3_vfs_register(&shim, 1);
}

void faulty_vfs_remove(void)
{
    sqlite3_vfs_unregister(&shim);
}
