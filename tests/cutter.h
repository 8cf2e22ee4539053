// A proxy before a PostgreSQL server that cuts connections where it hurts most: at a COMMIT.
//
// It listens on a unix socket in a directory of its own. Once armed, it cuts the next connection
// that commits, both sides of it.
#pragma once

#include "test.h"

enum cut { CUT_NONE,
           CUT_BEFORE,     // the server never hears of the COMMIT
           CUT_AT_ONCE,    // it does, and nobody reads what it says
           CUT_AFTER,      // it has answered, and nobody is told
           CUTS };

struct cutter;

// `url` is of a server by `host=DIRECTORY`; gives the same through the proxy, in test_arena().
struct cutter *cutter_open(const char *directory, struct str url, struct str *through);
void cutter_close(struct cutter *cutter);  // after its connections were closed
void cutter_arm(struct cutter *cutter, enum cut cut);
int64_t cutter_cuts(struct cutter *cutter);  // so far
