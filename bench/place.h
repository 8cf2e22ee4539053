// A directory of our own for stores that are only measured. It is gone at the end, also when the
// program is interrupted or told to stop.
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct arena;

enum place_file { PLACE_STORE, PLACE_BASE, PLACE_DISK, PLACE_CONTROL, PLACE_LOG, PLACE_FILES };

// Makes it below `parent`. A program has one place at a time.
CHECKED bool place_make(const char *parent, struct pawl_error *err);
void place_remove(void);  // without one: nothing

const char *place_path(struct arena *arena, enum place_file file);
void place_clear(enum place_file file);  // removes it, and what SQLite and the store put beside it

// A process that works on the files: it is killed before they are removed, so that it makes no new
// ones. 0: none any more.
void place_guest(pid_t pid);

// Whether a directory is in memory, where a durable commit costs nothing and means nothing.
bool place_in_memory(const char *directory);
