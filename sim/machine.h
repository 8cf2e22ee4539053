// The machine that the processes run on: they die on it, its power goes, its disk says no.
//
// What was written and not synced is in the memory of the machine: a process that is killed leaves
// it there, a power loss drops, keeps or tears each piece of it (disk.h). Every write, sync,
// truncation, opening and removal of a file is a point at which something can happen.
#pragma once

#include "dice.h"
#include "disk_vfs.h"

enum { PROCESSES = 2 };

enum machine_fault {
    FAULT_KILL,        // the process dies: kill -9
    FAULT_POWER_LOSS,  // all processes do, and what was not synced is at the mercy of the disk
    FAULT_WRITE_FAILS,
    FAULT_SYNC_FAILS,
    FAULTS
};

struct machine {
    struct dice dice;
    bool dead[PROCESSES];  // nothing it does reaches the disk any more
    int64_t fuse[FAULTS];  // happens at the n-th point from now; 0: not
    bool aside;            // what is done now is not part of the run: nothing goes wrong
    bool full;             // no file may grow
    int64_t syncs;         // that were done
    int64_t refused;       // calls that were answered with an error
};

extern struct machine machine;

void machine_install(void);  // under SQLite, with an empty disk
void machine_keep(void);     // the files as they are now are what machine_begin finds
void machine_begin(struct dice dice);
void machine_serve(int process);  // the calls from now on are its own

// After a death: what the other processes and the next boot find. To be called when everything of
// the dead ones is closed. Without a death it does nothing.
void machine_bury(void);
