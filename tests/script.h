// Scripts: something Pawl does with a store, told as transactions, to be cut, failed or starved at
// any of its operations.
//
// A scenario prepares a store on the disk of crash_vfs.h, once; then it is played from that moment
// as often as one likes, each time the same: the clock stands still unless the script lets it pass,
// and the dice have a seed. So what the store holds after each acknowledged transaction is known
// from a first, undisturbed play, and a disturbed one must leave one of these contents behind.
#pragma once

#include "base/hash.h"
#include "crash_vfs.h"
#include "fixture.h"

enum { SCRIPT_NOTES_MAX = 8, CONTENTS_DIGITS = HASH_DIGITS + 1 };

struct contents {
    char digest[CONTENTS_DIGITS];
};

struct script {
    struct box *box;
    struct db *db;
    bool fleeting;        // a planted fault: it does not sync
    size_t acknowledged;  // transactions
    // For the scenario itself: what it prepared and what it came by.
    struct id job[SCRIPT_NOTES_MAX];
    struct lease lease[SCRIPT_NOTES_MAX];
    int number;
    // Of the first play: what is there after each transaction.
    struct contents *history;
    size_t history_max;
};

typedef bool script_deed(struct script *s, struct tx *tx, struct pawl_error *err);

// One transaction with one deed in it.
CHECKED bool script_do(struct script *s, script_deed *deed, struct pawl_error *err);
// Opens the store of the script, as Pawl does.
CHECKED bool script_open(struct script *s, struct pawl_error *err);
void script_close(struct script *s);

// What is special about a scenario.
enum scenario_trait {
    KEEPS_LOG = 1 << 0,   // begins with the log that its preparation left
    ONLY_READS = 1 << 1,  // changes nothing on the disk
    OUTSIDE = 1 << 2,     // makes files that are not on the disk of crash_vfs.h
};

struct scenario {
    const char *name;
    void (*prepare)(struct script *s);  // on an open box; NULL: nothing but the empty store
    bool (*play)(struct script *s, struct pawl_error *err);  // on an open store
    int number;                         // for scenarios that share their functions
    unsigned traits;
};

extern const struct scenario scenarios[];
size_t scenarios_count(void);

// A scenario that is ready to be played.
struct stage {
    const struct scenario *scenario;
    struct box box;
    struct script beginning;
    struct disk_image *disk;
    struct contents history[64];  // [0] is the store as it is opened, [n] after n transactions
    size_t transactions;
    // Of the disk, in an undisturbed play from opening to closing.
    int64_t changes, operations, syncs;
};

void stage_open(struct stage *stage, const struct scenario *scenario);
void stage_measure(struct stage *stage);  // `changes` and `operations`; stage_open has done it
void stage_close(struct stage *stage);

// Everything as it was at the beginning, the store not opened yet.
struct script stage_begin(struct stage *stage);
// The same with the disk as it is now.
struct script stage_reopen(struct stage *stage);
// Opens, plays and closes; false: it was disturbed.
CHECKED bool stage_play(struct stage *stage, struct script *s, struct pawl_error *err);

// How strictly what a disturbed play left is judged.
struct judgement {
    bool exact;       // the transaction that failed must not be there: somebody was told so
    bool thoroughly;  // verify once more, and go on working
};

// Opens the store as Pawl does and judges what a disturbed play left: that its contents are those
// after what was acknowledged, or after the one transaction more that was not answered, and that
// the file is whole. Each of these contents has passed verify once. False: `err` says what is
// wrong.
CHECKED bool stage_judge(struct stage *stage, const struct script *played, struct judgement how,
                         struct pawl_error *err);
// Stands for what it judges: everything on the disk, and what was acknowledged.
uint64_t stage_sum(const struct script *played, struct judgement how);
