// Files beside the store: the bytes of artifacts, which are too many for a row.
//
// A file has a name that nobody outside learns, and is there for others only once a row says so.
// Whoever writes it holds a lock on it until that row is committed. So a file that has neither a
// row nor a lock was left behind by a process that died: the kernel gives locks back, and no clock
// has to be asked (blob_forsaken). Of a row and its file the row is made last and removed first.
#pragma once

#include "base/error.h"
#include "base/hash.h"
#include "base/world.h"

enum { BLOB_NAME_BYTES = 32 };

// One that is being written, or that has no row yet. The zero value is none.
struct blob {
    char name[BLOB_NAME_BYTES + 1];
    char sha256[HASH_DIGITS + 1];  // once it is settled
    int64_t bytes;
    bool open;
    int fd;                        // holds the lock
    const char *directory;
    struct hash_stream hash;
    int64_t written_out;           // bytes that are on their way to the disk
};

// The directory of a store's files: beside it, by whatever name it is called, or where the URL of a
// server says (`files=`; every process of the store must find the same one). The caller frees it;
// NULL when there is no memory.
char *blobs_path(struct str store_url);

// Begins a file in the directory, which is made when it is not there and must outlive the blob.
CHECKED bool blob_create(const char *directory, const struct world *world, struct blob *blob,
                         struct pawl_error *err);

// PAWL_DISK_FULL when there is no room. The blob is still to be kept or dropped.
CHECKED bool blob_write(struct blob *blob, const void *bytes, size_t n, struct pawl_error *err);

// All of it is on disk, by name too, and its hash is known. Takes as long as the disk needs.
CHECKED bool blob_settle(struct blob *blob, struct pawl_error *err);

void blob_keep(struct blob *blob);  // its row is committed, or may be: nobody knows
void blob_drop(struct blob *blob);  // removes it. None is fine

// Opens a settled one for reading. PAWL_NOT_FOUND when it is gone, PAWL_DAMAGED when it has another
// size.
CHECKED bool blob_open(const char *directory, struct str name, int64_t bytes, int *fd,
                       struct pawl_error *err);

// The same, and reads all of it: PAWL_DAMAGED when the hash is another.
CHECKED bool blob_check(const char *directory, struct str name, int64_t bytes, struct str sha256,
                        struct pawl_error *err);

CHECKED bool blob_remove(const char *directory, struct str name, struct pawl_error *err);

// The names of all files in the directory, in the arena. None when there is no directory.
struct blob_names {
    struct str *at;
    size_t count;
};
CHECKED bool blobs_list(const char *directory, struct arena *arena, struct blob_names *names,
                        struct pawl_error *err);

// Whether nobody holds the file any more; then it is held by the caller, so that nobody else
// removes it meanwhile, and `fd` is to be closed.
bool blob_forsaken(const char *directory, struct str name, int *fd);
