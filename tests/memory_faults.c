// The linker calls the __wrap_ functions for malloc and its kin, and these the real ones.
#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash_vfs.h"
#include "faults.h"

struct fault_counter memory_faults;

static bool none_left(void)
{
    bool none = !disk_vfs.inside && faults_hit(&memory_faults);
    if (none)
        errno = ENOMEM;
    return none;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_reallocarray(void *old, size_t count, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
char *__real_realpath(const char *path, char *to);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
char *__wrap_realpath(const char *path, char *to);
int __wrap_asprintf(char **to, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_malloc(size_t bytes)
{
    return none_left() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return none_left() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return none_left() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes)
{
    return none_left() ? NULL : __real_reallocarray(old, count, bytes);
}

char *__wrap_strdup(const char *text)
{
    return none_left() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return none_left() ? NULL : __real_strndup(text, n);
}

char *__wrap_realpath(const char *path, char *to)
{
    return none_left() ? NULL : __real_realpath(path, to);
}

int __wrap_asprintf(char **to, const char *format, ...)
{
    va_list values;
    *to = NULL;
    if (none_left())
        return -1;
    va_start(values, format);
    int written = vasprintf(to, format, values);
    va_end(values);
    return written;
}

// SQLite's own allocator, behind a counter.
static sqlite3_mem_methods real;

static void *sqlite_malloc(int bytes)
{
    return none_left() ? NULL : real.xMalloc(bytes);
}

static void *sqlite_realloc(void *old, int bytes)
{
    return none_left() ? NULL : real.xRealloc(old, bytes);
}

void memory_faults_install(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods counted = real;
    counted.xMalloc = sqlite_malloc;
    counted.xRealloc = sqlite_realloc;
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);  // or it would hide small ones
    sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}
