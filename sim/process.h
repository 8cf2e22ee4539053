// A process with the store open: takes requests, runs some of them in one transaction, answers what
// is on disk. It dies at any point of what it does on disk, and is started again.
#pragma once

#include "engine/sweep.h"
#include "machine.h"

struct request;
struct sim;

enum { INBOX_MAX = 16 };

struct process {
    int index;
    bool wanted;  // it is part of this run
    bool up;
    struct db *db;
    struct instance instance;
    char boot[24];
    struct request *inbox[INBOX_MAX];
    size_t inbox_count;
    struct arena scratch;  // of one transaction
};

void processes_start(struct sim *sim);
void processes_stop(struct sim *sim);
void process_take(struct sim *sim, struct request *request);  // at the door: it is busy, or down

// Whether an error of the store is the disk's fault.
bool process_excused(const struct sim *sim);
