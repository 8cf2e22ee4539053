// The peak of memory is asked of the kernel by name: getrusage also counts the process this one was
// made of.
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/world.h"

double seconds_now(void)
{
    return (double)world_monotonic(world_real()) / 1e6;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, size_t count, double part)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare);
    size_t at = (size_t)((double)count * part);
    return values[at < count ? at : count - 1];
}

int64_t proc_number(const char *path, const char *name)
{
    char line[256];
    int64_t number = 0;
    size_t n = strlen(name);
    FILE *file = fopen(path, "re");
    while (file && number == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, n) == 0)
            number = strtoll(line + n, NULL, 10);
    if (file)
        fclose(file);
    return number;
}

int64_t resident_bytes_max(void)
{
    return proc_number("/proc/self/status", "VmHWM:") * 1024;
}
