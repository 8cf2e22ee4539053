// Two bytes of the lock file, locked by the kernel: the turnstile, and the lock itself.
#include "store/lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/lock_file.h"

// Tries at once, then ever more slowly, up to once a millisecond.
static bool take_byte(struct lock *lock, off_t byte, int64_t deadline, struct pawl_error *err)
{
    for (int64_t pause_us = 20; !lock_byte(lock->fd, byte, F_WRLCK); pause_us *= 2) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return fail(err, PAWL_STORE, "cannot lock the store: %s", strerrordesc_np(errno));
        if (world_monotonic(lock->world) >= deadline)
            return fail(err, PAWL_BUSY,
                        "another process has been writing to the store for %lld ms: try again",
                        (long long)(lock->wait_us_max / 1000));
        if (pause_us > MILLISECONDS(1))
            pause_us = MILLISECONDS(1);
        world_sleep(lock->world, pause_us);
    }
    return true;
}

bool lock_open(struct lock *lock, const char *path, struct pawl_error *err)
{
    return lock_file_open(path, &lock->fd, err);
}

void lock_close(struct lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

bool lock_take(struct lock *lock, struct pawl_error *err)
{
    int64_t deadline = world_monotonic(lock->world) + lock->wait_us_max;
    if (!take_byte(lock, LOCK_TURNSTILE, deadline, err))
        return false;
    bool taken = take_byte(lock, LOCK_WRITER, deadline, err);
    bool opened = lock_byte(lock->fd, LOCK_TURNSTILE, F_UNLCK);
    assert(opened);
    return taken;
}

void lock_give(struct lock *lock)
{
    bool given = lock_byte(lock->fd, LOCK_WRITER, F_UNLCK);
    assert(given);
}
