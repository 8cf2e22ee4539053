// SQLite on a disk in memory (sim/disk_vfs.h), and faults at the operation one asks for.
//
//     crash_vfs_install();                        // stores opened from now on are on that disk
//     crash_vfs.cut_at = crash_vfs.changes + 7;   // the power goes at the seventh change from here
//     ... work until everything fails, close all connections ...
//     crash_vfs_power_on(seed);                   // what was not synced is kept, lost or torn
//     ... open the store again and look ...
//
// After the power went every operation fails, so nothing can be acknowledged any more.
#pragma once

#include "disk_vfs.h"

struct crash_vfs {
    // What happened.
    int64_t operations;  // all of them ...
    int64_t changes;     // ... and those that change the disk: writes, truncations, syncs, names
    int64_t count[VFS_OPERATIONS];
    int64_t failed;      // by `fail_at`
    bool dark;           // the power is off
    // What is to happen; 0 and false: nothing.
    int64_t cut_at;      // the power goes at this change, before it is made
    int64_t fail_at;     // this operation fails ...
    bool fails_on;       // ... and all that follow
    bool fails_after;    // a change that fails is made all the same
    int64_t fail_sync_at;  // this sync, counted from the first, fails
    bool syncs_lie;      // a sync does nothing and says that it did
    int64_t bytes_max;   // of all files together; a write past it finds the disk full
};

extern struct crash_vfs crash_vfs;

void crash_vfs_install(void);
void crash_vfs_remove(void);  // and every file on the disk

// The power is back, and nothing is to happen. Every connection must be closed.
void crash_vfs_power_on(uint64_t seed);
