// Two bytes of one file, locked by the kernel: byte 0 is the turnstile, byte 1 the lock itself.
//
// These are open file description locks: they belong to this open file, not to the process, so
// other code that opens and closes the same file cannot drop them by accident.
#include "store/lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TURNSTILE, LOCK };

static bool try_byte(int fd, off_t byte, short type)
{
    struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

// Tries at once, then ever more slowly, up to once a millisecond.
static bool take_byte(struct lock *lock, off_t byte, int64_t deadline, struct pawl_error *err)
{
    for (int64_t pause_us = 20; !try_byte(lock->fd, byte, F_WRLCK); pause_us *= 2) {
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
    lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->fd < 0)
        return fail(err, PAWL_STORE, "cannot open the lock file %s: %s", path,
                    strerrordesc_np(errno));
    return true;
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
    if (!take_byte(lock, TURNSTILE, deadline, err))
        return false;
    bool taken = take_byte(lock, LOCK, deadline, err);
    bool opened = try_byte(lock->fd, TURNSTILE, F_UNLCK);
    assert(opened);
    return taken;
}

void lock_give(struct lock *lock)
{
    bool given = try_byte(lock->fd, LOCK, F_UNLCK);
    assert(given);
}
