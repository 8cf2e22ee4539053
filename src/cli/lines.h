// Lines of a file or pipe, one at a time, in bounded memory.
#pragma once

#include "base/error.h"

enum { LINE_BYTES_MAX = 8 << 20 };

struct lines {
    int fd;
    const char *path;
    char *bytes;        // LINE_BYTES_MAX + 1 of them
    size_t start, end;  // what was read and not yet handed out
    bool at_end;
    int64_t consumed;   // bytes handed out so far
    int64_t number;     // of the line handed out last, from 1
};

struct line {
    struct str text;  // without its end; until the next call
    bool too_long;    // over LINE_BYTES_MAX: it was passed over, and the text is empty
};

CHECKED bool lines_open(struct lines *lines, const char *path, struct pawl_error *err);
void lines_end(struct lines *lines);  // for SCOPED(lines)

// The next line; `got` is false when there is none left.
CHECKED bool lines_next(struct lines *lines, struct line *line, bool *got, struct pawl_error *err);
