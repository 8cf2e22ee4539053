// Backup and restore: one moment of a store in a file of its own, and a store made from it.
//
// A backup is taken while others work. It is copied, synced, checked and only then named: a file of
// that name is always whole. Artifacts, which lie beside a store in `STORE.artifacts` and never
// change, go to `FILE.artifacts`. While the copy is verified its artifacts must be found beside it
// too: until it has its name, an alias leads to them.
//
// A restore makes the new store beside the old one, checks it, and puts it in place by one rename.
// Killed at any moment it leaves the old store or the new one, never a part of both; begun again it
// does all of it. What the old one was is kept under another name.
//
// A restored store does not know what happened after the backup: jobs that ended since run again,
// and jobs that came since are gone. Whoever holds a lease from that time is refused: its execution
// is not in the store, and ids are never made twice.
#pragma once

#include "engine/verify.h"
#include "model/contract.h"

// What begins now; shown to people.
enum copy_stage {
    STAGE_ARTIFACTS,
    STAGE_COPY,
    STAGE_CHECK,    // whether the file is whole
    STAGE_VERIFY,   // whether its records agree
    STAGE_MARK,     // restore: the new store is told what it is
    STAGE_ASIDE,    // restore: the old one gets another name
    STAGE_PLACE,    // it gets its name
    STAGE_DONE,
    COPY_STAGES
};

const char *copy_stage_name(enum copy_stage stage);

// Who follows it. Everything but `self` may be NULL.
struct copy_audience {
    void *self;
    void (*stage)(void *self, enum copy_stage stage);
    void (*progress)(void *self, int64_t done, int64_t total);
    void (*found)(void *self, const struct violation *violation);
};

struct backup {
    struct str store;   // its URL
    const char *file;
    bool force;         // keep the copy of a store whose records contradict each other
    const struct world *world;
    struct copy_audience audience;
};

struct backup_report {
    int64_t bytes;
    int64_t artifacts;       // files
    int64_t schema_version;
    bool verified;           // false: the store is of another version than this program's
    struct verified found;
};

// PAWL_CONFLICT when the file exists, PAWL_DAMAGED when the copy is not whole.
CHECKED bool backup_make(const struct backup *backup, struct backup_report *report,
                         struct pawl_error *err);

struct restore {
    struct str store;   // where to, a URL
    const char *file;   // a backup
    bool force;         // also in place of a store that is there
    bool hold;          // pause every queue, so that somebody looks first
    const struct world *world;
    const struct caller *caller;  // who does it
    struct copy_audience audience;
};

struct restore_report {
    struct verified found;
    pawl_time newest;     // nothing that happened later is in it
    int64_t waiting, running;
    int64_t queues_paused;
    int64_t artifacts;
    const char *aside;    // the name of the old store now; NULL: there was none. Lives in the arena
};

// PAWL_CONFLICT when the store is in use, or is there and not `force`; PAWL_DAMAGED when the backup
// is not whole.
CHECKED bool restore_make(const struct restore *restore, struct restore_report *report,
                          struct arena *arena, struct pawl_error *err);
