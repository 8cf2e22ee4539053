// Where the tests kill the worker: a build of it with BRIEF_POINTS ends by SIGKILL at the point
// that is named in the environment. In what people run a point is nothing.
#pragma once

#ifdef BRIEF_POINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static inline void point(const char *name)
{
    const char *fatal = getenv("BRIEF_DIES_AT");
    if (fatal && strcmp(fatal, name) == 0)
        raise(SIGKILL);
}
#else
#define point(name) ((void)0)
#endif
