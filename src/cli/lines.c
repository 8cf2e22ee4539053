// One buffer as long as the longest line allowed. A longer line is passed over piece by piece.
#include "cli/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool lines_open(struct lines *lines, const char *path, struct pawl_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    *lines = (struct lines){
        .fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
        .path = path,
    };
    if (lines->fd < 0)
        return fail(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_INVALID, "cannot open `%s`: %s",
                    path, strerror(errno));
    lines->bytes = malloc(LINE_BYTES_MAX + 1);
    return lines->bytes || fail(err, PAWL_NO_MEMORY, "no memory to read %s", path);
}

void lines_end(struct lines *lines)
{
    if (lines->fd > STDERR_FILENO)
        close(lines->fd);
    free(lines->bytes);
    *lines = (struct lines){ .fd = -1 };
}

// Reads more behind what is there; the caller has made room.
static bool fill(struct lines *lines, struct pawl_error *err)
{
    ssize_t got = 0;
    do {
        got = read(lines->fd, lines->bytes + lines->end, LINE_BYTES_MAX + 1 - lines->end);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail(err, PAWL_INVALID, "cannot read line %lld of %s: %s",
                    (long long)lines->number + 1, lines->path, strerror(errno));
    lines->at_end = got == 0;
    lines->end += (size_t)got;
    return true;
}

static void make_room(struct lines *lines)
{
    memmove(lines->bytes, lines->bytes + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
}

// Until there is a whole line, or the end, or no more room. `length` is without the line's end.
static bool gather(struct lines *lines, size_t *length, bool *ended, struct pawl_error *err)
{
    size_t searched = 0;
    make_room(lines);
    for (;;) {
        const char *end = memchr(lines->bytes + searched, '\n', lines->end - searched);
        *ended = end != NULL;
        *length = end ? (size_t)(end - lines->bytes) : lines->end;
        if (end || lines->at_end || lines->end > LINE_BYTES_MAX)
            return true;
        searched = lines->end;
        if (!fill(lines, err))
            return false;
    }
}

static void hand_out(struct lines *lines, size_t length, bool ended)
{
    lines->start += length + (ended ? 1 : 0);
    lines->consumed += (int64_t)length + (ended ? 1 : 0);
}

static bool skip_line(struct lines *lines, struct pawl_error *err)
{
    size_t length = 0;
    bool ended = false;
    while (!ended && (!lines->at_end || lines->start < lines->end)) {
        if (!gather(lines, &length, &ended, err))
            return false;
        hand_out(lines, length, ended);
    }
    return true;
}

bool lines_next(struct lines *lines, struct line *line, bool *got, struct pawl_error *err)
{
    size_t length = 0;
    bool ended = false;
    *line = (struct line){0};
    if (!gather(lines, &length, &ended, err))
        return false;
    *got = ended || length > 0;
    line->text = (struct str){ lines->bytes, length };
    line->too_long = length > LINE_BYTES_MAX;
    hand_out(lines, length, ended);
    lines->number += *got;
    if (!line->too_long)
        return true;
    line->text = S("");
    return ended || skip_line(lines, err);
}
