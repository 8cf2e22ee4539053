// Paths by realpath, locks by fcntl: everything the system has to say about the lock file.
#include "store/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store_url.h"

static char *resolved(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole)
        return whole;
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *real = directory ? realpath(directory, NULL) : NULL;
    char *joined = NULL;
    if (real && asprintf(&joined, "%s/%s", real, slash ? slash + 1 : path) < 0)
        joined = NULL;
    free(directory);
    free(real);
    return joined;
}

bool store_file_resolve(const char *path, char **file, struct pawl_error *err)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return fail(err, PAWL_STORE, "%s is not a regular file: a store is one", path);
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode) && stat(path, &about) != 0)
        return fail(err, PAWL_STORE, "%s is a link to a file that is not there", path);
    *file = resolved(path);
    return *file || fail(err, PAWL_STORE, "cannot open %s: %s", path, strerrordesc_np(errno));
}

bool lock_file_path(struct str store_url, char **path, struct pawl_error *err)
{
    *path = NULL;
    if (!url_names_file(store_url))
        return fail(err, PAWL_USAGE, "%s",
                    url_names_server(store_url)
                        ? "a store on PostgreSQL is no file: copy it with pg_dump and pg_restore"
                        : "only a store of the form sqlite:FILE has a lock file beside it");
    struct str scheme = S("sqlite:");
    char *named = strndup(store_url.s + scheme.n, store_url.n - scheme.n), *file = NULL;
    if (!named)
        return fail(err, PAWL_NO_MEMORY, "no memory to name the lock file");
    bool resolves = store_file_resolve(named, &file, err);
    free(named);
    if (!resolves)
        return false;
    bool joined = asprintf(path, "%s" LOCK_FILE_SUFFIX, file) >= 0;
    free(file);
    return joined || fail(err, PAWL_NO_MEMORY, "no memory to name the lock file");
}

bool lock_file_open(const char *path, int *fd, struct pawl_error *err)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    return *fd >= 0
        || fail(err, PAWL_STORE, "cannot open the lock file %s: %s", path, strerrordesc_np(errno));
}

bool lock_byte(int fd, off_t byte, short type)
{
    struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}
