// Every operation asks first what becomes of it (`judge`), then does to the disk what it says.
// One mutex around each: connections of several threads may share the disk.
//
// Locks are counted per file, shared memory is memory. Both go with the last handle of the file,
// and with the power.
#include "disk_vfs.h"

#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct disk_vfs disk_vfs;

enum { SHM_REGIONS_MAX = 64 };

struct handle;

// What the handles of one file share.
struct locks {
    int readers;  // handles with SHARED or more
    const struct handle *reserved, *pending;  // who has these; EXCLUSIVE is pending and alone
    int shm_users;
    void *regions[SHM_REGIONS_MAX], *kept[SHM_REGIONS_MAX];
    size_t region_bytes;
    int shm[SQLITE_SHM_NLOCK];  // so many share it; -1: one has it alone
};

struct handle {
    sqlite3_file base;
    struct disk_file *file;
    int owner;
    int level;  // SQLITE_LOCK_…
    bool temporary;
    bool names_directory;  // its first sync is one of the directory too, as for logs on Unix
    bool maps;
    unsigned shm_shared, shm_alone;  // bit by bit
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static unsigned temporaries;

static struct handle *handle_of(sqlite3_file *file)
{
    return (struct handle *)(void *)file;
}

static struct locks *locks_of(const struct handle *handle)
{
    return handle->file->locks;
}

static const struct {
    bool changes;
    int error;
} kinds[VFS_OPERATIONS] = {
    [VFS_OPEN] = { false, SQLITE_CANTOPEN },       [VFS_DELETE] = { true, SQLITE_IOERR_DELETE },
    [VFS_READ] = { false, SQLITE_IOERR_READ },     [VFS_WRITE] = { true, SQLITE_IOERR_WRITE },
    [VFS_TRUNCATE] = { true, SQLITE_IOERR_TRUNCATE }, [VFS_SYNC] = { true, SQLITE_IOERR_FSYNC },
    [VFS_SIZE] = { false, SQLITE_IOERR_FSTAT },    [VFS_LOCK] = { false, SQLITE_IOERR_LOCK },
    [VFS_MAP] = { false, SQLITE_IOERR_SHMMAP },
};

bool vfs_changes(enum vfs_operation operation)
{
    return kinds[operation].changes;
}

int vfs_error(enum vfs_operation operation)
{
    return kinds[operation].error;
}

static struct vfs_answer judge(enum vfs_operation operation, const struct handle *handle)
{
    return disk_vfs.judge(&(struct vfs_call){ .operation = operation,
                                              .owner = handle->owner,
                                              .file = handle->file });
}

static void mutex_end(pthread_mutex_t **held)
{
    disk_vfs.inside = false;
    pthread_mutex_unlock(*held);
}

// Until the end of the function.
#define ALONE                                                                   \
    __attribute__((cleanup(mutex_end), unused)) pthread_mutex_t *held = &mutex; \
    pthread_mutex_lock(held);                                                   \
    disk_vfs.inside = true

static void unlock_shm(struct handle *handle)
{
    struct locks *locks = locks_of(handle);
    for (int i = 0; i < SQLITE_SHM_NLOCK; i++) {
        if (handle->shm_shared & (1U << i))
            locks->shm[i]--;
        if (handle->shm_alone & (1U << i))
            locks->shm[i] = 0;
    }
    handle->shm_shared = handle->shm_alone = 0;
}

static void unmap(struct handle *handle)
{
    struct locks *locks = locks_of(handle);
    if (!handle->maps)
        return;
    unlock_shm(handle);
    handle->maps = false;
    if (--locks->shm_users > 0)
        return;
    for (int i = 0; i < SHM_REGIONS_MAX; i++) {
        free(locks->regions[i]);
        free(locks->kept[i]);
        locks->regions[i] = locks->kept[i] = NULL;
    }
}

static void unlock(struct handle *handle, int level)
{
    struct locks *locks = locks_of(handle);
    if (handle->level <= level)
        return;
    if (locks->reserved == handle)
        locks->reserved = NULL;
    if (locks->pending == handle)
        locks->pending = NULL;
    if (level == SQLITE_LOCK_NONE)
        locks->readers--;
    handle->level = level;
}

static int close_file(sqlite3_file *file)
{
    ALONE;
    struct handle *handle = handle_of(file);
    unmap(handle);
    unlock(handle, SQLITE_LOCK_NONE);
    if (handle->temporary)
        disk_unname(handle->file);
    if (--handle->file->opened == 0) {
        free(handle->file->locks);
        handle->file->locks = NULL;
    }
    disk_forget_unreachable();
    return SQLITE_OK;
}

static int read_file(sqlite3_file *file, void *to, int count, sqlite3_int64 at)
{
    ALONE;
    int result = judge(VFS_READ, handle_of(file)).error;
    if (result == SQLITE_OK
        && disk_read(handle_of(file)->file, to, (size_t)count, (size_t)at) < (size_t)count)
        result = SQLITE_IOERR_SHORT_READ;
    return result;
}

static int write_file(sqlite3_file *file, const void *from, int count, sqlite3_int64 at)
{
    ALONE;
    const struct handle *handle = handle_of(file);
    struct vfs_call call = {
        .operation = VFS_WRITE,
        .owner = handle->owner,
        .file = handle->file,
        .bytes = from,
        .count = (size_t)count,
        .at = (size_t)at,
    };
    struct vfs_answer answer = disk_vfs.judge(&call);
    size_t made = answer.done ? call.count : answer.part;
    if (made > 0)
        disk_write(handle->file, from, made, call.at);
    return answer.error;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    ALONE;
    struct vfs_answer answer = judge(VFS_TRUNCATE, handle_of(file));
    if (answer.done)
        disk_truncate(handle_of(file)->file, (size_t)size);
    return answer.error;
}

static int sync_file(sqlite3_file *file, int flags)
{
    ALONE;
    (void)flags;
    struct handle *handle = handle_of(file);
    struct vfs_answer answer = judge(VFS_SYNC, handle);
    if (answer.done) {
        disk_sync(handle->file);
        if (handle->names_directory)
            disk_sync_names();
        handle->names_directory = false;
    } else if (answer.forgot) {
        disk_sync_failed(handle->file, &disk_vfs.dice);
    }
    return answer.error;
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *size)
{
    ALONE;
    int result = judge(VFS_SIZE, handle_of(file)).error;
    *size = (sqlite3_int64)handle_of(file)->file->seen.count;
    return result;
}

// SHARED unless somebody wants to be alone; RESERVED for one; EXCLUSIVE once the readers are gone.
static int lock(struct handle *handle, int level)
{
    struct locks *locks = locks_of(handle);
    bool others_pending = locks->pending && locks->pending != handle,
         others_reserved = locks->reserved && locks->reserved != handle;
    if (handle->level == SQLITE_LOCK_NONE) {
        if (others_pending)
            return SQLITE_BUSY;
        locks->readers++;
        handle->level = SQLITE_LOCK_SHARED;
    }
    if (level == SQLITE_LOCK_SHARED)
        return SQLITE_OK;
    if (others_reserved || others_pending)
        return SQLITE_BUSY;
    locks->reserved = handle;
    if (level == SQLITE_LOCK_EXCLUSIVE) {
        locks->pending = handle;
        handle->level = SQLITE_LOCK_PENDING;
        if (locks->readers > 1)
            return SQLITE_BUSY;
    }
    handle->level = level;
    return SQLITE_OK;
}

static int lock_file(sqlite3_file *file, int level)
{
    ALONE;
    int result = judge(VFS_LOCK, handle_of(file)).error;
    if (result == SQLITE_OK && handle_of(file)->level < level)
        result = lock(handle_of(file), level);
    return result;
}

static int unlock_file(sqlite3_file *file, int level)
{
    ALONE;
    unlock(handle_of(file), level);
    return SQLITE_OK;
}

static int check_reserved(sqlite3_file *file, int *reserved)
{
    ALONE;
    int result = judge(VFS_LOCK, handle_of(file)).error;
    *reserved = locks_of(handle_of(file))->reserved != NULL;
    return result;
}

static int control(sqlite3_file *file, int operation, void *argument)
{
    (void)file;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

// As SQLite says of a Unix file system: bytes beside those that are written stay as they are.
static int characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int map_shm(sqlite3_file *file, int region, int bytes, int extend, void volatile **to)
{
    ALONE;
    struct handle *handle = handle_of(file);
    struct locks *locks = locks_of(handle);
    int result = judge(VFS_MAP, handle).error;
    *to = NULL;
    if (result == SQLITE_OK) {
        assert(region < SHM_REGIONS_MAX);
        locks->shm_users += !handle->maps;
        handle->maps = true;
        locks->region_bytes = (size_t)bytes;
        if (!locks->regions[region] && extend)
            locks->regions[region] = calloc(1, (size_t)bytes);
        *to = locks->regions[region];
    }
    return result;
}

static bool shm_free(const struct locks *locks, const struct handle *handle, int i, bool alone)
{
    unsigned own_shared = (handle->shm_shared >> i) & 1;
    return alone ? locks->shm[i] == (int)own_shared : locks->shm[i] >= 0;
}

static void lock_shm_one(struct locks *locks, struct handle *handle, int i, int flags)
{
    unsigned bit = 1U << i;
    if (flags & SQLITE_SHM_UNLOCK) {
        if (handle->shm_alone & bit)
            locks->shm[i] = 0;
        else if (handle->shm_shared & bit)
            locks->shm[i]--;
        handle->shm_alone &= ~bit;
        handle->shm_shared &= ~bit;
    } else if (flags & SQLITE_SHM_EXCLUSIVE) {
        locks->shm[i] = -1;
        handle->shm_alone |= bit;
        handle->shm_shared &= ~bit;
    } else if (!(handle->shm_shared & bit)) {
        locks->shm[i]++;
        handle->shm_shared |= bit;
    }
}

static int lock_shm(sqlite3_file *file, int offset, int count, int flags)
{
    ALONE;
    int result = SQLITE_OK;
    struct handle *handle = handle_of(file);
    struct locks *locks = locks_of(handle);
    if (flags & SQLITE_SHM_LOCK)
        result = judge(VFS_LOCK, handle).error;
    for (int i = offset; i < offset + count && result == SQLITE_OK; i++)
        if ((flags & SQLITE_SHM_LOCK)
            && !shm_free(locks, handle, i, (flags & SQLITE_SHM_EXCLUSIVE) != 0))
            result = SQLITE_BUSY;
    for (int i = offset; i < offset + count && result == SQLITE_OK; i++)
        lock_shm_one(locks, handle, i, flags);
    return result;
}

static void barrier(sqlite3_file *file)
{
    (void)file;
    __sync_synchronize();
}

static int unmap_shm(sqlite3_file *file, int remove)
{
    ALONE;
    (void)remove;
    unmap(handle_of(file));
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shm,
    .xShmLock = lock_shm,
    .xShmBarrier = barrier,
    .xShmUnmap = unmap_shm,
};

static int open_handle(struct handle *handle, const char *name, int flags)
{
    enum { LOGS = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL };
    char temporary[32];
    snprintf(temporary, sizeof temporary, "temporary-%u", temporaries);
    temporaries += !name;
    struct disk_file *file = disk_find(name ? name : temporary);
    bool made = !file;
    if (made && name && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    if (made)
        file = disk_make(name ? name : temporary, (flags & SQLITE_OPEN_MAIN_DB) != 0);
    if (!file->locks && !(file->locks = calloc(1, sizeof(struct locks))))
        return SQLITE_NOMEM;
    file->opened++;
    *handle = (struct handle){
        .base.pMethods = &methods,
        .file = file,
        .owner = disk_vfs.owner,
        .temporary = !name || (flags & SQLITE_OPEN_DELETEONCLOSE),
        .names_directory = (flags & SQLITE_OPEN_CREATE) && (flags & LOGS),
    };
    return SQLITE_OK;
}

// A call that is not about a handle is of whoever opens files now.
static struct vfs_answer judge_name(enum vfs_operation operation)
{
    return disk_vfs.judge(&(struct vfs_call){ .operation = operation, .owner = disk_vfs.owner });
}

static int open_file(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *out)
{
    ALONE;
    (void)self;
    file->pMethods = NULL;
    int result = judge_name(VFS_OPEN).error;
    if (result == SQLITE_OK)
        result = open_handle(handle_of(file), name, flags);
    if (out)
        *out = flags;
    return result;
}

static int delete_file(sqlite3_vfs *self, const char *name, int sync)
{
    ALONE;
    (void)self;
    struct disk_file *file = disk_find(name);
    struct vfs_answer answer = judge_name(VFS_DELETE);
    if (!file)
        return answer.error == SQLITE_OK ? SQLITE_IOERR_DELETE_NOENT : answer.error;
    if (answer.done)
        disk_unname(file);
    if (answer.done && sync)
        disk_sync_names();
    return answer.error;
}

static int access_file(sqlite3_vfs *self, const char *name, int flags, int *out)
{
    ALONE;
    (void)self;
    (void)flags;
    const struct disk_file *file = disk_find(name);
    // A rollback journal of no bytes is none, as the system's own file system says.
    *out = file && (flags != SQLITE_ACCESS_EXISTS || file->seen.count > 0);
    return SQLITE_OK;
}

static int randomness(sqlite3_vfs *self, int count, char *to)
{
    (void)self;
    for (int i = 0; i < count; i++)
        to[i] = (char)disk_random(&disk_vfs.dice);
    return count;
}

void disk_vfs_install(vfs_judge *decides)
{
    real_vfs = sqlite3_vfs_find("unix");
    vfs = *real_vfs;
    vfs.pNext = NULL;
    vfs.zName = "disk";
    vfs.szOsFile = sizeof(struct handle);
    vfs.xOpen = open_file;
    vfs.xDelete = delete_file;
    vfs.xAccess = access_file;
    vfs.xRandomness = randomness;
    disk_vfs = (struct disk_vfs){ .judge = decides, .dice = 88172645463325252U };
    sqlite3_vfs_register(&vfs, 1);
}

void disk_vfs_remove(void)
{
    disk_erase();
    sqlite3_vfs_unregister(&vfs);
    sqlite3_vfs_register(real_vfs, 1);
}

static void keep_shared(struct locks *locks)
{
    for (int i = 0; i < SHM_REGIONS_MAX && locks->regions[i]; i++) {
        free(locks->kept[i]);
        locks->kept[i] = malloc(locks->region_bytes);
        assert(locks->kept[i]);
        memcpy(locks->kept[i], locks->regions[i], locks->region_bytes);
    }
}

static void restore_shared(struct locks *locks)
{
    for (int i = 0; i < SHM_REGIONS_MAX; i++) {
        if (locks->kept[i] && locks->regions[i])
            memcpy(locks->regions[i], locks->kept[i], locks->region_bytes);
        free(locks->kept[i]);
        locks->kept[i] = NULL;
    }
}

void disk_vfs_keep_shared(void)
{
    for (struct disk_file *file = disk_files(); file; file = file->next)
        if (file->locks)
            keep_shared(file->locks);
}

void disk_vfs_restore_shared(void)
{
    for (struct disk_file *file = disk_files(); file; file = file->next)
        if (file->locks)
            restore_shared(file->locks);
}
