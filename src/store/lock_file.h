// The file beside a store whose bytes processes lock: which file it is, and what each byte is for.
//
// They are locks of open file descriptions: they belong to one opening of the file, so other code
// that opens and closes it cannot drop them by accident, and the kernel gives them back when the
// opening has no descriptor left: at the latest when the process is dead, however it died.
//
// fork() gives the child a descriptor of the same opening: what the parent holds stays held until
// the child has ended too, or become another program (the descriptors are closed by exec). That is
// why a process must not fork and go on while a store is open.
#pragma once

#include <sys/types.h>

#include "base/error.h"

enum {
    LOCK_TURNSTILE,         // lock.h: who is the next to write
    LOCK_WRITER,            // lock.h: who writes, or copies the log back
    LOCK_LISTENERS,         // bell.h: shared by all who want to be rung
    LOCK_BELL,              // bell.h: never locked; writing it rings
    LOCK_NAMES = 1 << 20,   // hold.h: from here on a byte for each name
};

#define LOCK_FILE_SUFFIX "-lock"

// The file itself, whatever links lead to it: its lock file must be the same by every name. A file
// that is yet to be made is named by its directory. The caller frees it.
CHECKED bool store_file_resolve(const char *path, char **file, struct pawl_error *err);

// The path of a store's lock file. The caller frees it.
CHECKED bool lock_file_path(struct str store_url, char **path, struct pawl_error *err);

// Opens it, and makes it when it is not there.
CHECKED bool lock_file_open(const char *path, int *fd, struct pawl_error *err);

// F_RDLCK, F_WRLCK or F_UNLCK on one byte, at once or not at all; errno says why not.
bool lock_byte(int fd, off_t byte, short type);
