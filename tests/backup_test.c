// Backup and restore: whole or not there, under load, at kill -9 at every stage, on a full disk;
// and what a restored store refuses.
#include "engine/backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers.h"
#include "engine/queue.h"
#include "fixture.h"
#include "process.h"
#include "store/copy.h"

// ----- a store in virtual time, its backup, and the store that is made from it

static const char *in_box(const struct box *box, const char *name)
{
    return str_cstr(test_arena(), str_format(test_arena(), "%s/%s", box->directory, name));
}

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    EXPECT(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static struct backup_report must_back_up(struct box *box, const char *file)
{
    struct pawl_error err = {0};
    struct backup_report report;
    struct backup backup = { .store = box->url, .file = file, .world = &box->world.world };
    MUST(backup_make(&backup, &report, &err));
    return report;
}

static bool restore_into(struct box *box, const char *file, bool hold,
                         struct restore_report *report, struct pawl_error *err)
{
    NEEDS_EVERY_ANSWER("a restore whose commit is in doubt says so and leaves it to its caller");
    struct restore restore = {
        .store = box->url,
        .file = file,
        .force = true,
        .hold = hold,
        .world = &box->world.world,
        .caller = &box->caller,
    };
    return restore_make(&restore, report, test_arena(), err);
}

// The box goes on with the store as it was when the backup was made.
static struct restore_report must_restore(struct box *box, const char *file, bool hold)
{
    struct pawl_error err = {0};
    struct restore_report report;
    db_close(box->db);
    MUST(restore_into(box, file, hold, &report, &err));
    EXPECT(report.aside != NULL && there(report.aside));
    unlink(report.aside);
    MUST(db_open(&box->db, &(struct db_options){ .url = box->url, .world = &box->world.world },
                 &err));
    return report;
}

TEST_EACH_DB(OPS_9_a_backup_is_one_moment_of_the_store)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct job before = must_enqueue(box, "report");
    struct backup_report report = must_back_up(box, file);
    EXPECT(report.verified && report.found.jobs == 1 && report.found.violations == 0);
    EXPECT(report.bytes > 0);
    must_enqueue(box, "report");
    EXPECT(!there(in_box(box, "pawl.db-aside.tmp")));
    EXPECT(!there(in_box(box, "pawl.db-aside-wal")));
    must_restore(box, file, false);
    EXPECT(must_load(box, before.id).state == JOB_QUEUED);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
}

TEST_EACH_DB(OPS_9_a_backup_replaces_nothing)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct backup_report report;
    struct pawl_error err = {0};
    struct backup backup = { .store = box->url, .file = file, .world = &box->world.world };
    MUST(backup_make(&backup, &report, &err));
    struct stat first, second;
    EXPECT(stat(file, &first) == 0);
    EXPECT_REFUSED(PAWL_CONFLICT, backup_make(&backup, &report, &err));
    EXPECT(stat(file, &second) == 0 && first.st_ino == second.st_ino
           && first.st_mtime == second.st_mtime);
}

// Whoever makes it holds what is half made; what a killed one left is held by nobody.
TEST_EACH_DB(OPS_9_two_do_not_make_the_same_backup)
{
    const char *file = in_box(box, "pawl.db-aside"), *half = in_box(box, "pawl.db-aside.tmp");
    struct backup_report report;
    struct pawl_error err = {0};
    struct backup backup = { .store = box->url, .file = file, .world = &box->world.world };
    int fd = open(half, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    EXPECT(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    EXPECT_REFUSED(PAWL_CONFLICT, backup_make(&backup, &report, &err));
    EXPECT(strstr(err.message, "another process is making") != NULL && there(half));
    close(fd);
    MUST(backup_make(&backup, &report, &err));
    EXPECT(!there(half));
}

TEST_EACH_DB(OPS_9_a_backup_that_cannot_be_written_says_why)
{
    struct backup_report report;
    struct pawl_error err = {0};
    struct backup backup = { .store = box->url, .world = &box->world.world };
    backup.file = in_box(box, "missing/backup.db");
    EXPECT_REFUSED(PAWL_NOT_FOUND, backup_make(&backup, &report, &err));
    EXPECT(symlink("nowhere", in_box(box, "backup.db.tmp")) == 0);
    backup.file = in_box(box, "backup.db");
    EXPECT_REFUSED(PAWL_STORE, backup_make(&backup, &report, &err));
    unlink(in_box(box, "backup.db.tmp"));
}

static void take_name(void *self, enum copy_stage stage)
{
    if (stage == STAGE_PLACE)
        write_file(self, "somebody else's");
}

TEST_EACH_DB(OPS_9_a_backup_whose_name_is_taken_meanwhile_is_not_made)
{
    const char *file = in_box(box, "backup.db");
    struct backup_report report;
    struct pawl_error err = {0};
    struct backup backup = {
        .store = box->url,
        .file = file,
        .world = &box->world.world,
        .audience = { .self = (void *)(uintptr_t)file, .stage = take_name },
    };
    EXPECT_REFUSED(PAWL_CONFLICT, backup_make(&backup, &report, &err));
    EXPECT_STR(test_file_at(file), "somebody else's");
    EXPECT(!there(in_box(box, "backup.db.tmp")));
    unlink(file);
}

TEST_EACH_DB(OPS_9_a_backup_that_contradicts_itself_is_kept_by_force_and_not_restored)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct backup_report report;
    struct restore_report restored;
    struct pawl_error err = {0};
    struct backup backup = { .store = box->url, .file = file, .world = &box->world.world };
    must_enqueue(box, "report");
    box_sql(box, "DELETE FROM ready");
    box->damaged = true;
    EXPECT_REFUSED(PAWL_DAMAGED, backup_make(&backup, &report, &err));
    EXPECT(!there(file));
    backup.force = true;
    MUST(backup_make(&backup, &report, &err));
    EXPECT(report.found.violations > 0);
    db_close(box->db);
    EXPECT_REFUSED(PAWL_DAMAGED, restore_into(box, file, false, &restored, &err));
    box->db = box_second(box, false);
}

TEST_EACH_DB(OPS_9_a_store_is_replaced_by_force_only)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct restore_report report;
    struct pawl_error err = {0};
    struct restore restore = {
        .store = box->url,
        .file = file,
        .world = &box->world.world,
        .caller = &box->caller,
    };
    must_enqueue(box, "report");
    must_back_up(box, file);
    EXPECT_REFUSED(PAWL_CONFLICT, restore_make(&restore, &report, test_arena(), &err));
    EXPECT(strstr(err.message, "--force") != NULL);
    restore.file = in_box(box, "missing");
    EXPECT_REFUSED(PAWL_NOT_FOUND, restore_make(&restore, &report, test_arena(), &err));
    restore.file = file;
    restore.store = str_format(test_arena(), "sqlite:%s/new.db", box->directory);
    MUST(restore_make(&restore, &report, test_arena(), &err));
    EXPECT(!report.aside && report.waiting == 1);
}

TEST_EACH_DB(OPS_9_what_holds_no_store_is_not_restored)
{
    const char *file = in_box(box, "empty.db");
    struct restore_report report;
    struct pawl_error err = {0};
    write_file(file, "");
    db_close(box->db);
    EXPECT_REFUSED(PAWL_DAMAGED, restore_into(box, file, false, &report, &err));
    EXPECT(strstr(err.message, "holds no store") != NULL);
    box->db = box_second(box, false);
}

// FM_001 across a restore: who was leased something after the backup holds nothing that exists.
TEST_EACH_DB(EXEC_3_a_worker_with_a_lease_from_after_the_backup_is_refused)
{
    const char *file = in_box(box, "pawl.db-aside");
    must_enqueue(box, "report");
    must_back_up(box, file);
    struct lease old = must_start(box, "A");
    must_restore(box, file, false);
    struct execution e;
    REFUSED(PAWL_NOT_FOUND, execution_commit(tx, &old, &(struct commit){0}, &e, err));
    REFUSED(PAWL_NOT_FOUND, execution_release(tx, &old, &e, err));
    struct lease again = must_start(box, "A");  // the same worker, the same attempt
    EXPECT_INT(again.attempt, old.attempt);
    EXPECT(again.execution.high != old.execution.high || again.execution.low != old.execution.low);
    REFUSED(PAWL_NOT_FOUND, execution_commit(tx, &old, &(struct commit){0}, &e, err));
    must_commit(box, &again);
}

TEST_EACH_DB(EXEC_4_what_ran_when_the_backup_was_made_is_taken_up_when_its_lease_is_over)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct job job = must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_back_up(box, file);
    must_commit(box, &lease);
    EXPECT(must_load(box, job.id).state == JOB_SUCCEEDED);
    struct restore_report report = must_restore(box, file, false);
    EXPECT_INT(report.running, 1);
    EXPECT(must_load(box, job.id).state == JOB_RUNNING);  // it ended after the backup
    pass(box, HOURS(2));
    must_sweep(box);
    EXPECT(must_load(box, job.id).state == JOB_RETRYING);
    struct execution e;
    REFUSED(PAWL_FENCED, execution_commit(tx, &lease, &(struct commit){0}, &e, err));
}

TEST_EACH_DB(OPS_19_a_restore_is_in_the_audit_trail)
{
    const char *file = in_box(box, "pawl.db-aside");
    must_enqueue(box, "report");
    must_back_up(box, file);
    must_restore(box, file, false);
    EXPECT_STR(box_text(box, "SELECT event || ' ' || subject || ' ' || actor_id FROM pawl_audit"
                             " ORDER BY id DESC LIMIT 1"),
               "store.restored store tester");
    EXPECT_STR(box_text(box, "SELECT detail ->> 'backup' FROM pawl_audit ORDER BY id DESC LIMIT 1"),
               "pawl.db-aside");
}

TEST_EACH_DB(OPS_9_a_store_restored_on_hold_runs_nothing)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct claimed *claimed;
    must_enqueue(box, "report");
    struct contract contract = contract_for(box, "report");
    contract.queue = S("q:exports");
    must_add(box, &contract);
    box->caller.org_id = S("");
    OK(queue_pause(tx, contract.queue, err));  // it is already
    box->caller.org_id = DEFAULT_ORG;
    must_back_up(box, file);
    struct restore_report report = must_restore(box, file, true);
    EXPECT_INT(report.waiting, 2);
    EXPECT(report.queues_paused > 0);
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 0);
    box->caller.org_id = S("");
    OK(queue_resume(tx, S("q:default"), err));
    box->caller.org_id = DEFAULT_ORG;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);
}

TEST_EACH_DB(OPS_9_a_backup_of_an_earlier_version_is_restored_and_brought_up_to_date)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct job job = must_enqueue(box, "report");
    box_as_of(box, 6);
    struct backup_report report = must_back_up(box, file);
    EXPECT(!report.verified);
    EXPECT_INT(report.schema_version, 6);
    must_restore(box, file, false);
    EXPECT_INT(box_number(box, "SELECT max(version) FROM schema_migrations"),
               schema_version_known());
    EXPECT(must_load(box, job.id).state == JOB_QUEUED);
}

static void write_at(const char *path, off_t at, const char *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    EXPECT(fd >= 0 && pwrite(fd, bytes, count, at) == (ssize_t)count);
    close(fd);
}

TEST_EACH_DB(OPS_9_a_damaged_backup_is_refused_and_the_store_stays_as_it_was)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct restore_report report;
    struct pawl_error err = {0};
    struct job job = must_enqueue(box, "report");
    must_back_up(box, file);
    write_at(file, 20480, "this is no page of a tree", 25);
    db_close(box->db);
    EXPECT_REFUSED(PAWL_DAMAGED, restore_into(box, file, false, &report, &err));
    EXPECT(!there(in_box(box, "pawl.db.restoring")));
    MUST(db_open(&box->db, &(struct db_options){ .url = box->url, .world = &box->world.world },
                 &err));
    EXPECT(must_load(box, job.id).state == JOB_QUEUED);
}

// What a backup is for.
TEST_EACH_DB(OPS_9_a_store_that_cannot_be_read_any_more_is_replaced_and_kept)
{
    const char *file = in_box(box, "pawl.db-aside"), *store = in_box(box, "pawl.db");
    struct job job = must_enqueue(box, "report");
    must_back_up(box, file);
    db_close(box->db);
    unlink(in_box(box, "pawl.db-wal"));  // the first page may be in it
    write_at(store, 0, "not a database at all", 21);
    struct restore_report report;
    struct pawl_error err = {0};
    MUST(restore_into(box, file, false, &report, &err));
    EXPECT(report.aside && strncmp(test_file_at(report.aside).s, "not a database", 14) == 0);
    unlink(report.aside);
    unlink(str_cstr(test_arena(), str_format(test_arena(), "%s-wal", report.aside)));
    MUST(db_open(&box->db, &(struct db_options){ .url = box->url, .world = &box->world.world },
                 &err));
    EXPECT(must_load(box, job.id).state == JOB_QUEUED);
}

TEST_EACH_DB(OPS_9_a_store_in_use_is_not_replaced)
{
    const char *file = in_box(box, "pawl.db-aside");
    struct restore_report report;
    struct pawl_error err = {0};
    must_back_up(box, file);
    struct tx tx = {0};
    box_begin(box, &tx);  // somebody writes
    EXPECT_REFUSED(PAWL_CONFLICT, restore_into(box, file, false, &report, &err));
    tx_end(&tx);
    struct db *idle = box_second(box, true);  // somebody has it open
    db_close(box->db);
    EXPECT_REFUSED(PAWL_CONFLICT, restore_into(box, file, false, &report, &err));
    db_close(idle);
    box->db = box_second(box, false);
    EXPECT(!there(in_box(box, "pawl.db.restoring")));
}

TEST_EACH_DB(OPS_24_artifacts_go_with_the_backup_and_come_back)
{
    const char *file = in_box(box, "pawl.db-aside");
    EXPECT(mkdir(in_box(box, "pawl.db.artifacts"), 0777) == 0);
    EXPECT(mkdir(in_box(box, "pawl.db.artifacts/01"), 0777) == 0);
    write_file(in_box(box, "pawl.db.artifacts/01/a"), "content");
    write_file(in_box(box, "pawl.db.artifacts/01/b.tmp"), "half");
    struct backup_report report = must_back_up(box, file);
    EXPECT_INT(report.artifacts, 1);
    EXPECT(!there(in_box(box, "pawl.db-aside.artifacts/01/b.tmp")));
    struct stat alias;
    EXPECT(lstat(in_box(box, "pawl.db-aside.tmp.artifacts"), &alias) != 0);
    unlink(in_box(box, "pawl.db.artifacts/01/a"));
    db_close(box->db);
    struct restore_report restored;
    struct pawl_error err = {0};
    unlink(in_box(box, "pawl.db"));
    MUST(restore_into(box, file, false, &restored, &err));
    EXPECT_STR(test_file_at(in_box(box, "pawl.db.artifacts/01/a")), "content");
    MUST(db_open(&box->db, &(struct db_options){ .url = box->url, .world = &box->world.world },
                 &err));
    static const char *const names[] = { "pawl.db.artifacts/01/a", "pawl.db.artifacts/01/b.tmp",
                                         "pawl.db-aside.artifacts/01/a" };
    static const char *const directories[] = { "pawl.db.artifacts/01", "pawl.db.artifacts",
                                               "pawl.db-aside.artifacts/01",
                                               "pawl.db-aside.artifacts" };
    for (size_t i = 0; i < countof(names); i++)
        unlink(in_box(box, names[i]));
    for (size_t i = 0; i < countof(directories); i++)
        rmdir(in_box(box, directories[i]));
}

// ----- real processes

// The two stores of a restore are told apart by how many jobs they hold.
static void fill(const char *url, int64_t jobs)
{
    struct box box = { .url = str_of(url) };
    static uint64_t seed;
    virtual_world_init(&box.world, SECONDS(1800000000), ++seed);
    box.db = box_second(&box, false);
    box.caller = (struct caller){
        .org_id = DEFAULT_ORG,
        .actor_id = S("test"),
        .request_id = S("r"),
        .correlation_id = S("c"),
    };
    for (int64_t i = 0; i < jobs; i++)
        must_enqueue(&box, "report");
    db_close(box.db);
}

static int64_t jobs_in(const char *path)
{
    struct pawl_error err = {0};
    struct db *db = NULL;
    struct verified verified = {0};
    struct str url = str_format(test_arena(), "sqlite:%s", path);
    MUST(db_open(&db, &(struct db_options){ .url = url, .must_exist = true }, &err));
    MUST(db_intact(db, false, &err));
    MUST(verify(db, &(struct verify_options){0}, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    db_close(db);
    return verified.jobs;
}

static int run_copier(const char *what, const char *url, const char *file, const char *word)
{
    struct process copier = word ? process_start("copier", what, url, file, word)
                                 : process_start("copier", what, url, file);
    return process_end(&copier);
}

TEST(OPS_9_killed_at_any_stage_a_backup_is_whole_or_not_there)
{
    struct scratch scratch = scratch_open();
    const char *url = scratch_store(&scratch), *file = scratch_file(&scratch, "backup");
    fill(url, 3);
    int killed = 0, status = -1;
    for (int point = 1; status != 0; point++) {
        char word[16];
        snprintf(word, sizeof word, "%d", point);
        status = run_copier("backup", url, file, word);
        killed += status != 0;
        if (there(file)) {
            EXPECT_INT(jobs_in(file), 3);
            unlink(file);
        }
        EXPECT_INT(jobs_in(scratch_file(&scratch, "pawl.db")), 3);
    }
    EXPECT_INT(killed, 7);
    EXPECT(!there(scratch_file(&scratch, "backup.tmp")));
    scratch_close(&scratch);
}

TEST(OPS_9_killed_at_any_stage_a_restore_leaves_the_old_store_or_the_new_one)
{
    struct scratch scratch = scratch_open();
    const char *url = scratch_store(&scratch), *file = scratch_file(&scratch, "backup");
    const char *store = scratch_file(&scratch, "pawl.db");
    fill(url, 3);
    EXPECT_INT(run_copier("backup", url, file, NULL), 0);
    fill(url, 2);
    int killed = 0, status = -1;
    for (int point = 1; status != 0; point++) {
        char word[16];
        snprintf(word, sizeof word, "%d", point);
        status = run_copier("restore", url, file, word);
        killed += status != 0;
        EXPECT_INT(jobs_in(store), point < 8 ? 5 : 3);  // the last stage: it is done
        EXPECT_INT(jobs_in(file), 3);
    }
    EXPECT_INT(killed, 8);
    EXPECT(!there(scratch_file(&scratch, "pawl.db.restoring")));
    scratch_close(&scratch);
}

TEST(OPS_9_on_a_full_disk_there_is_no_backup_and_the_store_stays)
{
    struct scratch scratch = scratch_open();
    const char *url = scratch_store(&scratch), *file = scratch_file(&scratch, "backup");
    fill(url, 3);
    EXPECT_INT(run_copier("backup", url, file, "full"), 1);
    EXPECT(!there(file) && !there(scratch_file(&scratch, "backup.tmp")));
    EXPECT_INT(run_copier("backup", url, file, NULL), 0);
    EXPECT_INT(run_copier("restore", url, file, "full"), 1);
    EXPECT_INT(jobs_in(scratch_file(&scratch, "pawl.db")), 3);
    EXPECT(!there(scratch_file(&scratch, "pawl.db.restoring")));
    scratch_close(&scratch);
}

// What was answered before the backup began is in it, and it is whole, whoever writes meanwhile.
TEST(OPS_9_a_backup_under_load_holds_all_that_was_answered_before_it)
{
    struct scratch scratch = scratch_open();
    const char *url = scratch_store(&scratch);
    fill(url, 200);
    struct process busy[] = {
        process_start("producer", url, scratch_file(&scratch, "p1"), "p1", "1"),
        process_start("producer", url, scratch_file(&scratch, "p2"), "p2", "2"),
        process_start("worker", url, scratch_file(&scratch, "w1"), "w1", "3"),
    };
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "backup-%d", i);
        int64_t before = scratch_number(&scratch, "SELECT count(*) FROM jobs");
        EXPECT_INT(run_copier("backup", url, scratch_file(&scratch, name), NULL), 0);
        EXPECT(jobs_in(scratch_file(&scratch, name)) >= before);
        while (scratch_number(&scratch, "SELECT count(*) FROM jobs") < before + 10)
            wait_ms(10);  // they go on
    }
    for (size_t i = 0; i < countof(busy); i++)
        process_kill(&busy[i]);
    scratch_close(&scratch);
}
