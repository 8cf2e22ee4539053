// Times and sizes, and how one number is made of many of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

double seconds_now(void);  // monotonic

// What all threads of this process have kept processors busy for, in the kernel too. Other programs
// that keep the machine busy lengthen the seconds, and this hardly.
double processor_seconds(void);

// The value that `part` of the others are below: 0.5 is the median. Sorts them. 0 when there are
// none.
double quantile(double *values, size_t count, double part);
static inline double median(double *values, size_t count)
{
    return quantile(values, count, 0.5);
}

int64_t resident_bytes_max(void);  // of this process, so far

// The number after `name` in a file of /proc, such as `VmHWM:`; 0 when it does not say.
int64_t proc_number(const char *path, const char *name);
