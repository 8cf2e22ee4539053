// Commands as handlers: a job type whose work is a program (`run:` in pawl.yaml).
//
// The payload is its standard input, what it prints is the result (JSON as it is, other text as a
// JSON string), what it says on standard error is the log of the execution. Its exit status decides
// by sysexits.h: 0 done; 64, 65, 66, 77 and 78 are not tried again; all others, and death by a
// signal, are. A second program (`commit:`) is the finish of the job: it runs after COMMITTED and
// again until it exits with 0, each time with the same PAWL_EFFECT_KEY (EXEC-10).
//
// There is no shell. A command never outlives its run: see supervisor.h.
#pragma once

#include "base/error.h"

// What a type's command is. Zero and NULL: as said, or none. Lists end in NULL.
struct command_type {
    const char *job_type;
    char *const *run;          // the program, by path or found in PATH, and its arguments
    char *const *commit;       // NULL: none
    const char *directory;     // where it runs; NULL: where Pawl does
    char *const *environment;  // NAME=VALUE, besides PATH, HOME, TMPDIR, LANG and Pawl's own
    char *const *secrets;      // values among these that are masked in its log and its errors
    int64_t timeout_us;        // shorter than its policy's: a failure of the class `timeout`
    int64_t grace_us;          // from SIGTERM to SIGKILL; 0: 5 s; at most half the runner's
    const char *policy;        // of jobs that name none
    size_t result_bytes_max;   // longer is a failure of the class `resource_limit`; 0: 1 MiB
    size_t log_bytes_max;      // of one run; the rest of the log is dropped; 0: 256 KiB
    int64_t artifact_bytes_max;  // of one; 0: no limit
    bool needs_artifact;       // without one, what it prints becomes one
};

struct pawl_handler;

// Makes the handler of a type that has a command. The struct, all it points to and the arena must
// outlive the handle.
CHECKED bool command_handler(struct pawl *pawl, const struct command_type *type,
                             struct arena *arena, struct pawl_handler *handler,
                             struct pawl_error *err);

// The same and pawl_handle, before pawl_start.
CHECKED bool command_handle(struct pawl *pawl, const struct command_type *type,
                            struct pawl_error *err);

// Log lines that could not be stored since the process began: the store or its queue was full.
int64_t command_lines_dropped(void);
