// One command under its supervisor, as Pawl sees it: descriptors to wait for, and how it ended.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "server/supervisor.h"

enum { COMMAND_WORDS_MAX = 256 };

struct child_plan {
    char *const *arguments;    // at most COMMAND_WORDS_MAX
    const char *directory;     // "": where Pawl is
    char *const *environment;  // as the command sees it, with a SUPERVISOR_MARK before each
    struct str input;
    int64_t grace_us;
};

// All descriptors are -1 when they are not open; those to read do not block.
struct child {
    pid_t supervisor;  // 0: none
    pid_t group;       // of the command, once it is known
    bool ended;        // and nothing of it is left
    int out, err;      // what it says
    int status;        // what its supervisor reports; at its end the supervisor is dead
    int control;       // open as long as the command may live
};

// Starts the command. False when the machine has no room for it.
CHECKED bool child_start(struct child *child, const struct child_plan *plan,
                         struct pawl_error *err);

// Tells the supervisor to end it.
void child_stop(struct child *child);

// Reads the next report; false when there is none now. When there will be none any more `status` is
// closed.
bool child_report(struct child *child, struct report *report);

// Gives everything back. Without a report of its end the group of the command is killed; with the
// supervisor the kernel kills the command itself.
void child_end(struct child *child);

// Closes a descriptor that may be -1, and makes it that.
void fd_close(int *fd);
