// The log of one run of a command: what it says on stderr, cut into lines, made safe to show, and
// stored a few lines at a time.
//
// Lines wait for others up to a second, and share the commits of whoever writes. Nobody waits for
// them: what the store cannot take is dropped and counted (command_lines_dropped), never a reason
// for a run to fail.
#pragma once

#include "engine/log.h"
#include "model/execution.h"

struct pawl_run;
struct log_batch;

struct command_log {
    struct pawl_run *run;
    char *const *secrets;                   // that the command was given, NULL last
    size_t bytes_left;                      // of what may be stored
    bool full;                              // and it was said
    char line[LOG_LINE_BYTES_MAX + 1];      // the one that has not ended yet
    size_t n;
    bool cut;                               // it is longer than it may be
    bool in_key;                            // see redact_line
    char last[ERROR_MESSAGE_BYTES_MAX + 1]; // the last line with something on it, "" when none
    struct log_batch *batch;                // NULL: nothing waits
    int64_t due;                            // monotonic, when it is to be stored
};

void log_begin(struct command_log *log, struct pawl_run *run, char *const *secrets,
               size_t bytes_max);
void log_take(struct command_log *log, const char *bytes, size_t n);

// Stores what waits, if it has waited long enough; answers how long until then, -1 when nothing
// waits.
int64_t log_tick(struct command_log *log);

// The command has ended: the last line need not end in a newline. Stores what is left.
void log_end(struct command_log *log);
