// A disk that is really full: a small file system of the test's own, filled to its last byte.
//
// DISK_CYCLES says how often it is filled and freed (`make torture-damage`). It takes root to mount
// one; without, the tests are left out and say so.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "engine/batch.h"
#include "engine/queue.h"
#include "rich_store.h"
#include "slots.h"
#include "store/driver.h"
#include "store/reserve.h"
#include "torture.h"

enum { DISK_MIB = 40, JOBS = 60 };

static char disk[64];

// Seen by this process only.
static bool mount_small_disk(void)
{
    char size[32];
    snprintf(disk, sizeof disk, "/tmp/pawl-disk-XXXXXX");
    snprintf(size, sizeof size, "size=%dm", DISK_MIB);
    EXPECT(mkdtemp(disk) != NULL);
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
        && mount("tmpfs", disk, "tmpfs", 0, size) == 0)
        return true;
    rmdir(disk);
    print_message("left out: a file system of its own cannot be mounted here\n");
    return false;
}

static void unmount(void)
{
    EXPECT(umount(disk) == 0);
    EXPECT(rmdir(disk) == 0);
}

static const char *ballast(void)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/ballast", disk);
    return path;
}

static void fill_disk(void)
{
    static const char zeros[4096];
    int fd = open(ballast(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    EXPECT(fd >= 0);
    while (write(fd, zeros, sizeof zeros) > 0) {}
    close(fd);
}

static void free_disk(void)
{
    EXPECT(unlink(ballast()) == 0);
}

static void open_store(struct box *box)
{
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .world = &box->world.world };
    MUST(db_open(&box->db, &options, &err));
}

static bool enqueue(struct box *box, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    if (!tx_begin(box->db, TX_WRITE, test_arena(), &tx, err))
        return false;
    tx.caller = &box->caller;
    return job_enqueue(&tx, &contract, &job, &deduplicated, err) && tx_commit(&tx, err);
}

// Whoever finds the disk full tries again: from then on the answer is the store's own.
static void expect_refused_enqueue(struct box *box)
{
    struct pawl_error err = {0};
    for (int i = 0; i < 1000 && enqueue(box, &err); i++) {}
    EXPECT_REFUSED(PAWL_DISK_FULL, enqueue(box, &err));
    EXPECT(strstr(err.message, "new ones taken again when there is room") != NULL);
    EXPECT_INT(pawl_code(err.code)->http, 507);
}

static void end_jobs(struct box *box)
{
    for (int i = 0; i < JOBS / 3; i++) {
        struct lease lease = must_start(box, "A");
        must_commit(box, &lease);
        lease = must_start(box, "A");
        must_fail(box, &lease, ERROR_VALIDATION);
    }
    struct claimed *claimed;
    EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
    struct job job;
    OK(job_cancel(tx, claimed[0].job.id, &job, err));
    must_sweep(box);
    struct purge purge = { .queue = S("q:default") };
    while (!purge.done)
        OK_FROM(purge, queue_purge(tx, &purge, 10, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
}

// Full, short, and well again.
static void fill_and_free(struct box *box)
{
    struct pawl_error err = {0};
    for (int i = 0; i < JOBS; i++)
        MUST(enqueue(box, &err));
    fill_disk();
    expect_refused_enqueue(box);
    EXPECT(db_is_short(box->db));
    db_close(box->db);
    open_store(box);  // also on a full disk
    EXPECT_REFUSED(PAWL_DISK_FULL, enqueue(box, &err));
    end_jobs(box);
    free_disk();
    pass(box, SECONDS(1));
    MUST(enqueue(box, &err));
    EXPECT(!db_is_short(box->db));
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
}

// A store on the small disk; `box` is the one that its helpers come from.
static void open_small(struct box *full, struct box *box)
{
    box_open(box);
    *full = *box;
    full->url = str_format(test_arena(), "sqlite:%s/pawl.db", disk);
    virtual_world_init(&full->world, SECONDS(1800000000), 7);
    open_store(full);
}

static void close_small(struct box *full, struct box *box)
{
    struct verified verified = {0};
    struct pawl_error err = {0};
    MUST(verify(full->db, &(struct verify_options){0}, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    db_close(full->db);
    box_close(box);
    unmount();
}

TEST(OPS_9_on_a_full_disk_work_is_ended_cancelled_and_removed_and_none_is_taken)
{
    struct box box = {0}, full;
    struct torture t = { .name = "full disk", .planned = torture_asked("DISK_CYCLES", 3) };
    if (!mount_small_disk())
        return;
    open_small(&full, &box);
    for (int64_t i = 0; i < t.planned; i++) {
        fill_and_free(&full);
        torture_count(&t, true);
    }
    close_small(&full, &box);
    EXPECT_INT(torture_end(&t), 0);
}

// Nobody has given the reserve back yet: the index of the log finds no room.
TEST(OPS_9_a_store_opens_on_a_disk_that_was_filled_while_it_was_closed)
{
    struct box box = {0}, full;
    static const char *const logs[] = { "-wal", "-shm" };
    if (!mount_small_disk())
        return;
    open_small(&full, &box);
    struct pawl_error err = {0};
    MUST(enqueue(&full, &err));
    db_close(full.db);
    for (size_t i = 0; i < countof(logs); i++)
        unlink(str_format(test_arena(), "%s/pawl.db%s", disk, logs[i]).s);
    fill_disk();
    open_store(&full);
    struct lease lease = must_start(&full, "A");
    must_commit(&full, &lease);
    free_disk();
    close_small(&full, &box);
}

// SQLite finds the disk full when it begins a log, before anything is stored.
TEST(OPS_9_a_new_store_is_made_on_a_full_disk_of_what_was_kept)
{
    struct box box = {0}, full;
    static const char *const files[] = { "", "-wal", "-shm" };
    if (!mount_small_disk())
        return;
    open_small(&full, &box);
    db_close(full.db);
    for (size_t i = 0; i < countof(files); i++)
        unlink(str_format(test_arena(), "%s/pawl.db%s", disk, files[i]).s);
    fill_disk();
    open_store(&full);
    EXPECT(full.db->gave_way);
    free_disk();
    close_small(&full, &box);
}

static int open_reserve(int flags)
{
    char path[96];
    snprintf(path, sizeof path, "%s/reserve", disk);
    int fd = open(path, flags | O_CREAT | O_CLOEXEC, 0600);
    EXPECT(fd >= 0);
    return fd;
}

// Leaves so much room.
static void leave_room(int64_t bytes)
{
    int fd = open(ballast(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT(fd >= 0 && posix_fallocate(fd, 0, ((int64_t)DISK_MIB << 20) - bytes) == 0);
    close(fd);
}

TEST(OPS_9_the_reserve_is_given_once_and_a_disk_without_it_is_short_when_it_is_nearly_full)
{
    if (!mount_small_disk())
        return;
    struct reserve ours = { .fd = open_reserve(O_RDWR) }, other = { .fd = open_reserve(O_RDWR) };
    struct reserve reader = { .fd = open_reserve(O_RDONLY) };
    leave_room(RESERVE_BYTES + RESERVE_BYTES / 2);
    reserve_look(&ours);
    EXPECT(!ours.had && !ours.is_short);  // there is room, but not for both
    EXPECT(!reserve_give(&ours));
    free_disk();
    reserve_look(&ours);
    EXPECT(ours.had && !ours.is_short);
    EXPECT(!reserve_give(&reader));  // which it may not
    leave_room(RESERVE_BYTES + RESERVE_BYTES / 2);
    EXPECT(!reserve_give_if_full(&other));
    EXPECT(reserve_give(&other));
    EXPECT(!reserve_give(&other));
    reserve_look(&ours);
    EXPECT(ours.is_short);  // somebody else has given it
    fill_disk();
    EXPECT(!reserve_give_if_full(&other));  // there is nothing to give
    close(ours.fd);
    close(other.fd);
    close(reader.fd);
    EXPECT(unlink(str_format(test_arena(), "%s/reserve", disk).s) == 0);
    free_disk();
    unmount();
}

static struct id make_batch(struct box *box)
{
    struct contract member = contract_for(box, "member"), callback = contract_for(box, "callback");
    struct problems problems = { .arena = test_arena() };
    struct batch_request request = {
        .org_id = box->caller.org_id,
        .jobs = &member,
        .count = 1,
        .callback = &callback,
        .problems = &problems,
    };
    struct job_batch batch;
    bool known;
    OK(batch_create(tx, &request, &batch, &known, err));
    return batch.id;
}

static struct job_batch batch_now(struct box *box, struct id id)
{
    struct job_batch batch;
    OK(batch_load(tx, id, &batch, err));
    return batch;
}

// The callback is a new job, for which there is no room: the end was refused with it.
TEST(OPS_9_on_a_full_disk_the_last_job_of_a_batch_ends_and_the_callback_is_made_later)
{
    struct box box = {0}, full;
    if (!mount_small_disk())
        return;
    open_small(&full, &box);
    struct id id = make_batch(&full);
    struct lease lease = take(&full, "member", true);
    fill_disk();
    expect_refused_enqueue(&full);
    must_commit(&full, &lease);
    EXPECT(batch_now(&full, id).ended_at != 0);
    EXPECT_INT(batch_now(&full, id).callback_job.high, 0);
    pass(&full, SECONDS(11));
    must_sweep(&full);
    EXPECT_INT(batch_now(&full, id).callback_job.high, 0);
    free_disk();
    pass(&full, SECONDS(11));
    must_sweep(&full);
    EXPECT(batch_now(&full, id).callback_job.high != 0);
    close_small(&full, &box);
}

static void commit_with_follow_up(struct box *box, const struct lease *lease)
{
    struct contract next = contract_for(box, "send");
    struct commit commit = { .follow_ups = &next, .follow_up_count = 1, .done = true };
    struct execution e;
    OK(execution_commit(tx, lease, &commit, &e, err));
}

// What comes of a job that was there belongs to its end.
TEST(OPS_9_on_a_full_disk_a_job_that_ends_brings_its_follow_ups)
{
    struct box box = {0}, full;
    if (!mount_small_disk())
        return;
    open_small(&full, &box);
    struct pawl_error err = {0};
    MUST(enqueue(&full, &err));
    struct lease lease = must_start(&full, "A");
    fill_disk();
    expect_refused_enqueue(&full);
    commit_with_follow_up(&full, &lease);
    EXPECT_INT(box_number(&full, "SELECT count(*) FROM jobs WHERE origin = 'follow_up'"), 1);
    free_disk();
    close_small(&full, &box);
}

// The refusal of the one took the end of the other with it, tick after tick.
TEST(SLOT_4_on_a_full_disk_a_stale_slot_is_ended_though_another_cannot_be_claimed)
{
    struct box box = {0}, full;
    if (!mount_small_disk())
        return;
    open_small(&full, &box);
    struct schedule other = every_five_minutes(), s = other;
    other.name = S("other");
    put(&full, &s);
    to_next_slot(&full);
    EXPECT_INT(tick(&full).claimed, 1);  // nobody runs it
    put(&full, &other);
    fill_disk();
    expect_refused_enqueue(&full);
    pass(&full, HOURS(1));
    struct scheduling round = tick(&full);
    EXPECT(round.refused > 0);
    EXPECT_INT(round.stale, 1);
    EXPECT_INT(runs(&full, "skipped_timeout"), 1);
    free_disk();
    pass(&full, SECONDS(11));
    EXPECT(tick(&full).claimed > 0);
    close_small(&full, &box);
}
