// Operations are counted, and the one that was asked for fails.
#include "crash_vfs.h"

#include <sqlite3.h>

struct crash_vfs crash_vfs;

static bool is_to_fail(enum vfs_operation operation)
{
    if (crash_vfs.fail_sync_at && operation == VFS_SYNC
        && crash_vfs.count[operation] == crash_vfs.fail_sync_at)
        return true;
    return crash_vfs.fail_at
        && (crash_vfs.fails_on ? crash_vfs.operations >= crash_vfs.fail_at
                               : crash_vfs.operations == crash_vfs.fail_at);
}

static bool disk_is_full(const struct vfs_call *call)
{
    size_t end = call->at + call->count;
    size_t more = end > call->file->seen.count ? end - call->file->seen.count : 0;
    return crash_vfs.bytes_max && more > 0
        && disk_bytes_used() + (int64_t)more > crash_vfs.bytes_max;
}

static struct vfs_answer judge(const struct vfs_call *call)
{
    enum vfs_operation operation = call->operation;
    crash_vfs.operations++;
    crash_vfs.count[operation]++;
    crash_vfs.changes += vfs_changes(operation);
    if (crash_vfs.cut_at && crash_vfs.changes >= crash_vfs.cut_at)
        crash_vfs.dark = true;
    if (crash_vfs.dark)
        return (struct vfs_answer){ .error = vfs_error(operation) };
    bool fails = is_to_fail(operation);
    bool done = !fails || (crash_vfs.fails_after && vfs_changes(operation));
    crash_vfs.failed += fails;
    if (done && operation == VFS_WRITE && disk_is_full(call))
        return (struct vfs_answer){ .error = SQLITE_FULL };
    return (struct vfs_answer){
        .error = fails ? vfs_error(operation) : SQLITE_OK,
        .done = done && !(operation == VFS_SYNC && crash_vfs.syncs_lie),
        .forgot = !done,
    };
}

void crash_vfs_install(void)
{
    crash_vfs = (struct crash_vfs){0};
    disk_vfs_install(judge);
}

void crash_vfs_remove(void)
{
    disk_vfs_remove();
}

void crash_vfs_power_on(uint64_t seed)
{
    disk_vfs.dice = seed * 0x9e3779b97f4a7c15U + 88172645463325252U;
    disk_power_loss(&disk_vfs.dice);
    crash_vfs = (struct crash_vfs){0};
}
