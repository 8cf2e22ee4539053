// What tests know of answers that the environment has lost (lost_answers.c): commits that were done
// and reported failed. The pipeline finds that out by itself; whoever commits by hand must.
#pragma once

#include "test.h"

#include "pawl.h"

bool answers_are_lost(void);  // some are, in this run

// For a test that cannot hold then.
#define NEEDS_EVERY_ANSWER(why)                     \
    do {                                            \
        if (answers_are_lost()) {                   \
            print_message("skipped: %s\n", (why)); \
            skip();                                 \
        }                                           \
    } while (0)

// pawl_commit for an application that knows: a commit in doubt is there.
bool lent_commit(struct pawl_tx *tx, struct pawl_error *err);
