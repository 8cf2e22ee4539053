// Progress goes to a terminal only: a log has no use for it.
#include "torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/world.h"

int64_t torture_asked(const char *variable, int64_t otherwise)
{
    const char *text = getenv(variable);
    int64_t number = otherwise;
    return text && str_int(str_of(text), &number) ? number : otherwise;
}

bool torture_picked(const char *variable, const char *part)
{
    const char *text = getenv(variable);
    return !text || str_eq(str_of(text), str_of(part));
}

void torture_count(struct torture *t, bool survived)
{
    t->tried++;
    t->survived += survived;
    int64_t now = world_monotonic(world_real());
    if (now - t->told < SECONDS(1) || !isatty(STDOUT_FILENO))
        return;
    t->told = now;
    printf("\r%s: %lld", t->name, (long long)t->tried);
    if (t->planned)
        printf(" of %lld", (long long)t->planned);
    printf(", %lld found ", (long long)(t->tried - t->survived));
    fflush(stdout);
}

int64_t torture_end(struct torture *t)
{
    int64_t found = t->tried - t->survived;
    printf("%s%s: %lld tried, %lld survived, %lld found, %lld not reached\n",
           isatty(STDOUT_FILENO) ? "\r" : "", t->name, (long long)t->tried,
           (long long)t->survived, (long long)found, (long long)t->not_reached);
    fflush(stdout);
    return found;
}
