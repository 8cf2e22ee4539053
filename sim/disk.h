// A disk in memory that forgets what was not synced when the power goes.
//
// What is written to a file is seen by everybody at once, and is pending until the file is synced.
// When the power goes each pending write is kept, lost or torn into sectors, by dice. The names of
// files are kept apart from their contents, as a directory is: those that were made or removed
// since the directory was synced are known, in their order, up to some point.
//
// There is one, for one thread at a time: disk_vfs.h is SQLite's way to it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DISK_SECTOR = 512 };

struct disk_bytes {
    unsigned char *at;
    size_t count, room;
};

struct disk_write;

struct disk_file {
    struct disk_file *next;
    char *path;
    struct disk_bytes seen, durable;
    struct disk_write *pending, **pending_end;
    bool named, named_durable;  // reached by its path now, and after a power loss
    bool shown;                 // an empty file of this path stands for it, for who asks the system
    int opened;                 // handles that have it
    void *locks;                // of disk_vfs.c
};

struct disk_file *disk_files(void);  // the first of all of them
struct disk_file *disk_find(const char *path);
// A new file; `shown`: an empty one of its name is made on the real disk as well.
struct disk_file *disk_make(const char *path, bool shown);
void disk_unname(struct disk_file *file);
void disk_forget_unreachable(void);  // files without a name that nobody has open

size_t disk_read(const struct disk_file *file, void *to, size_t count, size_t at);
void disk_write(struct disk_file *file, const void *from, size_t count, size_t at);
void disk_truncate(struct disk_file *file, size_t size);
void disk_sync(struct disk_file *file);
void disk_sync_names(void);
// A sync that failed: what was pending is on the disk or not, and no later sync will bring it there
// although it can be read; that is how Linux does it.
void disk_sync_failed(struct disk_file *file, uint64_t *dice);

int64_t disk_bytes_used(void);  // by all files that have a name

// The power is back: decides what became of everything that was pending. Nobody has a file open.
void disk_power_loss(uint64_t *dice);
void disk_erase(void);  // removes every file

// The whole disk at one moment, to begin many runs from the same one. What was pending is synced.
struct disk_image;
struct disk_image *disk_save(void);
void disk_load(const struct disk_image *image);
void disk_image_free(struct disk_image *image);

uint64_t disk_random(uint64_t *dice);  // the next number; any state but 0 is a good one
