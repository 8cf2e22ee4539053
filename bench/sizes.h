// What a store is made of on disk.
#pragma once

#include "base/error.h"
#include "base/list.h"

struct size {
    struct str name;  // a table, an index, or "(free pages)"
    double bytes;
};

// Every part of the file, in the arena of the list: a list of struct size. Their sum is the size of
// the file; its log is not part of it. Nobody may be writing.
CHECKED bool sizes_read(const char *path, struct list *sizes, struct pawl_error *err);
