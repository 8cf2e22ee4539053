// Every call of the system is looked at, because a full disk may show in any of them.
#include "store/blob.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "store/lock_file.h"
#include "store/store_url.h"

enum { NAMES_TRIED = 8, READ_BYTES = 64 << 10 };

#define WRITE_OUT_BYTES (8 << 20)  // so much may wait in memory for the disk

static bool refuse(struct pawl_error *err, const char *what, const char *directory)
{
    bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return fail(err, full ? PAWL_DISK_FULL : PAWL_STORE, "cannot %s in %s: %s", what, directory,
                strerrordesc_np(errno));
}
#define refuse(...) REFUSES(refuse(__VA_ARGS__))

static void path_of(char path[PATH_MAX], const char *directory, struct str name)
{
    snprintf(path, PATH_MAX, "%s/%.*s", directory, STR(name));
}

// A server has no files of ours beside it: its URL says where they are.
static char *server_path(struct str store_url)
{
    SCOPED(arena) struct arena arena = {0};
    struct server_url parts;
    return server_url_parse(&arena, store_url, &parts, NULL) ? strdup(parts.files) : NULL;
}

char *blobs_path(struct str store_url)
{
    char *path = NULL, *file = NULL;
    if (url_names_server(store_url))
        return server_path(store_url);
    struct str scheme = S("sqlite:");
    char *named = strndup(store_url.s + scheme.n, store_url.n - scheme.n);
    if (named && store_file_resolve(named, &file, NULL)
        && asprintf(&path, "%s.artifacts", file) < 0)
        path = NULL;
    free(named);
    free(file);
    return path;
}

// ----- writing

static void give_name(struct blob *b, const struct world *world)
{
    snprintf(b->name, sizeof b->name, "%016llx%016llx", (unsigned long long)world_random(world),
             (unsigned long long)world_random(world));
}

// Whoever clears up may come between the two steps, and has then taken the file away.
static bool create_locked(struct blob *b)
{
    char path[PATH_MAX];
    struct stat about;
    path_of(path, b->directory, str_of(b->name));
    b->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
    if (b->fd < 0)
        return false;
    b->open = flock(b->fd, LOCK_EX | LOCK_NB) == 0 && fstat(b->fd, &about) == 0
           && about.st_nlink > 0;
    if (!b->open) {
        close(b->fd);
        errno = EEXIST;
    }
    return b->open;
}

bool blob_create(const char *directory, const struct world *world, struct blob *blob,
                 struct pawl_error *err)
{
    *blob = (struct blob){ .directory = directory };
    hash_begin(&blob->hash);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return refuse(err, "make the directory of artifacts", directory);
    for (int i = 0; i < NAMES_TRIED; i++) {
        give_name(blob, world);
        if (create_locked(blob))
            return true;
        if (errno != EEXIST)
            break;
    }
    return refuse(err, "make a file", directory);
}

// Else the last sync would have to wait for all of it.
static void write_out(struct blob *b)
{
    int64_t waiting = b->bytes - b->written_out;
    if (waiting < WRITE_OUT_BYTES)
        return;
    (void)!sync_file_range(b->fd, b->written_out, waiting, SYNC_FILE_RANGE_WRITE);  // a hint
    b->written_out = b->bytes;
}

bool blob_write(struct blob *blob, const void *bytes, size_t n, struct pawl_error *err)
{
    assert(blob->open);
    hash_add(&blob->hash, bytes, n);
    for (size_t done = 0; done < n;) {
        ssize_t some = write(blob->fd, (const char *)bytes + done, n - done);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return refuse(err, "write a file", blob->directory);
        done += (size_t)some;
    }
    blob->bytes += (int64_t)n;
    write_out(blob);
    return true;
}

static bool sync_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return done;
}

bool blob_settle(struct blob *blob, struct pawl_error *err)
{
    assert(blob->open);
    hash_end(&blob->hash, blob->sha256);
    return (fsync(blob->fd) == 0 && sync_directory(blob->directory))
        || refuse(err, "write a file", blob->directory);
}

void blob_keep(struct blob *blob)
{
    assert(blob->open);
    close(blob->fd);
    blob->open = false;
}

void blob_drop(struct blob *blob)
{
    char path[PATH_MAX];
    if (!blob->open)
        return;
    path_of(path, blob->directory, str_of(blob->name));
    unlink(path);
    blob_keep(blob);
}

// ----- reading

static bool is_name(struct str name)
{
    return name.n == BLOB_NAME_BYTES && strspn(name.s, "0123456789abcdef") >= name.n;
}

bool blob_open(const char *directory, struct str name, int64_t bytes, int *fd,
               struct pawl_error *err)
{
    char path[PATH_MAX];
    struct stat about;
    path_of(path, directory, name);
    *fd = is_name(name) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (*fd < 0)
        return fail(err, PAWL_NOT_FOUND, "its file is gone");
    if (fstat(*fd, &about) == 0 && about.st_size == bytes)
        return true;
    close(*fd);
    return fail(err, PAWL_DAMAGED, "its file has another size");
}

bool blob_check(const char *directory, struct str name, int64_t bytes, struct str sha256,
                struct pawl_error *err)
{
    struct hash_stream hash;
    char block[READ_BYTES], digits[HASH_DIGITS + 1];
    ssize_t n = 0;
    int fd = -1;
    if (!blob_open(directory, name, bytes, &fd, err))
        return false;
    hash_begin(&hash);
    while ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            hash_add(&hash, block, (size_t)n);
    int why = errno;
    close(fd);
    hash_end(&hash, digits);
    if (n < 0)
        return fail(err, PAWL_STORE, "its file cannot be read: %s", strerrordesc_np(why));
    return str_eq(sha256, str_of(digits))
        || fail(err, PAWL_DAMAGED, "its file has other bytes: their SHA-256 is %s", digits);
}

// ----- removing

bool blob_remove(const char *directory, struct str name, struct pawl_error *err)
{
    char path[PATH_MAX];
    path_of(path, directory, name);
    return !is_name(name) || unlink(path) == 0 || errno == ENOENT
        || refuse(err, "remove a file", directory);
}

static int is_blob(const struct dirent *entry)
{
    return is_name(str_of(entry->d_name));
}

bool blobs_list(const char *directory, struct arena *arena, struct blob_names *names,
                struct pawl_error *err)
{
    struct dirent **entries = NULL;
    *names = (struct blob_names){0};
    int count = scandir(directory, &entries, is_blob, NULL);
    if (count < 0)
        return errno == ENOENT || refuse(err, "look", directory);
    names->at = arena_new(arena, struct str, (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        if (names->at)
            names->at[names->count++] = str_dup(arena, str_of(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return !arena->failed || fail(err, PAWL_NO_MEMORY, "no memory to list the files");
}

bool blob_forsaken(const char *directory, struct str name, int *fd)
{
    char path[PATH_MAX];
    path_of(path, directory, name);
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (*fd < 0)
        return false;
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    close(*fd);
    return false;
}
