// A file is what everybody sees, what is safe, and the writes that lie between the two.
#include "disk.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"

enum { NODES = 8,
       NAME_BYTES = 512,
       SHM_REGIONS = 16,
       SHM_LOCKS = 8,
       SECTOR = 512 };

struct disk disk;

struct bytes {
    char *at;
    sqlite3_int64 n, room;
};

struct pending {
    sqlite3_int64 at;
    int n;  // -1: the file was cut off at `at`
    char *bytes;
    struct pending *next;
};

// What processes share besides files: SQLite's index of the log.
struct shared {
    char *regions[SHM_REGIONS], *at_death[SHM_REGIONS];
    int region_bytes, users;
    int readers[SHM_LOCKS];
    struct file *writer[SHM_LOCKS];
};

struct node {
    char name[NAME_BYTES];
    struct bytes now, safe, kept;
    struct pending *first, **last;
    struct shared shared;
};

struct file {
    sqlite3_file base;
    struct node *node;
    int process;
    bool shares;
    unsigned reads, writes;  // locks of the shared memory that it has, as bits
};

static struct node nodes[NODES];

static struct file *file_of(sqlite3_file *file)
{
    return (struct file *)(void *)file;
}

// ----- contents

static void reserve(struct bytes *b, sqlite3_int64 n)
{
    if (n <= b->room)
        return;
    sqlite3_int64 room = b->room ? b->room : 65536;
    while (room < n)
        room *= 2;
    b->at = realloc(b->at, (size_t)room);
    assert(b->at);
    b->room = room;
}

static void put(struct bytes *b, const char *from, sqlite3_int64 n, sqlite3_int64 at)
{
    reserve(b, at + n);
    if (at > b->n)
        memset(b->at + b->n, 0, (size_t)(at - b->n));
    memcpy(b->at + at, from, (size_t)n);
    if (at + n > b->n)
        b->n = at + n;
}

static void cut(struct bytes *b, sqlite3_int64 n)
{
    if (n < b->n)
        b->n = n;
}

static void copy(struct bytes *to, const struct bytes *from)
{
    to->n = 0;
    if (from->n)
        put(to, from->at, from->n, 0);
}

// ----- what is not safe yet

static void postpone(struct node *node, const void *from, int n, sqlite3_int64 at)
{
    struct pending *p = malloc(sizeof *p + (size_t)(n > 0 ? n : 0));
    assert(p);
    *p = (struct pending){ .at = at, .n = n, .bytes = (char *)(p + 1) };
    if (n > 0)
        memcpy(p->bytes, from, (size_t)n);
    *node->last = p;
    node->last = &p->next;
}

static void make_safe(struct node *node, const struct pending *p)
{
    if (p->n < 0)
        cut(&node->safe, p->at);
    else
        put(&node->safe, p->bytes, p->n, p->at);
}

// Some sectors of a write are there, others are not.
static void make_partly_safe(struct node *node, const struct pending *p)
{
    for (int done = 0; done < p->n; done += SECTOR) {
        int n = p->n - done < SECTOR ? p->n - done : SECTOR;
        if (dice_chance(&disk.dice, 50))
            put(&node->safe, p->bytes + done, n, p->at + done);
    }
}

typedef void outcome(struct node *node, const struct pending *p);

static void settle_by_dice(struct node *node, const struct pending *p)
{
    switch (dice_pick(&disk.dice, 3)) {
    case 0:
        make_safe(node, p);
        break;
    case 1:
        make_partly_safe(node, p);
        break;
    default:
        break;
    }
}

static void settle(struct node *node, outcome *how)
{
    struct pending *next;
    for (struct pending *p = node->first; p; p = next) {
        next = p->next;
        if (how)
            how(node, p);
        free(p);
    }
    node->first = NULL;
    node->last = &node->first;
}

static void drop_shared(struct node *node)
{
    for (int i = 0; i < SHM_REGIONS; i++) {
        free(node->shared.regions[i]);
        free(node->shared.at_death[i]);
    }
    node->shared = (struct shared){0};
}

// ----- points at which something can happen

static bool burns(enum disk_fault fault)
{
    bool fires = !disk.aside && disk.fuse[fault] > 0 && --disk.fuse[fault] == 0;
    disk.fired[fault] += fires;
    return fires;
}

static void remember_shared(void)
{
    for (struct node *node = nodes; node < nodes + NODES; node++)
        for (int i = 0; i < SHM_REGIONS && node->shared.regions[i]; i++) {
            size_t n = (size_t)node->shared.region_bytes;
            free(node->shared.at_death[i]);
            node->shared.at_death[i] = malloc(n);
            assert(node->shared.at_death[i]);
            memcpy(node->shared.at_death[i], node->shared.regions[i], n);
        }
}

static void die(bool all)
{
    remember_shared();
    for (int i = 0; i < DISK_PROCESSES; i++)
        disk.dead[i] |= all || i == disk.process;
}

// False: the caller is dead, or has just died.
static bool alive_at_point(const struct file *file)
{
    int process = file ? file->process : disk.process;
    if (disk.dead[process])
        return false;
    if (disk.aside)
        return true;
    disk.points++;
    if (burns(DISK_POWER_LOSS))
        die(true);
    else if (burns(DISK_KILL))
        die(false);
    return !disk.dead[process];
}

static int refused(int code)
{
    disk.refused++;
    return code;
}

// ----- a file

static int close_file(sqlite3_file *file);

static int read_file(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    const struct file *f = file_of(file);
    if (disk.dead[f->process])
        return refused(SQLITE_IOERR_READ);
    const struct bytes *now = &f->node->now;
    sqlite3_int64 there = now->n > at ? now->n - at : 0;
    if (there > n)
        there = n;
    if (there)
        memcpy(to, now->at + at, (size_t)there);
    if (there == n)
        return SQLITE_OK;
    memset((char *)to + there, 0, (size_t)(n - there));
    return SQLITE_IOERR_SHORT_READ;
}

// Whoever dies while writing may have written the beginning.
static int write_file(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct file *f = file_of(file);
    struct node *node = f->node;
    if (planted_drops(from, n))
        return SQLITE_OK;
    bool was_dead = disk.dead[f->process];
    bool alive = alive_at_point(f);
    if (!alive && was_dead)
        return refused(SQLITE_IOERR_WRITE);
    if (alive && disk.full && at + n > node->now.n)
        return refused(SQLITE_FULL);
    if (alive && burns(DISK_WRITE_FAILS))
        return refused(SQLITE_IOERR_WRITE);
    int written = alive ? n : (int)dice_pick(&disk.dice, (size_t)n + 1);
    if (written > 0) {
        put(&node->now, from, written, at);
        postpone(node, from, written, at);
    }
    return alive ? SQLITE_OK : refused(SQLITE_IOERR_WRITE);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    struct file *f = file_of(file);
    if (!alive_at_point(f))
        return refused(SQLITE_IOERR_TRUNCATE);
    cut(&f->node->now, size);
    postpone(f->node, NULL, -1, size);
    return SQLITE_OK;
}

static int sync_file(sqlite3_file *file, int flags)
{
    (void)flags;
    struct file *f = file_of(file);
    if (!alive_at_point(f))
        return refused(SQLITE_IOERR_FSYNC);
    if (burns(DISK_SYNC_FAILS))
        return refused(SQLITE_IOERR_FSYNC);
    settle(f->node, make_safe);
    disk.syncs++;
    return SQLITE_OK;
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = file_of(file)->node->now.n;
    return SQLITE_OK;
}

// Between processes of ours the lock of the store decides before SQLite's own: they never meet.
static int lock_file(sqlite3_file *file, int lock)
{
    (void)file;
    (void)lock;
    return SQLITE_OK;
}

static int is_reserved(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int op, void *arg)
{
    (void)file;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int sector_of_file(sqlite3_file *file)
{
    (void)file;
    return SECTOR;
}

// As SQLite has it on Linux: a write that is torn does not harm its neighbours.
static int traits_of_file(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// ----- shared memory

static int map_shared(sqlite3_file *file, int region, int bytes, int extend, void volatile **to)
{
    struct file *f = file_of(file);
    struct shared *shared = &f->node->shared;
    assert(region < SHM_REGIONS);
    shared->users += !f->shares;
    f->shares = true;
    shared->region_bytes = bytes;
    if (!shared->regions[region] && extend) {
        shared->regions[region] = calloc(1, (size_t)bytes);
        assert(shared->regions[region]);
    }
    *to = shared->regions[region];
    return SQLITE_OK;
}

static void unlock_shared(struct file *f, unsigned bits)
{
    struct shared *shared = &f->node->shared;
    for (int i = 0; i < SHM_LOCKS; i++) {
        unsigned bit = 1U << i;
        if (bits & bit & f->reads)
            shared->readers[i]--;
        if (bits & bit & f->writes)
            shared->writer[i] = NULL;
    }
    f->reads &= ~bits;
    f->writes &= ~bits;
}

static int lock_shared(sqlite3_file *file, int offset, int n, int flags)
{
    struct file *f = file_of(file);
    struct shared *shared = &f->node->shared;
    unsigned bits = ((1U << n) - 1) << offset;
    if (flags & SQLITE_SHM_UNLOCK) {
        unlock_shared(f, bits);
        return SQLITE_OK;
    }
    for (int i = offset; i < offset + n; i++) {
        int own = (f->reads >> i) & 1;
        bool writer = shared->writer[i] && shared->writer[i] != f;
        if (writer || ((flags & SQLITE_SHM_EXCLUSIVE) && shared->readers[i] > own))
            return SQLITE_BUSY;
    }
    for (int i = offset; i < offset + n; i++) {
        unsigned bit = 1U << i;
        if (flags & SQLITE_SHM_EXCLUSIVE) {
            shared->writer[i] = f;
            f->writes |= bit;
        } else if (!(f->reads & bit)) {
            shared->readers[i]++;
            f->reads |= bit;
        }
    }
    return SQLITE_OK;
}

static void shared_barrier(sqlite3_file *file)
{
    (void)file;
}

static int unmap_shared(sqlite3_file *file, int remove)
{
    (void)remove;
    struct file *f = file_of(file);
    if (!f->shares)
        return SQLITE_OK;
    unlock_shared(f, ~0U);
    f->shares = false;
    if (--f->node->shared.users == 0)
        drop_shared(f->node);
    return SQLITE_OK;
}

static int close_file(sqlite3_file *file)
{
    return unmap_shared(file, 0);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = lock_file,
    .xCheckReservedLock = is_reserved,
    .xFileControl = control_file,
    .xSectorSize = sector_of_file,
    .xDeviceCharacteristics = traits_of_file,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = shared_barrier,
    .xShmUnmap = unmap_shared,
};

// ----- the file system

static struct node *find(const char *name)
{
    for (struct node *node = nodes; node < nodes + NODES; node++)
        if (strcmp(node->name, name) == 0)
            return node;
    return NULL;
}

static struct node *make(const char *name)
{
    struct node *node = find("");
    assert(node && strlen(name) < NAME_BYTES);
    memcpy(node->name, name, strlen(name) + 1);
    node->now.n = node->safe.n = 0;
    node->last = &node->first;
    return node;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    file->pMethods = NULL;
    assert(name);  // temporary tables are in memory
    if (!alive_at_point(NULL))
        return refused(SQLITE_CANTOPEN);
    struct node *node = find(name);
    if (!node && !(flags & SQLITE_OPEN_CREATE))
        return SQLITE_CANTOPEN;
    *file_of(file) = (struct file){ .base = { &methods },
                                    .node = node ? node : make(name),
                                    .process = disk.process };
    if (out)
        *out = flags;
    return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    (void)sync;
    struct node *node = find(name);
    if (!node)
        return SQLITE_IOERR_DELETE_NOENT;
    if (!alive_at_point(NULL))
        return refused(SQLITE_IOERR_DELETE);
    settle(node, NULL);
    node->name[0] = '\0';
    return SQLITE_OK;
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs;
    (void)flags;
    *out = find(name) != NULL;
    return SQLITE_OK;
}

static int whole_name(sqlite3_vfs *vfs, const char *name, int n, char *out)
{
    (void)vfs;
    sqlite3_snprintf(n, out, "%s", name);
    return SQLITE_OK;
}

static int random_bytes(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    for (int i = 0; i < n; i++)
        out[i] = (char)dice_roll(&disk.dice);
    return n;
}

static int sleep_a_while(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int time_now(sqlite3_vfs *vfs, double *day)
{
    (void)vfs;
    *day = 2460000.5;
    return SQLITE_OK;
}

static sqlite3_vfs vfs = {
    .iVersion = 1,
    .szOsFile = sizeof(struct file),
    .mxPathname = NAME_BYTES,
    .zName = "sim",
    .xOpen = open_file,
    .xDelete = delete_file,
    .xAccess = access_file,
    .xFullPathname = whole_name,
    .xRandomness = random_bytes,
    .xSleep = sleep_a_while,
    .xCurrentTime = time_now,
};

void disk_install(void)
{
    sqlite3_vfs_register(&vfs, 1);
}

void disk_erase(void)
{
    for (struct node *node = nodes; node < nodes + NODES; node++) {
        node->last = &node->first;
        settle(node, NULL);
        drop_shared(node);
        node->name[0] = '\0';
    }
    disk = (struct disk){0};
}

void disk_keep(void)
{
    for (struct node *node = nodes; node < nodes + NODES; node++)
        copy(&node->kept, &node->now);
}

void disk_restore(void)
{
    for (struct node *node = nodes; node < nodes + NODES; node++) {
        settle(node, NULL);
        drop_shared(node);
        copy(&node->now, &node->kept);
        copy(&node->safe, &node->kept);
    }
    disk = (struct disk){0};
    sqlite3_randomness(0, NULL);  // asks for a seed again
}

// The dead one had no time to tidy up what it shared.
static void restore_shared(struct node *node)
{
    for (int i = 0; i < SHM_REGIONS; i++) {
        if (node->shared.at_death[i] && node->shared.regions[i])
            memcpy(node->shared.regions[i], node->shared.at_death[i],
                   (size_t)node->shared.region_bytes);
        free(node->shared.at_death[i]);
        node->shared.at_death[i] = NULL;
    }
}

void disk_bury(void)
{
    bool power_lost = true, any = false;
    for (int i = 0; i < DISK_PROCESSES; i++) {
        power_lost &= disk.dead[i];
        any |= disk.dead[i];
    }
    if (!any)
        return;
    for (struct node *node = nodes; node < nodes + NODES; node++) {
        if (!power_lost) {
            restore_shared(node);
            continue;
        }
        assert(node->shared.users == 0);
        settle(node, settle_by_dice);
        copy(&node->now, &node->safe);
    }
    for (int i = 0; i < DISK_PROCESSES; i++)
        disk.dead[i] = false;
}
