// The order is always: write, sync, rename, sync the directory. A kill or a loss of power in
// between leaves the old name, or the new one with everything behind it.
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 16, DEPTH_MAX = 8 };

static bool failed(const char *what, const char *path, struct pawl_error *err)
{
    enum pawl_code code = errno == ENOSPC || errno == EDQUOT ? PAWL_DISK_FULL : PAWL_STORE;
    return fail(err, code, "cannot %s %s: %s", what, path, strerrordesc_np(errno));
}
#define failed(...) REFUSES(failed(__VA_ARGS__))

static void descriptor_end(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

bool file_sync(const char *path, struct pawl_error *err)
{
    SCOPED(descriptor) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || failed("sync", path, err);
}

bool file_sync_directory_of(const char *path, struct pawl_error *err)
{
    char directory[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    int bytes = slash == path ? 1 : slash ? (int)(slash - path)
                                          : 0;
    if (slash)
        snprintf(directory, sizeof directory, "%.*s", bytes, path);
    return file_sync(directory, err);
}

bool file_move(const char *from, const char *to, struct pawl_error *err)
{
    return (rename(from, to) == 0 || failed("rename", from, err))
        && file_sync_directory_of(to, err);
}

bool file_exchange(const char *one, const char *other, struct pawl_error *err)
{
    return (renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0
            || failed("exchange", one, err))
        && file_sync_directory_of(one, err) && file_sync_directory_of(other, err);
}

bool file_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

void file_remove(const char *path)
{
    unlink(path);
}

struct str file_name(struct str path)
{
    for (size_t i = path.n; i > 0; i--)
        if (path.s[i - 1] == '/')
            return (struct str){ path.s + i, path.n - i };
    return path;
}

static bool write_all(int fd, const char *bytes, ssize_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, (size_t)count);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? written : 0;
    }
    return true;
}

static bool copy_bytes(int from, int to)
{
    char bytes[COPY_BYTES];
    ssize_t got = 0;
    do {
        got = read(from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || !write_all(to, bytes, got))
            return false;
    } while (got != 0);
    return fsync(to) == 0;
}

static bool copy(const char *from, const char *to, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    const char *half = str_cstr(&arena, str_format(&arena, "%s.tmp", to));
    SCOPED(descriptor) int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return failed("read", from, err);
    SCOPED(descriptor) int out = open(half, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out >= 0 && copy_bytes(in, out) && rename(half, to) == 0)
        return true;
    bool copied = failed("copy to", to, err);
    unlink(half);
    return copied;
}

// A copy that was made while the file was still written is shorter than it is now.
static bool shared_before(const char *from, const char *to)
{
    struct stat one, other;
    return stat(from, &one) == 0 && stat(to, &other) == 0 && one.st_size == other.st_size;
}

bool file_share(const char *from, const char *to, struct pawl_error *err)
{
    return link(from, to) == 0 || (errno == EEXIST && shared_before(from, to))
        || copy(from, to, err);
}

bool file_alias(const char *target, const char *alias, struct pawl_error *err)
{
    unlink(alias);
    return symlink(file_name(str_of(target)).s, alias) == 0 || failed("make", alias, err);
}

static bool half_written(const char *name)
{
    return name[0] == '.' || str_ends(str_of(name), S(".tmp"));
}

static void directory_end(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

struct sharing {
    int depth;
    int64_t files;
};

static bool share_all(const char *from, const char *to, struct sharing *s, struct pawl_error *err);

// One that is removed meanwhile is no longer there to be shared, nor is what no file is.
static bool share_one(const char *from, const char *to, struct sharing *s, struct pawl_error *err)
{
    struct stat about;
    if (lstat(from, &about) != 0)
        return errno == ENOENT || failed("look at", from, err);
    if (S_ISDIR(about.st_mode))
        return share_all(from, to, s, err);
    if (!S_ISREG(about.st_mode))
        return true;
    bool shared = file_share(from, to, err);
    s->files += shared;
    return shared || (lstat(from, &about) != 0 && errno == ENOENT);
}

static bool share_all(const char *from, const char *to, struct sharing *s, struct pawl_error *err)
{
    SCOPED(directory) DIR *directory = opendir(from);
    if (!directory)
        return errno == ENOENT || failed("read", from, err);
    if (++s->depth > DEPTH_MAX)
        return fail(err, PAWL_STORE, "%s is deeper than anything Pawl makes", from);
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        return failed("make", to, err);
    const struct dirent *entry = NULL;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this directory
    while ((entry = readdir(directory))) {
        SCOPED(arena) struct arena arena = {0};
        if (half_written(entry->d_name))
            continue;
        struct str source = str_format(&arena, "%s/%s", from, entry->d_name);
        struct str target = str_format(&arena, "%s/%s", to, entry->d_name);
        if (arena.failed)
            return fail(err, PAWL_NO_MEMORY, "no memory to name a file");
        if (!share_one(source.s, target.s, s, err))
            return false;
    }
    s->depth--;
    return file_sync(to, err) && file_sync_directory_of(to, err);
}

bool files_share(const char *from, const char *to, int64_t *files, struct pawl_error *err)
{
    struct sharing sharing = {0};
    bool shared = share_all(from, to, &sharing, err);
    if (files)
        *files = sharing.files;
    return shared;
}
