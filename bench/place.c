// The signal handler removes the files itself, with calls that a handler may make, and then lets
// the signal do what it would have done. Files that are open are removed all the same.
#include "bench/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

enum { MEMORY_FILE_SYSTEM = 0x01021994 };  // TMPFS_MAGIC

#define BESIDE(name)                                                  \
    {                                                                 \
        name, name "-wal", name "-shm", name "-lock", name "-journal" \
    }
static const char *const files[PLACE_FILES][5] = {
    [PLACE_STORE] = BESIDE("store.db"),
    [PLACE_BASE] = BESIDE("base.db"),
    [PLACE_DISK] = BESIDE("disk.db"),
    [PLACE_CONTROL] = BESIDE("control.db"),
    [PLACE_LOG] = BESIDE("server.log"),
};
static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

// The place; written before the handler is set and after it is unset.
static char path[4096];
static int directory = -1;
static volatile pid_t guest;

void place_guest(pid_t pid)
{
    guest = pid;
}

void place_clear(enum place_file file)
{
    for (size_t i = 0; i < countof(files[file]); i++)
        unlinkat(directory, files[file][i], 0);
}

static void end_guest(void)
{
    if (guest <= 0)
        return;
    kill(guest, SIGKILL);
    waitpid(guest, NULL, 0);
    guest = 0;
}

// Another thread may be making a file just now: it is looked again.
static void remove_all(void)
{
    end_guest();
    for (int tries = 0; tries < 100; tries++) {
        for (unsigned i = 0; i < PLACE_FILES; i++)
            place_clear((enum place_file)i);
        if (rmdir(path) == 0 || errno != ENOTEMPTY)
            return;
    }
}

static void remove_and_die(int signal_number)
{
    remove_all();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

// One that is ignored, as nohup does it, stays ignored.
static void handle(void (*handler)(int))
{
    for (size_t i = 0; i < countof(signals); i++)
        if (signal(signals[i], handler) == SIG_IGN)
            signal(signals[i], SIG_IGN);
}

bool place_make(const char *parent, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct str name = str_format(&arena, "%s/pawl-bench-XXXXXX", parent);
    if (name.n == 0 || name.n >= sizeof path)
        return fail(err, PAWL_USAGE, "the directory %s has too long a name", parent);
    memcpy(path, name.s, name.n + 1);
    if (!mkdtemp(path))
        return fail(err, PAWL_STORE, "cannot make a directory in %s: %s", parent, strerror(errno));
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        rmdir(path);
        return fail(err, PAWL_STORE, "cannot open %s: %s", path, strerror(errno));
    }
    handle(remove_and_die);
    return true;
}

void place_remove(void)
{
    if (directory < 0)
        return;
    remove_all();
    handle(SIG_DFL);
    close(directory);
    directory = -1;
}

const char *place_path(struct arena *arena, enum place_file file)
{
    return str_cstr(arena, str_format(arena, "%s/%s", path, files[file][0]));
}

bool place_in_memory(const char *where)
{
    struct statfs about;
    return statfs(where, &about) == 0 && about.f_type == MEMORY_FILE_SYSTEM;
}
