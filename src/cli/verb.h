// Commands of two words: `pawl key create`. The first word after the command says what to do.
#pragma once

#include "cli/command.h"

struct verb {
    const char *name;
    size_t words;  // it takes, its own name included
    bool (*act)(struct cli *cli, struct pawl_error *err);
};

// Does what the first word says. PAWL_USAGE when there is no such verb or a word is missing.
CHECKED bool verb_act(struct cli *cli, const struct verb *verbs, size_t count,
                      struct pawl_error *err);
