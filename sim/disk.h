// A disk in memory under SQLite, with everything that can happen to one.
//
// It is SQLite's default file system while it is installed. What was written and not synced is in
// the memory of the machine: a process that is killed leaves it there, a power loss drops, keeps or
// tears each piece of it. Every write, sync, truncation and opening of a file is a point at which a
// process can die or the disk can say no. File names come and go with no delay.
#pragma once

#include "dice.h"

enum { DISK_PROCESSES = 2 };

enum disk_fault {
    DISK_KILL,        // the process dies: kill -9
    DISK_POWER_LOSS,  // all processes do, and what was not synced is at the mercy of the disk
    DISK_WRITE_FAILS,
    DISK_SYNC_FAILS,
    DISK_FAULTS
};

struct disk {
    struct dice dice;
    int process;                 // whose calls these are: files that are opened now are its own
    bool dead[DISK_PROCESSES];   // nothing it does reaches the disk any more
    int64_t fuse[DISK_FAULTS];   // happens at the n-th point from now; 0: not
    bool aside;                  // what is done now is not part of the run: nothing goes wrong
    bool full;                   // no file may grow
    int64_t points;              // so far
    int64_t syncs;               // that were done
    int64_t refused;             // calls that were answered with an error
    int64_t fired[DISK_FAULTS];
};

extern struct disk disk;

void disk_install(void);
void disk_erase(void);     // every file; keeps nothing of what happened
void disk_keep(void);      // the files as they are now are what disk_restore makes
void disk_restore(void);

// After a death: what the other processes and the next boot find. To be called when everything of
// the dead ones is closed. Without a death it does nothing.
void disk_bury(void);
