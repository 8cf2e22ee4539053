// Where the tests interfere with the worker. In a build of it with BRIEF_POINTS the environment
// names a point at which the process ends by SIGKILL, or one at which a run waits for a second one,
// so that both have prepared the same before either commits. In what people run a point is nothing.
#pragma once

#ifdef BRIEF_POINTS
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline bool point_is(const char *variable, const char *name)
{
    const char *named = getenv(variable);
    return named && strcmp(named, name) == 0;
}

static inline void point(const char *name)
{
    static atomic_int arrived;
    if (point_is("BRIEF_DIES_AT", name))
        raise(SIGKILL);
    if (!point_is("BRIEF_MEETS_AT", name))
        return;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < 2)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}
#else
#define point(name) ((void)0)
#endif
