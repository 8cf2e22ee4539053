// SQLite on the disk of disk.h: files, locks and shared memory of several connections, and somebody
// who decides about every call.
//
// The simulator decides by its processes, of which some are dead (machine.h); the tests by the
// number of the call (tests/crash_vfs.h). The main file has an empty namesake in the real file
// system, because Pawl asks the system about its path; its lock file is a real one.
#pragma once

#include "disk.h"

enum vfs_operation {
    VFS_OPEN,
    VFS_DELETE,
    VFS_READ,
    VFS_WRITE,
    VFS_TRUNCATE,
    VFS_SYNC,
    VFS_SIZE,
    VFS_LOCK,
    VFS_MAP,
    VFS_OPERATIONS,
};

struct vfs_call {
    enum vfs_operation operation;
    int owner;                     // of the handle
    const struct disk_file *file;  // VFS_WRITE: what is written, and where
    const void *bytes;
    size_t count, at;
};

// What becomes of a call.
struct vfs_answer {
    int error;    // SQLITE_OK: none
    bool done;    // it is made, though it may be reported failed
    bool forgot;  // a sync that was not made: see disk_sync_failed
    size_t part;  // a write that was not made: so many bytes of it were
};

typedef struct vfs_answer vfs_judge(const struct vfs_call *call);

struct disk_vfs {
    vfs_judge *judge;
    int owner;      // of the handles that are opened from now on
    uint64_t dice;  // what failed syncs leave, and SQLite's random numbers
    bool inside;    // a call is under way: what it allocates is not SQLite's
};

extern struct disk_vfs disk_vfs;

void disk_vfs_install(vfs_judge *decides);  // stores opened from now on are on the disk
void disk_vfs_remove(void);               // and every file on it

bool vfs_changes(enum vfs_operation operation);  // the disk
int vfs_error(enum vfs_operation operation);     // how it fails, in SQLite's words

// The shared memory of a process that died is as it was then, while others have it.
void disk_vfs_keep_shared(void);
void disk_vfs_restore_shared(void);
