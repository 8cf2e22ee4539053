// Calls that are made to fail, by their number: of memory, of the store, and of the system.
//
// Memory: a test program that is linked with `--wrap` of malloc and its kin (see meson.build) has
// its own allocations counted, and SQLite's once memory_faults_install was called. What the disk of
// crash_vfs.h needs for itself does not count.
//
// The store: between db.c and the driver, from store_faults_begin on; in a program linked with
// `--wrap=sqlite_open` every store from its opening on. A call fails before it does anything, or,
// with `executes`, after it did: a COMMIT is then in doubt.
//
// The system: files, locks and directories, in a program that is linked with `--wrap` of the calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct db;

struct fault_counter {
    int64_t calls;    // so far
    int64_t fail_at;  // this one fails; 0: none ...
    bool fails_on;    // ... and all that follow
    int64_t failed;   // so many did
    bool executes;    // of the store: it is done, and reported as failed
    enum pawl_code code;  // of the store: what it says; PAWL_OK: PAWL_STORE
    // Before every call, which is counted already; may change what is to fail.
    void (*about_to)(struct fault_counter *faults);
};

extern struct fault_counter memory_faults, store_faults, system_faults;
extern int system_errno;  // what a call of the system fails with
extern long system_disk;  // what every file system says it is (linux/magic.h); 0: what it is

// Counts one call and says whether it is to fail.
bool faults_hit(struct fault_counter *faults);

void memory_faults_install(void);  // before SQLite is used for the first time

// Another commit than the store's own; NULL: that one.
typedef bool store_commit(struct db *db, struct pawl_error *err);

void store_faults_begin(struct db *db, store_commit *instead);
void store_faults_end(struct db *db);
bool store_faults_in(const struct db *db);  // from its opening on, or since it was begun
