// Calls of the system that fail, in a program linked with `--wrap` of them (see meson.build): on
// files, locks and directories. What gives something back does not fail.
#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/types.h>

struct fault_counter system_faults;
int system_errno;
long system_disk;

static bool fails(void)
{
    bool hit = faults_hit(&system_faults);
    if (hit)
        errno = system_errno;
    return hit;
}

#define FAILING(type, name, failure, parameters, arguments)   \
    type __real_##name parameters;                            \
    type __wrap_##name parameters;                            \
    type __wrap_##name parameters                             \
    {                                                         \
        return fails() ? (failure) : __real_##name arguments; \
    }

typedef int choose_entry(const struct dirent *entry);
typedef int order_entries(const struct dirent **a, const struct dirent **b);

// clang-format off
FAILING(int, fsync, -1, (int fd), (fd))
FAILING(int, flock, -1, (int fd, int how), (fd, how))
FAILING(int, link, -1, (const char *from, const char *to), (from, to))
FAILING(int, symlink, -1, (const char *target, const char *path), (target, path))
FAILING(int, rename, -1, (const char *from, const char *to), (from, to))
FAILING(int, renameat2, -1, (int in, const char *from, int into, const char *to, unsigned how),
        (in, from, into, to, how))
FAILING(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
FAILING(int, stat64, -1, (const char *path, struct stat *about), (path, about))
FAILING(int, lstat64, -1, (const char *path, struct stat *about), (path, about))
FAILING(int, fstat64, -1, (int fd, struct stat *about), (fd, about))
FAILING(ssize_t, read, -1, (int fd, void *bytes, size_t n), (fd, bytes, n))
FAILING(ssize_t, write, -1, (int fd, const void *bytes, size_t n), (fd, bytes, n))
FAILING(int, unlink, -1, (const char *path), (path))
FAILING(int, eventfd, -1, (unsigned start, int flags), (start, flags))
FAILING(int, inotify_init1, -1, (int flags), (flags))
FAILING(int, inotify_add_watch, -1, (int fd, const char *path, uint32_t events),
        (fd, path, events))
FAILING(int, fstatvfs64, -1, (int fd, struct statvfs *about), (fd, about))
FAILING(int, access, -1, (const char *path, int how), (path, how))
FAILING(int, faccessat, -1, (int in, const char *path, int how, int flags),
        (in, path, how, flags))
FAILING(DIR *, opendir, NULL, (const char *path), (path))
FAILING(int, scandir64, -1, (const char *path, struct dirent ***found, choose_entry *choose,
        order_entries *order), (path, found, choose, order))
// clang-format on

int __real_statfs64(const char *path, struct statfs *about);
int __wrap_statfs64(const char *path, struct statfs *about);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);

int __wrap_statfs64(const char *path, struct statfs *about)
{
    int result = fails() ? -1 : __real_statfs64(path, about);
    if (result == 0 && system_disk)
        about->f_type = system_disk;
    return result;
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return fails() ? -1 : __real_open64(path, flags, mode);
}

// Only locks are asked for with it.
int __wrap_fcntl64(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    struct flock *range = va_arg(more, struct flock *);
    va_end(more);
    return range->l_type != F_UNLCK && fails() ? -1 : __real_fcntl64(fd, command, range);
}
