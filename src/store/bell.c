// An eventfd for this process, and for the others an inotify watch or a session with the server,
// waited for together.
//
// Both remember a ring that nobody waits for, and both melt many rings into one: the eventfd by
// counting, inotify because equal events behind each other are one.
#include "store/bell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/world.h"
#include "store/lock_file.h"
#include "store/server_bell.h"
#include "store/store_url.h"

struct bell {
    int own;     // eventfd
    int others;  // inotify; -1: there is none to be had
    struct server_bell *server;  // instead, where the store is on one
    char name[BELL_NAME_BYTES];
};

// The machine has a limited number of watches, and a sandbox may have none: then the tick must do.
static int watch(const char *path)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY) >= 0)
        return fd;
    close(fd);
    return -1;
}

static bool watch_lock_file(struct bell *bell, struct str store_url, struct pawl_error *err)
{
    char *path = NULL;
    int fd = -1;
    bool there = lock_file_path(store_url, &path, err) && lock_file_open(path, &fd, err);
    if (there) {
        bell->others = watch(path);
        close(fd);
    }
    free(path);
    return there;
}

static bool hear_others(struct bell *bell, struct str store_url, struct pawl_error *err)
{
    if (!url_names_server(store_url))
        return watch_lock_file(bell, store_url, err);
    return url_is_pooled(store_url) || server_bell_open(&bell->server, store_url, bell->name, err);
}

void bell_name_make(char name[BELL_NAME_BYTES])
{
    snprintf(name, BELL_NAME_BYTES, "%016llx", (unsigned long long)world_random(world_real()));
}

bool bell_open(struct bell **bell, struct str store_url, struct pawl_error *err)
{
    char name[BELL_NAME_BYTES];
    bell_name_make(name);
    return bell_open_named(bell, store_url, name, err);
}

bool bell_open_named(struct bell **bell, struct str store_url, const char *name,
                     struct pawl_error *err)
{
    *bell = NULL;
    struct bell *b = malloc(sizeof *b);
    if (!b)
        return fail(err, PAWL_NO_MEMORY, "no memory for a bell");
    *b = (struct bell){ .own = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .others = -1 };
    snprintf(b->name, sizeof b->name, "%s", name);
    bool opened = b->own >= 0
        ? hear_others(b, store_url, err)
        : fail(err, PAWL_STORE, "cannot make a bell: %s", strerrordesc_np(errno));
    if (opened)
        *bell = b;
    else
        bell_close(b);
    return opened;
}

void bell_close(struct bell *bell)
{
    if (!bell)
        return;
    if (bell->own >= 0)
        close(bell->own);
    if (bell->others >= 0)
        close(bell->others);
    server_bell_close(bell->server);
    free(bell);
}

bool bell_hears_others(const struct bell *bell)
{
    return bell->server ? server_bell_hears(bell->server) : bell->others >= 0;
}

const char *bell_name(const struct bell *bell)
{
    return bell->name;
}

static void drain(int fd)
{
    char events[4096];
    while (read(fd, events, sizeof events) > 0) {}
}

// Waits for either until then, or for ever; a signal in between is no ring.
static void wait_until(struct pollfd *fds, nfds_t count, int64_t end)
{
    int64_t left = end == INT64_MAX ? 0 : end - world_monotonic(world_real());
    if (left < 0)
        left = 0;
    struct timespec wait = { left / SECONDS(1), (long)(left % SECONDS(1)) * 1000 };
    int ready = ppoll(fds, count, end == INT64_MAX ? NULL : &wait, NULL);
    assert(ready >= 0 || errno == EINTR);
    if (ready <= 0)
        fds[0].revents = fds[1].revents = 0;
}

static bool answer(struct bell *bell, const struct pollfd *fds)
{
    bool rung = fds[0].revents != 0;
    if (bell->server)
        rung = server_bell_look(bell->server, world_monotonic(world_real())) || rung;
    else
        rung = rung || fds[1].revents != 0;
    if (!rung)
        return false;
    drain(bell->own);
    if (bell->others >= 0)
        drain(bell->others);
    return true;
}

bool bell_wait(struct bell *bell, int64_t timeout_us)
{
    int64_t end = timeout_us < 0 ? INT64_MAX : world_monotonic(world_real()) + timeout_us;
    for (;;) {
        int64_t until = INT64_MAX;
        struct pollfd fds[] = {
            { .fd = bell->own, .events = POLLIN },
            bell->server ? server_bell_poll(bell->server, &until)
                         : (struct pollfd){ .fd = bell->others, .events = POLLIN },  // or -1
        };
        wait_until(fds, countof(fds), until < end ? until : end);
        if (answer(bell, fds))
            return true;
        if (world_monotonic(world_real()) >= end)
            return false;
    }
}

bool bell_posted(struct bell *bell)
{
    return bell->server && server_bell_posted(bell->server);
}

void bell_ring(struct bell *bell)
{
    uint64_t one = 1;
    // It can only fail when it has been rung 2^64 - 2 times and not been heard.
    ssize_t written = write(bell->own, &one, sizeof one);
    (void)written;
}

// ----- for drivers

bool bell_listen(int lock_fd, struct pawl_error *err)
{
    return lock_byte(lock_fd, LOCK_LISTENERS, F_RDLCK)
        || fail(err, PAWL_STORE, "cannot listen for news of the store: %s", strerrordesc_np(errno));
}

// A lock of one's own description is no obstacle to oneself: what is found is somebody else's.
static bool somebody_listens(int lock_fd)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_LISTENERS, .l_len = 1
    };
    return fcntl(lock_fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

void bell_ring_others(int lock_fd)
{
    if (!somebody_listens(lock_fd))
        return;
    // A ring that cannot be written is lost like any other: whoever waits looks once in a while.
    ssize_t written = pwrite(lock_fd, "!", 1, LOCK_BELL);
    (void)written;
}
