// The files of a command: `$PAWL_INPUTS` has those it works on, and what it leaves in
// `$PAWL_ARTIFACTS` becomes artifacts of its job.
//
// Both are in a directory of the run's own beside the store. Whoever runs holds a lock on it: what
// is not locked was left behind by a process that died.
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct pawl_run;

struct command_files {
    const char *directory;  // NULL: there is none
    const char *in, *out;
    int fd;                 // holds the lock
};

// Makes the directory, and links to the inputs of the job by their ids, each of which was read and
// has its checksum. False: the run has failed. Without inputs a directory that cannot be made is
// done without.
CHECKED bool command_files_begin(struct command_files *files, struct pawl_run *run,
                                 struct arena *arena);

// What was left there becomes artifacts, in the order of their names. Without any, and if there
// must be some, what was printed is one. False: the run has failed.
struct command_output {
    struct str text;
    bool needed;          // an artifact
    int64_t bytes_max;    // of one
};
CHECKED bool command_files_take(const struct command_files *files, struct pawl_run *run,
                                struct arena *arena, const struct command_output *output);

void command_files_end(struct command_files *files);

// Removes directories of runs whose process is gone, in the directory of a store's files.
void command_files_tidy(const char *store_files);
