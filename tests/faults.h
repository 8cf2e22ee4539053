// Calls that are made to fail, by their number: of memory, and of the store.
//
// Memory: a test program that is linked with `--wrap` of malloc and its kin (see meson.build) has
// its own allocations counted, and SQLite's once memory_faults_install was called. What the disk of
// crash_vfs.h needs for itself does not count.
//
// The store: between db.c and the driver; any program linked with `--wrap=sqlite_open`. A call
// fails before it does anything, or, with `executes`, after it did: a COMMIT is then in doubt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fault_counter {
    int64_t calls;    // so far
    int64_t fail_at;  // this one fails; 0: none ...
    bool fails_on;    // ... and all that follow
    int64_t failed;   // so many did
    bool executes;    // of the store: it is done, and reported as failed
};

extern struct fault_counter memory_faults, store_faults;

// Counts one call and says whether it is to fail.
bool faults_hit(struct fault_counter *faults);

void memory_faults_install(void);  // before SQLite is used for the first time
