// Files as whole things: one has its name only when all of it is on disk.
#pragma once

#include "base/arena.h"
#include "base/error.h"

// What a path leads to is on disk when this answers: a file, or a directory's names.
CHECKED bool file_sync(const char *path, struct pawl_error *err);
CHECKED bool file_sync_directory_of(const char *path, struct pawl_error *err);

// Gives a file another name, in place of what had it before; on disk when this answers.
CHECKED bool file_move(const char *from, const char *to, struct pawl_error *err);

// Two files take each other's names, at once; on disk when this answers.
CHECKED bool file_exchange(const char *one, const char *other, struct pawl_error *err);

bool file_there(const char *path);
void file_remove(const char *path);  // one that is not there is fine

struct str file_name(struct str path);  // what comes after the last slash

// Makes `to` the same file as `from`, or a copy of it where a link cannot be. One that is there
// already and has its size is left as it is. For files that nobody changes once they are whole.
CHECKED bool file_share(const char *from, const char *to, struct pawl_error *err);

// The same for every file in a directory and those below it, except copies that are not done: names
// that end in `.tmp` or begin with a dot. A directory that is not there has no files. `files`,
// unless NULL, counts them.
CHECKED bool files_share(const char *from, const char *to, int64_t *files, struct pawl_error *err);

// Another name for a file or directory beside it, in place of an older one.
CHECKED bool file_alias(const char *target, const char *alias, struct pawl_error *err);
