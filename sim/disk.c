// Each file is there twice: as it is seen, and as it would be found if all that is pending were
// lost. Pending writes are a list in the order in which they were made.
#include "disk.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct disk_write {
    struct disk_write *next;
    size_t at, count;
    bool truncates;  // to `at`
    unsigned char bytes[];
};

// A file was given its name, or lost it.
struct naming {
    struct naming *next;
    struct disk_file *file;
    bool named;
};

static struct disk_file *files;
static struct naming *namings, **namings_end = &namings;

uint64_t disk_random(uint64_t *dice)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    return *dice >> 11;
}

static void *must(void *memory)
{
    assert(memory);  // the machine of a test has some
    return memory;
}

static void resize(struct disk_bytes *bytes, size_t count)
{
    if (count > bytes->room) {
        bytes->room = count * 2;
        bytes->at = must(realloc(bytes->at, bytes->room));
    }
    if (count > bytes->count)
        memset(bytes->at + bytes->count, 0, count - bytes->count);
    bytes->count = count;
}

static void put(struct disk_bytes *bytes, const void *from, size_t count, size_t at)
{
    if (at + count > bytes->count)
        resize(bytes, at + count);
    memcpy(bytes->at + at, from, count);
}

static void copy(struct disk_bytes *to, const struct disk_bytes *from)
{
    resize(to, from->count);
    if (from->count > 0)
        memcpy(to->at, from->at, from->count);
}

struct disk_file *disk_files(void)
{
    return files;
}

struct disk_file *disk_find(const char *path)
{
    for (struct disk_file *file = files; file; file = file->next)
        if (file->named && strcmp(file->path, path) == 0)
            return file;
    return NULL;
}

// The empty file that stands for this one on the real disk.
static void show(const struct disk_file *file, bool there)
{
    if (!file->shown)
        return;
    if (!there) {
        unlink(file->path);
        return;
    }
    int fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert(fd >= 0);
    close(fd);
}

static void name(struct disk_file *file, bool named)
{
    struct naming *naming = must(malloc(sizeof *naming));
    *naming = (struct naming){ .file = file, .named = named };
    *namings_end = naming;
    namings_end = &naming->next;
    file->named = named;
    show(file, named);
}

struct disk_file *disk_make(const char *path, bool shown)
{
    struct disk_file *file = must(calloc(1, sizeof *file));
    file->path = must(strdup(path));
    file->shown = shown;
    file->pending_end = &file->pending;
    file->next = files;
    files = file;
    name(file, true);
    return file;
}

void disk_unname(struct disk_file *file)
{
    name(file, false);
}

static void drop_pending(struct disk_file *file)
{
    for (struct disk_write *write = file->pending, *next; write; write = next) {
        next = write->next;
        free(write);
    }
    file->pending = NULL;
    file->pending_end = &file->pending;
}

static void free_file(struct disk_file *file)
{
    drop_pending(file);
    free(file->seen.at);
    free(file->durable.at);
    free(file->path);
    free(file);
}

void disk_forget_unreachable(void)
{
    struct disk_file **link = &files;
    while (*link) {
        struct disk_file *file = *link;
        if (file->named || file->named_durable || file->opened || namings) {
            link = &file->next;
            continue;
        }
        *link = file->next;
        free_file(file);
    }
}

size_t disk_read(const struct disk_file *file, void *to, size_t count, size_t at)
{
    size_t there = at < file->seen.count ? file->seen.count - at : 0;
    if (there > count)
        there = count;
    if (there > 0)
        memcpy(to, file->seen.at + at, there);
    memset((char *)to + there, 0, count - there);
    return there;
}

static void add_pending(struct disk_file *file, const struct disk_write *head, const void *bytes)
{
    struct disk_write *write = must(malloc(sizeof *write + head->count));
    *write = *head;
    if (head->count > 0)
        memcpy(write->bytes, bytes, head->count);
    *file->pending_end = write;
    file->pending_end = &write->next;
}

void disk_write(struct disk_file *file, const void *from, size_t count, size_t at)
{
    put(&file->seen, from, count, at);
    add_pending(file, &(struct disk_write){ .at = at, .count = count }, from);
}

void disk_truncate(struct disk_file *file, size_t size)
{
    resize(&file->seen, size);
    add_pending(file, &(struct disk_write){ .at = size, .truncates = true }, NULL);
}

static void settle(struct disk_file *file, const struct disk_write *write)
{
    if (write->truncates)
        resize(&file->durable, write->at);
    else
        put(&file->durable, write->bytes, write->count, write->at);
}

void disk_sync(struct disk_file *file)
{
    for (const struct disk_write *write = file->pending; write; write = write->next)
        settle(file, write);
    drop_pending(file);
}

static void settle_names(size_t count)
{
    for (struct naming *naming = namings, *next; naming; naming = next) {
        next = naming->next;
        if (count > 0) {
            naming->file->named_durable = naming->named;
            count--;
        }
        free(naming);
    }
    namings = NULL;
    namings_end = &namings;
}

void disk_sync_names(void)
{
    settle_names(SIZE_MAX);
    disk_forget_unreachable();
}

// Each sector of the write by itself; sometimes one has neither the old nor the new bytes.
static void tear(struct disk_file *file, const struct disk_write *write, uint64_t *dice)
{
    for (size_t from = 0, next; from < write->count; from = next) {
        next = from + DISK_SECTOR - (write->at + from) % DISK_SECTOR;
        if (next > write->count)
            next = write->count;
        uint64_t fate = disk_random(dice) % 16;
        if (fate > 8)
            continue;
        put(&file->durable, write->bytes + from, next - from, write->at + from);
        for (size_t i = from; fate == 8 && i < next; i++)
            file->durable.at[write->at + i] = (unsigned char)disk_random(dice);
    }
}

enum fate { KEPT, LOST, TORN, FATES };

static void suffer(struct disk_file *file, const struct disk_write *write, enum fate fate,
                   uint64_t *dice)
{
    if (fate == KEPT)
        settle(file, write);
    else if (fate == TORN && !write->truncates)
        tear(file, write, dice);
}

// All the same, each by itself, or those before some point kept, the one there torn, the rest lost.
enum loss { LOSS_OF_ALL, LOSS_OF_NONE, LOSS_OF_EACH, LOSS_OF_THE_LAST, LOSSES };

static void lose(struct disk_file *file, enum loss loss, uint64_t *dice)
{
    size_t count = 0, i = 0;
    for (const struct disk_write *write = file->pending; write; write = write->next)
        count++;
    size_t point = disk_random(dice) % (count + 1);
    for (const struct disk_write *write = file->pending; write; write = write->next, i++) {
        enum fate each = (enum fate)(disk_random(dice) % FATES);
        enum fate ordered = i < point ? KEPT : i == point ? TORN
                                                          : LOST;
        enum fate fates[LOSSES] = { LOST, KEPT, each, ordered };
        suffer(file, write, fates[loss], dice);
    }
    drop_pending(file);
}

void disk_sync_failed(struct disk_file *file, uint64_t *dice)
{
    lose(file, LOSS_OF_EACH, dice);
}

int64_t disk_bytes_used(void)
{
    int64_t bytes = 0;
    for (const struct disk_file *file = files; file; file = file->next)
        if (file->named)
            bytes += (int64_t)file->seen.count;
    return bytes;
}

static size_t namings_count(void)
{
    size_t count = 0;
    for (const struct naming *naming = namings; naming; naming = naming->next)
        count++;
    return count;
}

void disk_power_loss(uint64_t *dice)
{
    enum loss loss = (enum loss)(disk_random(dice) % LOSSES);
    settle_names(disk_random(dice) % (namings_count() + 1));
    for (struct disk_file *file = files; file; file = file->next) {
        assert(!file->opened);
        lose(file, loss, dice);
        copy(&file->seen, &file->durable);
        if (file->named != file->named_durable)
            show(file, file->named_durable);
        file->named = file->named_durable;
    }
    disk_forget_unreachable();
}

void disk_erase(void)
{
    settle_names(0);
    for (struct disk_file *file = files; file; file = file->next) {
        assert(!file->opened);
        if (file->named)
            show(file, false);
        file->named = file->named_durable = false;
    }
    disk_forget_unreachable();
}

struct disk_image {
    struct disk_image *next;  // of the next file
    char *path;
    bool shown;
    struct disk_bytes bytes;
};

struct disk_image *disk_save(void)
{
    struct disk_image *image = NULL;
    disk_sync_names();
    for (struct disk_file *file = files; file; file = file->next) {
        if (!file->named)
            continue;
        struct disk_image *one = must(calloc(1, sizeof *one));
        one->next = image;
        one->path = must(strdup(file->path));
        one->shown = file->shown;
        disk_sync(file);
        copy(&one->bytes, &file->seen);
        image = one;
    }
    return image;
}

void disk_load(const struct disk_image *image)
{
    disk_erase();
    for (; image; image = image->next) {
        struct disk_file *file = disk_make(image->path, image->shown);
        copy(&file->seen, &image->bytes);
        copy(&file->durable, &image->bytes);
    }
    disk_sync_names();
}

void disk_image_free(struct disk_image *image)
{
    for (struct disk_image *next; image; image = next) {
        next = image->next;
        free(image->path);
        free(image->bytes.at);
        free(image);
    }
}
