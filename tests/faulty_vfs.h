// SQLite's default file system with a counter and a switch: how often is the log really synced, and
// what if the disk says no.
#pragma once

#include <stdbool.h>

struct faulty_vfs {
    _Atomic int syncs;       // of any file
    _Atomic int fail_syncs;  // so many syncs fail with an I/O error
    _Atomic int writes;      // to any file
    _Atomic int fail_write;  // the n-th write from now fails with an I/O error; 0: none
    _Atomic bool full;       // every write finds the disk full
    _Atomic bool fail_opens;  // no file can be opened
};

extern struct faulty_vfs faulty_vfs;

void faulty_vfs_install(void);  // stores opened from now on go through it
void faulty_vfs_remove(void);
