// Which calls of the disk are made, by whose they are and what is to happen.
#include "machine.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "planted.h"

struct machine machine;

static struct disk_image *kept;

static bool burns(enum machine_fault fault)
{
    return !machine.aside && machine.fuse[fault] > 0 && --machine.fuse[fault] == 0;
}

static void die(int process, bool all)
{
    disk_vfs_keep_shared();
    for (int i = 0; i < PROCESSES; i++)
        machine.dead[i] |= all || i == process;
}

static bool dies_at_point(int process)
{
    if (machine.aside)
        return false;
    if (burns(FAULT_POWER_LOSS))
        die(process, true);
    else if (burns(FAULT_KILL))
        die(process, false);
    return machine.dead[process];
}

static struct vfs_answer refuse(int error, size_t part)
{
    machine.refused++;
    return (struct vfs_answer){ .error = error, .part = part };
}

static struct vfs_answer judge_write(const struct vfs_call *call)
{
    if (planted_drops(call->bytes, call->count))
        return (struct vfs_answer){ .error = SQLITE_OK };
    if (machine.full && call->at + call->count > call->file->seen.count)
        return refuse(SQLITE_FULL, 0);
    if (burns(FAULT_WRITE_FAILS))
        return refuse(SQLITE_IOERR_WRITE, 0);
    return (struct vfs_answer){ .done = true };
}

static struct vfs_answer judge_sync(void)
{
    if (burns(FAULT_SYNC_FAILS))
        return refuse(SQLITE_IOERR_FSYNC, 0);
    machine.syncs++;
    return (struct vfs_answer){ .done = true };
}

// Whoever dies while writing may have written the beginning. The dead can take and give locks, as
// the kernel does for them.
static struct vfs_answer judge(const struct vfs_call *call)
{
    bool point = call->operation == VFS_OPEN || vfs_changes(call->operation);
    int error = vfs_error(call->operation);
    if (machine.dead[call->owner])
        return point || call->operation == VFS_READ ? refuse(error, 0)
                                                    : (struct vfs_answer){ .done = true };
    if (point && dies_at_point(call->owner))
        return refuse(error, call->count ? dice_pick(&machine.dice, call->count + 1) : 0);
    if (call->operation == VFS_WRITE)
        return judge_write(call);
    if (call->operation == VFS_SYNC)
        return judge_sync();
    return (struct vfs_answer){ .done = true };
}

static void forget_kept(void)
{
    disk_image_free(kept);
    kept = NULL;
}

void machine_install(void)
{
    machine = (struct machine){0};
    disk_vfs_install(judge);
    atexit(disk_vfs_remove);
    atexit(forget_kept);
}

void machine_keep(void)
{
    forget_kept();
    kept = disk_save();
}

void machine_begin(struct dice dice)
{
    disk_load(kept);
    machine = (struct machine){ .dice = dice };
    disk_vfs.dice = dice_roll(&machine.dice) | 1;
    sqlite3_randomness(0, NULL);  // asks for a seed again
}

void machine_serve(int process)
{
    disk_vfs.owner = process;
}

void machine_bury(void)
{
    bool power_lost = true, any = false;
    for (int i = 0; i < PROCESSES; i++) {
        power_lost &= machine.dead[i];
        any |= machine.dead[i];
    }
    if (power_lost)
        disk_power_loss(&disk_vfs.dice);
    else if (any)
        disk_vfs_restore_shared();
    for (int i = 0; i < PROCESSES; i++)
        machine.dead[i] = false;
}
