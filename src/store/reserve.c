// Blocks behind the end of the file are allocated by fallocate and given back by a hole in them.
// The number of its blocks says whether they are there.
#include "store/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
    BLOCK_BYTES = 512,  // of st_blocks, whatever the file system's are
    LITTLE = 1 << 20,
};

static bool whole(const struct reserve *reserve)
{
    struct stat about;
    return fstat(reserve->fd, &about) == 0
        && (int64_t)about.st_blocks * BLOCK_BYTES >= RESERVE_BYTES;
}

static int64_t bytes_free(const struct reserve *reserve)
{
    struct statvfs about;
    if (fstatvfs(reserve->fd, &about) != 0)
        return INT64_MAX;
    return (int64_t)about.f_bavail * (int64_t)about.f_frsize;
}

void reserve_look(struct reserve *reserve)
{
    if (whole(reserve)) {
        reserve->had = true;
        reserve->is_short = false;
        return;
    }
    int64_t room = bytes_free(reserve);
    if (room >= 2 * RESERVE_BYTES) {
        reserve->had = fallocate(reserve->fd, FALLOC_FL_KEEP_SIZE, 0, RESERVE_BYTES) == 0;
        reserve->is_short = false;
        return;
    }
    // Somebody has given it back, and what is left is a part of it; or it never was.
    reserve->is_short = reserve->is_short || reserve->had || room <= RESERVE_BYTES;
}

bool reserve_give(struct reserve *reserve)
{
    bool there = whole(reserve);
    reserve->is_short = true;
    return there
        && fallocate(reserve->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, RESERVE_BYTES)
               == 0;
}

bool reserve_give_if_full(struct reserve *reserve)
{
    return bytes_free(reserve) < LITTLE && reserve_give(reserve);
}
