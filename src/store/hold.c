// A name is one byte of the lock file, far behind those of lock.h and bell.h: at a hash of the
// name, so that nobody keeps a list. Two names meet at one byte once in 2^61 pairs.
#include "store/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/lock_file.h"

static off_t byte_of(struct str name)
{
    static const uint8_t everybodys[HASH_SECRET_BYTES];  // all must find the same byte
    return LOCK_NAMES + (hash_short(everybodys, &name, 1) >> 2);
}

static bool lock_name(struct hold *hold, struct str name, struct pawl_error *err)
{
    if (lock_byte(hold->fd, byte_of(name), F_WRLCK)) {
        hold->taken = true;
        return true;
    }
    if (errno == EAGAIN || errno == EACCES)
        return fail(err, PAWL_CONFLICT,
                    "instance %.*s runs already in another process: end that one, or give this "
                    "one a name of its own",
                    STR(name));
    return fail(err, PAWL_STORE, "cannot lock the name of instance %.*s: %s", STR(name),
                strerrordesc_np(errno));
}

static bool open_lock_file(struct hold *hold, struct str store_url, struct pawl_error *err)
{
    char *path = NULL;
    *hold = (struct hold){ .fd = -1 };
    bool opened = lock_file_path(store_url, &path, err) && lock_file_open(path, &hold->fd, err);
    free(path);
    return opened;
}

static bool close_lock_file(struct hold *hold)
{
    close(hold->fd);
    *hold = (struct hold){ .fd = -1 };
    return false;
}

bool hold_take(struct hold *hold, struct str store_url, struct str name, struct pawl_error *err)
{
    return open_lock_file(hold, store_url, err)
        && (lock_name(hold, name, err) || close_lock_file(hold));
}

bool hold_take_any(struct hold *hold, struct str store_url, struct str stem, struct str *name,
                   struct arena *arena, struct pawl_error *err)
{
    if (!open_lock_file(hold, store_url, err))
        return false;
    struct pawl_error why = {0};
    for (int number = 1; number <= HOLD_NUMBER_MAX; number++) {
        *name = number == 1 ? str_dup(arena, stem)
                            : str_format(arena, "%.*s#%d", STR(stem), number);
        if (lock_name(hold, *name, &why))
            return true;
        if (why.code != PAWL_CONFLICT)
            break;
    }
    close_lock_file(hold);
    if (why.code != PAWL_CONFLICT)
        return fail(err, why.code, "%s", why.message);
    return fail(err, PAWL_CONFLICT, "%d processes named %.*s run already: give this one a name of "
                                    "its own",
                HOLD_NUMBER_MAX, STR(stem));
}

void hold_give(struct hold *hold)
{
    if (hold->taken)
        close(hold->fd);
    *hold = (struct hold){ .fd = -1 };
}
