// What a command finds in its environment: nothing that Pawl's own happens to hold.
#pragma once

#include "base/arena.h"
#include "server/command.h"
#include "server/command_files.h"

struct pawl_run;

struct variable {
    const char *name, *value;  // an empty value: there is none
};

// These variables, then PATH, HOME, TMPDIR and LANG, for child_plan.environment. NULL when there is
// no memory.
char **environment_of(struct arena *arena, const struct variable *variables, size_t count);

// Variables for child_plan.environment. A name stands once: Pawl's own about the run come first,
// then those of the type, then PATH, HOME, TMPDIR and LANG. NULL when there is no memory.
char **command_environment(struct arena *arena, const struct pawl_run *run,
                           const struct command_type *type, const struct command_files *files);
