// Files as whole things: shared, copied where they cannot be, and never half under their name.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "faults.h"
#include "process.h"
#include "rehearsal.h"
#include "test.h"

enum { LONG_BYTES = 200 << 10 };  // more than one piece of a copy

static struct scratch scratch;

static void open_place(void)
{
    scratch = scratch_open();
}

static void close_place(void)
{
    scratch_close(&scratch);
}

static const char *at(const char *name)
{
    return scratch_file(&scratch, name);
}

static void write_file(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "w");
    EXPECT(file != NULL);
    for (size_t i = 0; i < bytes; i++)
        putc('a' + (int)(i % 23), file);
    EXPECT(fclose(file) == 0);
}

static bool same(const char *one, const char *other)
{
    return str_eq(test_file_at(one), test_file_at(other));
}

static bool is_one_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino;
}

TEST(OPS_9_a_file_is_shared_once)
{
    struct pawl_error err = {0};
    open_place();
    write_file(at("from"), 100);
    MUST(file_share(at("from"), at("to"), &err));
    EXPECT(is_one_file(at("from"), at("to")));
    MUST(file_share(at("from"), at("to"), &err));
    close_place();
}

// A link cannot be made where there is a file already: it was copied while the other was written.
TEST(OPS_9_a_copy_that_is_too_short_is_made_again)
{
    struct pawl_error err = {0};
    open_place();
    write_file(at("from"), LONG_BYTES);
    write_file(at("to"), 10);
    MUST(file_share(at("from"), at("to"), &err));
    EXPECT(same(at("from"), at("to")) && !is_one_file(at("from"), at("to")));
    EXPECT(!file_there(at("to.tmp")));
    close_place();
}

// Whichever call of the system fails, and however: what has the name is the old copy or the new.
TEST(OPS_9_a_copy_is_whole_or_as_before_whichever_call_fails)
{
    static const struct {
        int error;
        enum pawl_code code;
    } kinds[] = { { EIO, PAWL_STORE },
                  { EINTR, PAWL_STORE },
                  { ENOSPC, PAWL_DISK_FULL },
                  { EDQUOT, PAWL_DISK_FULL } };
    open_place();
    write_file(at("from"), LONG_BYTES);
    write_file(at("short"), 10);
    for (size_t i = 0; i < countof(kinds); i++) {
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            struct pawl_error err = {0};
            write_file(at("to"), 10);
            system_errno = kinds[i].error;
            system_faults = (struct fault_counter){ .fail_at = n };
            bool done = file_share(at("from"), at("to"), &err);
            reached = system_faults.failed > 0;
            system_faults = (struct fault_counter){0};
            EXPECT(done || err.code == kinds[i].code);
            EXPECT(same(at("to"), at(done ? "from" : "short")));
            EXPECT(done || reached);
            EXPECT(!file_there(at("to.tmp")));
        }
    }
    close_place();
}

TEST(OPS_9_what_cannot_be_shared_is_told)
{
    struct pawl_error err = {0};
    open_place();
    write_file(at("from"), 100);
    EXPECT_REFUSED(PAWL_STORE, file_share(at("missing"), at("to"), &err));
    EXPECT(strstr(err.message, "cannot read ") != NULL);
    EXPECT_REFUSED(PAWL_STORE, file_share(at("from"), at("missing/to"), &err));
    EXPECT(strstr(err.message, "cannot copy to ") != NULL);
    EXPECT(mkdir(at("folder"), 0777) == 0);
    EXPECT_REFUSED(PAWL_STORE, file_share(at("from"), at("folder"), &err));
    EXPECT(!file_there(at("folder.tmp")));
    EXPECT_REFUSED(PAWL_STORE, file_alias(at("from"), at("missing/alias"), &err));
    EXPECT_REFUSED(PAWL_STORE, file_move(at("missing"), at("to"), &err));
    EXPECT_REFUSED(PAWL_STORE, file_exchange(at("missing"), at("from"), &err));
    EXPECT_REFUSED(PAWL_STORE, file_sync(at("missing"), &err));
    close_place();
}

// It has its new name already: who is told that it failed has to look.
TEST(OPS_9_a_file_that_is_moved_and_not_synced_is_told)
{
    int failed = 0;
    open_place();
    system_errno = EIO;
    for (int64_t n = 1; n <= 5; n++) {
        struct pawl_error err = {0};
        write_file(at("one"), 10);
        write_file(at("other"), 20);
        system_faults = (struct fault_counter){ .fail_at = n };
        bool exchanged = file_exchange(at("one"), at("other"), &err);
        failed += !exchanged && err.code == PAWL_STORE;
        EXPECT(exchanged == (system_faults.failed == 0));
        system_faults = (struct fault_counter){ .fail_at = n };
        bool moved = file_move(at("one"), at("new"), &err);
        failed += !moved && err.code == PAWL_STORE;
        EXPECT(moved == (system_faults.failed == 0));
        system_faults = (struct fault_counter){0};
    }
    EXPECT_INT(failed, 5 + 3);
    close_place();
}

TEST(OPS_9_the_directory_of_any_path_is_synced)
{
    struct pawl_error err = {0};
    MUST(file_sync_directory_of("/tmp", &err));
    MUST(file_sync_directory_of("name", &err));
    EXPECT_REFUSED(PAWL_STORE, file_sync_directory_of("/no/such/file", &err));
    EXPECT(strstr(err.message, "/no/such:") != NULL);
}

// ----- directories

// What is half written, and what is no file, stays behind.
TEST(OPS_9_the_files_of_a_directory_are_shared_and_nothing_else)
{
    struct pawl_error err = {0};
    int64_t files = 0;
    open_place();
    EXPECT(mkdir(at("from"), 0777) == 0 && mkdir(at("from/below"), 0777) == 0);
    write_file(at("from/one"), 10);
    write_file(at("from/below/other"), 10);
    write_file(at("from/half.tmp"), 10);
    write_file(at("from/.hidden"), 10);
    EXPECT(mkfifo(at("from/pipe"), 0666) == 0);
    EXPECT(symlink("one", at("from/alias")) == 0);
    for (int i = 0; i < 2; i++) {
        MUST(files_share(at("from"), at("to"), &files, &err));
        EXPECT_INT(files, 2);
    }
    EXPECT(is_one_file(at("from/one"), at("to/one")));
    EXPECT(is_one_file(at("from/below/other"), at("to/below/other")));
    EXPECT(!file_there(at("to/half.tmp")) && !file_there(at("to/.hidden")));
    EXPECT(!file_there(at("to/pipe")) && !file_there(at("to/alias")));
    MUST(files_share(at("missing"), at("other"), NULL, &err));
    EXPECT(!file_there(at("other")));
    close_place();
}

TEST(OPS_9_a_file_that_is_there_and_cannot_be_shared_is_told)
{
    struct pawl_error err = {0};
    open_place();
    EXPECT(mkdir(at("from"), 0777) == 0);
    EXPECT(mkdir(at("to"), 0777) == 0 && mkdir(at("to/one"), 0777) == 0);
    write_file(at("from/one"), 10);
    EXPECT_REFUSED(PAWL_STORE, files_share(at("from"), at("to"), NULL, &err));
    close_place();
}

TEST(OPS_9_a_directory_that_is_none_or_too_deep_is_told)
{
    struct pawl_error err = {0};
    open_place();
    write_file(at("from"), 10);
    EXPECT_REFUSED(PAWL_STORE, files_share(at("from"), at("to"), NULL, &err));
    const char *deep = at("deep");
    EXPECT(mkdir(deep, 0777) == 0);
    for (int i = 0; i < 10; i++) {
        deep = str_format(test_arena(), "%s/below", deep).s;
        EXPECT(mkdir(deep, 0777) == 0);
    }
    EXPECT_REFUSED(PAWL_STORE, files_share(at("deep"), at("to"), NULL, &err));
    EXPECT(strstr(err.message, "deeper than anything Pawl makes") != NULL);
    close_place();
}

static const char *removed;  // before this call of the system, by somebody else
static int64_t removed_before;

static void remove_one(struct fault_counter *faults)
{
    if (faults->calls == removed_before)
        EXPECT(remove(removed) == 0);
}

// One after the other: before each call of the system. What is not there any more is not counted.
TEST(OPS_9_a_file_that_is_removed_while_a_directory_is_shared_is_not_missed)
{
    bool reached = true, counted_none = false;
    open_place();
    EXPECT(mkdir(at("from"), 0777) == 0);
    removed = at("from/one");
    for (removed_before = 1; reached; removed_before++) {
        struct pawl_error err = {0};
        int64_t files = 0;
        write_file(removed, 10);
        write_file(at("half"), 3);
        EXPECT(mkdir(at("to"), 0777) == 0 && link(at("half"), at("to/one")) == 0);
        system_faults = (struct fault_counter){ .about_to = remove_one };
        MUST(files_share(at("from"), at("to"), &files, &err));
        reached = system_faults.calls >= removed_before;
        system_faults = (struct fault_counter){0};
        EXPECT_INT(files, file_there(at("to/one")) && !is_one_file(at("half"), at("to/one")));
        counted_none |= files == 0;
        unlink(at("half"));
        EXPECT(unlink(at("to/one")) == 0 && rmdir(at("to")) == 0);
    }
    EXPECT(counted_none);
    close_place();
}

// Of a whole directory: each call fails once, and asked once more it is there.
TEST(OPS_9_a_directory_is_shared_or_it_is_told_whichever_call_fails)
{
    bool reached = true;
    open_place();
    EXPECT(mkdir(at("from"), 0777) == 0);
    write_file(at("from/one"), 10);
    system_errno = EIO;
    for (int64_t n = 1; reached; n++) {
        struct pawl_error err = {0};
        int64_t files = 0;
        system_faults = (struct fault_counter){ .fail_at = n };
        bool done = files_share(at("from"), at("to"), &files, &err);
        reached = system_faults.failed > 0;
        system_faults = (struct fault_counter){0};
        EXPECT(done || (reached && err.code == PAWL_STORE && err.message[0]));
        EXPECT(!done || same(at("from/one"), at("to/one")));
        MUST(files_share(at("from"), at("to"), &files, &err));
        EXPECT_INT(files, 1);
        EXPECT(unlink(at("to/one")) == 0 && rmdir(at("to")) == 0);
    }
    close_place();
}

static int64_t fails_from;

static void fail_three(struct fault_counter *faults)
{
    bool fails = faults->calls >= fails_from && faults->calls < fails_from + 3;
    faults->fail_at = fails ? faults->calls : 0;
}

// To share it fails, and so does a look at whether it is there still: it is not taken for removed.
TEST(OPS_9_a_file_that_cannot_be_looked_at_is_not_left_out)
{
    bool reached = true;
    open_place();
    EXPECT(mkdir(at("from"), 0777) == 0);
    write_file(at("from/one"), 10);
    system_errno = EIO;
    for (fails_from = 1; reached; fails_from++) {
        struct pawl_error err = {0};
        int64_t files = 0;
        system_faults = (struct fault_counter){ .about_to = fail_three };
        bool done = files_share(at("from"), at("to"), &files, &err);
        reached = system_faults.failed > 0;
        system_faults = (struct fault_counter){0};
        EXPECT(done ? same(at("from/one"), at("to/one")) : err.code == PAWL_STORE);
        unlink(at("to/one"));
        rmdir(at("to"));
    }
    close_place();
}

TEST(OPS_9_a_directory_for_whose_files_there_is_no_memory_is_told)
{
    bool reached = true;
    int failed = 0;
    open_place();
    EXPECT(mkdir(at("from"), 0777) == 0);
    write_file(at("from/one"), 10);
    for (int64_t n = 1; reached; n++) {
        struct pawl_error err = {0};
        const char *from = at("from"), *to = at("to");
        rehearsal_arenas(n);
        bool done = files_share(from, to, NULL, &err);
        reached = rehearsal_calm();
        EXPECT(done ? !reached : reached && err.code == PAWL_NO_MEMORY);
        failed += !done;
    }
    EXPECT_INT(failed, 2);
    close_place();
}
