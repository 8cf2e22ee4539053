// A name is one byte of the lock file, far behind those of lock.h and bell.h: at a hash of the
// name, so that nobody keeps a list. Two names meet at one byte once in 2^61 pairs. On a server it
// is an advisory lock by the same hash.
#include "store/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/lock_file.h"
#include "store/server_lock.h"
#include "store/store_url.h"

static int64_t number_of(struct str name)
{
    static const uint8_t everybodys[HASH_SECRET_BYTES];  // all must find the same number
    return hash_short(everybodys, &name, 1) >> 2;
}

static bool lock_in_file(struct hold *hold, struct str name, struct pawl_error *err)
{
    hold->taken = lock_byte(hold->fd, LOCK_NAMES + number_of(name), F_WRLCK);
    return hold->taken || errno == EAGAIN || errno == EACCES
        || fail(err, PAWL_STORE, "cannot lock the name of instance %.*s: %s", STR(name),
                strerrordesc_np(errno));
}

static bool lock_name(struct hold *hold, struct str name, struct pawl_error *err)
{
    if (hold->none)
        return true;
    bool asked = hold->server ? server_lock_take(hold->server, number_of(name), &hold->taken, err)
                               : lock_in_file(hold, name, err);
    if (!asked || hold->taken)
        return asked;
    return fail(err, PAWL_CONFLICT,
                "instance %.*s runs already in another process: end that one, or give this "
                "one a name of its own",
                STR(name));
}

static bool open_place(struct hold *hold, struct str store_url, struct pawl_error *err)
{
    char *path = NULL;
    *hold = (struct hold){ .fd = -1, .none = url_is_pooled(store_url) };
    if (hold->none)
        return true;
    if (url_names_server(store_url))
        return server_lock_open(&hold->server, store_url, err);
    bool opened = lock_file_path(store_url, &path, err) && lock_file_open(path, &hold->fd, err);
    free(path);
    return opened;
}

// Of a place that was opened.
static void close_place(struct hold *hold)
{
    if (hold->server)
        server_lock_close(hold->server);
    else
        close(hold->fd);
    *hold = (struct hold){ .fd = -1 };
}

bool hold_take(struct hold *hold, struct str store_url, struct str name, struct pawl_error *err)
{
    if (!open_place(hold, store_url, err))
        return false;
    if (lock_name(hold, name, err))
        return true;
    close_place(hold);
    return false;
}

struct str hold_name(struct arena *arena, struct str stem, int number)
{
    return number == 1 ? str_dup(arena, stem) : str_format(arena, "%.*s#%d", STR(stem), number);
}

bool hold_take_any(struct hold *hold, struct str store_url, struct str stem, struct str *name,
                   struct arena *arena, struct pawl_error *err)
{
    if (!open_place(hold, store_url, err))
        return false;
    struct pawl_error why = {0};
    for (int number = 1; number <= HOLD_NUMBER_MAX; number++) {
        *name = hold_name(arena, stem, number);
        if (lock_name(hold, *name, &why))
            return true;
        if (why.code != PAWL_CONFLICT)
            break;
    }
    close_place(hold);
    if (why.code != PAWL_CONFLICT)
        return fail(err, why.code, "%s", why.message);
    return fail(err, PAWL_CONFLICT, "%d processes named %.*s run already: give this one a name of "
                                    "its own",
                HOLD_NUMBER_MAX, STR(stem));
}

bool hold_keep(struct hold *hold, struct str name, struct pawl_error *err)
{
    if (!hold->server || (hold->taken && server_lock_lives(hold->server)))
        return true;
    hold->taken = false;  // a session that lives and could not take it has nothing to keep
    return server_lock_reopen(hold->server, err) && lock_name(hold, name, err);
}

void hold_give(struct hold *hold)
{
    if (hold->taken || hold->server)
        close_place(hold);
    *hold = (struct hold){ .fd = -1 };
}
