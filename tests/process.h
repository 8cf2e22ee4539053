// Real processes for tests: start one of tests/programs, talk to it, stop it, kill it.
//
// A process that a failed test leaves behind dies with the test program. Nothing here waits without
// a bound.
#pragma once

#include <sys/types.h>

#include "test.h"

enum { PROCESS_ARGUMENTS_MAX = 12,
       PROCESS_LINE_BYTES = 256,
       PROCESS_WAIT_MS = 30000 };

// A directory on a real disk, where fsync means what it says, and a store: in it, or on the server
// of outside.h.
struct scratch {
    char path[128];
    char url[400];  // of the store
};

struct scratch scratch_open(void);
void scratch_close(struct scratch *scratch);  // removes it and what is in it
const char *scratch_file(const struct scratch *scratch, const char *name);  // in test_arena()
const char *scratch_store(const struct scratch *scratch);  // as a URL

// One number from a statement on the scratch's store, without the engine.
int64_t scratch_number(const struct scratch *scratch, const char *sql);

struct process {
    pid_t pid;  // 0: not running
    int in, out;
    char line[PROCESS_LINE_BYTES];  // what it said last
};

// Starts a program of tests/programs with these arguments.
#define process_start(...) process_start_with((const char *const[]){ __VA_ARGS__, NULL })
struct process process_start_with(const char *const *arguments);

void process_tell(struct process *process, const char *line);
const char *process_hear(struct process *process);                   // the next line it says
const char *process_hear_within(struct process *process, int milliseconds);  // ... by then
const char *process_ask(struct process *process, const char *line);  // tell, then hear
bool process_silent(struct process *process, int milliseconds);      // it said nothing meanwhile

void process_stop(struct process *process);  // SIGSTOP, and waits until it has stopped
void process_wake(struct process *process);  // SIGCONT
void process_kill(struct process *process);  // SIGKILL, and waits until it is gone
int process_end(struct process *process);    // closes its input and waits for its exit status

// How it ended by itself; -1 while it runs.
int process_ended(struct process *process);

int64_t now_us(void);  // the wall clock
void wait_us(int64_t microseconds);
void wait_ms(int64_t milliseconds);
