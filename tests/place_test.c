// What the system says of the place of a store: whose disk it is on, who may use it, who has it
// locked, and whether it is still the same.
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "fixture.h"
#include "store/copy.h"
#include "store/hold.h"
#include "store/lock_file.h"

static void fail_call(int64_t n, int error)
{
    system_errno = error;
    system_faults = (struct fault_counter){ .fail_at = n };
}

// Whether the call that fails was come to; none does from here on.
static bool calm(void)
{
    bool reached = system_faults.failed > 0;
    system_faults = (struct fault_counter){0};
    return reached;
}

static bool open_and_close(const struct box *box, bool read_only, struct pawl_error *err)
{
    struct db *db = NULL;
    struct db_options options = {
        .url = box->url,
        .world = &box->world.world,
        .read_only = read_only,
    };
    bool opened = db_open(&db, &options, err);
    db_close(db);
    return opened;
}

TEST_EACH_DB(OPS_9_a_store_on_a_disk_of_another_machine_is_refused)
{
    static const struct {
        long disk;
        const char *name;
    } remote[] = { { NFS_SUPER_MAGIC, "(NFS)" }, { CIFS_SUPER_MAGIC, "(CIFS)" } };
    struct pawl_error err = {0};
    for (size_t i = 0; i < countof(remote); i++) {
        system_disk = remote[i].disk;
        EXPECT_REFUSED(PAWL_STORE, open_and_close(box, false, &err));
        EXPECT(strstr(err.message, remote[i].name) != NULL);
    }
    system_disk = TMPFS_MAGIC;
    MUST(open_and_close(box, false, &err));
    system_disk = 0;
}

// Each file is asked about in turn. Root may do everything: here the system says otherwise.
TEST_EACH_DB(OPS_9_a_file_that_may_not_be_used_is_named_with_the_reason)
{
    static const int reasons[] = { EACCES, EROFS };
    for (size_t i = 0; i < 2 * countof(reasons); i++) {
        bool reached = true;
        int named = 0;
        for (int64_t n = 1; reached; n++) {
            struct pawl_error err = {0};
            fail_call(n, reasons[i / 2]);
            bool opened = open_and_close(box, i % 2, &err);
            reached = calm();
            EXPECT(opened || (reached && err.code != PAWL_OK));
            named += !opened && strstr(err.message, strerrordesc_np(reasons[i / 2])) != NULL;
        }
        EXPECT(named >= 3);  // the file, its log and the index of that
    }
}

// POSIX has two names for it.
TEST_EACH_DB(RUN_5_a_lock_that_another_has_is_known_by_either_name)
{
    static const int names[] = { EAGAIN, EACCES };
    for (size_t i = 0; i < countof(names); i++) {
        struct pawl_error err = {0};
        struct hold hold = {0};
        struct sole sole = {0};
        struct tx tx = {0};
        db_close(box->db);
        fail_call(4, names[i]);  // behind what names the file and opens it
        EXPECT_REFUSED(PAWL_CONFLICT, hold_take(&hold, box->url, S("one"), &err));
        EXPECT(calm());
        fail_call(4, names[i]);
        EXPECT_REFUSED(PAWL_CONFLICT, sole_take(&sole, box->url, &err));
        EXPECT(calm());
        sole_end(&sole);
        box->db = box_second(box, false);
        fail_call(1, names[i]);
        MUST(tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));  // it is tried again
        EXPECT(calm());
        tx_end(&tx);
    }
}

// Who listens cannot be asked: the ring is lost like any other, and what was stored is stored.
TEST_EACH_DB(RUN_10_work_is_stored_though_nobody_can_be_rung)
{
    NEEDS_EVERY_ANSWER("it has its own commits");
    bool reached = true;
    int64_t stored = 0;
    for (int64_t n = 1; reached; n++) {
        struct pawl_error err = {0};
        struct tx tx = {0};
        struct job job;
        bool known;
        struct contract contract = contract_for(box, "report");
        box_begin(box, &tx);
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
        fail_call(n, EIO);
        MUST(tx_commit(&tx, &err));
        reached = calm();
        stored++;
    }
    EXPECT(stored > 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), stored);
}

TEST(OPS_9_only_a_file_has_a_lock_file)
{
    struct pawl_error err = {0};
    char *path = NULL;
    EXPECT_REFUSED(PAWL_USAGE, lock_file_path(S("postgres://host/db"), &path, &err));
    EXPECT(strstr(err.message, "pg_dump") != NULL);
    EXPECT_REFUSED(PAWL_USAGE, lock_file_path(S("sqlite::memory:"), &path, &err));
    EXPECT(strstr(err.message, "sqlite:FILE") != NULL);
}

// By way of the directory: the path leads to a file of another file system.
TEST_EACH_DB(OPS_9_a_store_whose_directory_was_replaced_is_not_written)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    struct db *db = NULL;
    const char *place = str_format(test_arena(), "%s/place", box->directory).s;
    const char *away = str_format(test_arena(), "%s/away", box->directory).s;
    struct str url = str_format(test_arena(), "sqlite:%s/status", place);
    EXPECT(mkdir(place, 0700) == 0);
    MUST(db_open(&db, &(struct db_options){ .url = url }, &err));
    EXPECT(rename(place, away) == 0 && symlink("/proc/self", place) == 0);
    EXPECT_REFUSED(PAWL_STORE, tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    EXPECT(strstr(err.message, "was removed or replaced") != NULL);
    EXPECT(unlink(place) == 0 && rename(away, place) == 0);
    MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    tx_end(&tx);
    db_close(db);
    static const char *const tails[] = { "", "-wal", "-shm", "-lock" };
    for (size_t i = 0; i < countof(tails); i++)
        unlink(str_format(test_arena(), "%s/status%s", place, tails[i]).s);
    EXPECT(rmdir(place) == 0);
}
