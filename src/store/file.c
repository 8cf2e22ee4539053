// Links are followed once, when the store is opened.
#include "store/file.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

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

bool file_resolve(char **path, struct pawl_error *err)
{
    struct stat about;
    if (stat(*path, &about) == 0 && !S_ISREG(about.st_mode))
        return fail(err, PAWL_STORE, "%s is not a regular file: a store is one", *path);
    if (lstat(*path, &about) == 0 && S_ISLNK(about.st_mode)
        && stat(*path, &about) != 0)
        return fail(err, PAWL_STORE, "%s is a link to a file that is not there", *path);
    char *whole = resolved(*path);
    if (!whole)
        return fail(err, PAWL_STORE, "cannot open %s: %s", *path, strerrordesc_np(errno));
    free(*path);
    *path = whole;
    return true;
}

bool file_on_this_machine(const char *path, struct pawl_error *err)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } remote[] = {
        { NFS_SUPER_MAGIC, "NFS" },      { SMB_SUPER_MAGIC, "SMB" }, { CIFS_SUPER_MAGIC, "CIFS" },
        { SMB2_SUPER_MAGIC, "SMB2" },    { V9FS_MAGIC, "9P" },       { CEPH_SUPER_MAGIC, "Ceph" },
        { AFS_SUPER_MAGIC, "AFS" },
    };
    struct statfs about;
    if (statfs(path, &about) != 0)
        return true;
    for (size_t i = 0; i < countof(remote); i++)
        if ((unsigned long)about.f_type == remote[i].magic)
            return fail(err, PAWL_STORE, "%s is on a network file system (%s), where SQLite loses "
                                         "data: use a local disk, or PostgreSQL",
                        path, remote[i].name);
    return true;
}
