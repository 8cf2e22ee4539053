// The supervisor: a small process between Pawl and one command, so that the command ends with
// everything it started, whatever that does and whoever dies.
//
// Pawl starts a small program that it carries with it, or its own program again, with
// SUPERVISOR_WORD as the first argument. That process adopts every descendant that loses its parent
// (a subreaper), starts the command in a session of its own, and waits. When the command has ended,
// or when the control pipe is closed, it ends whatever is left: SIGTERM, a grace, then SIGKILL
// until nothing lives. A Pawl that is killed closes the pipe too. Only then it reports how the
// command ended, so that a report means that nothing is left.
//
//     pawl SUPERVISOR_WORD GRACE_MS DIRECTORY PROGRAM [ARGUMENT...]
//
// An empty directory is the one Pawl is in. Descriptors 0, 1 and 2 become the command's. Every
// variable of the environment has a SUPERVISOR_MARK before its name, which the command does not
// see: so none of them (LD_LIBRARY_PATH, say) means anything to the supervisor itself.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SUPERVISOR_WORD "__supervise"
#define SUPERVISOR_MARK '_'

enum { SUPERVISOR_CONTROL = 3,  // read end: closed by Pawl, by will or by death, to stop
       SUPERVISOR_STATUS = 4,   // write end: reports
       SUPERVISOR_DESCRIPTORS = 5 };

enum report_kind {
    REPORT_STARTED = 1,   // `value` is the process
    REPORT_NO_DIRECTORY,  // `value` is errno
    REPORT_NOT_STARTED,   // `value` is errno
    REPORT_ENDED,         // `value` is as waitpid gives it; nothing of it is left
};

// Both ends are the same program: the bytes of the struct are the message.
struct report {
    int32_t kind;
    int32_t value;
    int32_t stopped;  // of ENDED: it was told to stop before it had ended
};

// Whether the program was started to supervise.
bool supervisor_asked(int argc, char *const *argv);

// Does it, and answers the exit status of the process.
int supervisor_main(int argc, char **argv);
