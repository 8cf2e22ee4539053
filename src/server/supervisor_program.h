// Where the supervisor is started from.
#pragma once

enum { SUPERVISOR_PROGRAMS = 2 };

// The programs that can supervise, the one that starts sooner first: the small one, from a file in
// memory, then this one. NULL: there is none. A machine may have a rule against programs that are
// no files; then it is the next one's turn. They stay for as long as the process lives.
const char *const *supervisor_programs(void);

// Others than these: for tests.
void supervisor_programs_are(const char *first, const char *second);
