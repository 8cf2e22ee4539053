// Every byte of the lock file at once, and never waiting: who is there has one of them.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/copy.h"
#include "store/lock_file.h"

// A process that works on a store listens (bell.h) and has a name (hold.h); one that writes has
// the writer's byte.
static bool lock_all(int fd)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0 };
    return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

bool sole_take(struct sole *sole, struct str store_url, struct pawl_error *err)
{
    char *path = NULL;
    *sole = (struct sole){0};
    bool opened = lock_file_path(store_url, &path, err) && lock_file_open(path, &sole->fd, err);
    free(path);
    if (!opened)
        return false;
    if (lock_all(sole->fd))
        return true;
    if (errno == EAGAIN || errno == EACCES)
        return fail(err, PAWL_CONFLICT, "store %.*s is in use: end every server and program that "
                                        "works on it, then try again",
                    STR(store_url));
    return fail(err, PAWL_STORE, "cannot lock store %.*s: %s", STR(store_url),
                strerrordesc_np(errno));
}

void sole_end(struct sole *sole)
{
    if (sole->fd > 0)
        close(sole->fd);
    *sole = (struct sole){0};
}
