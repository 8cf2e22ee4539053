// Files beside the store: names that are taken or are none, and disks that say no.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/world.h"
#include "faults.h"
#include "process.h"
#include "store/blob.h"
#include "test.h"

#define NO_NAME "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
#define SOME_NAME "0123456789abcdef0123456789abcdef"

static struct scratch scratch;

static const char *open_place(void)
{
    scratch = scratch_open();
    return scratch_file(&scratch, "artifacts");
}

static void close_place(void)
{
    scratch_close(&scratch);
}

static struct blob must_create(const char *directory)
{
    struct blob blob = {0};
    struct pawl_error err = {0};
    MUST(blob_create(directory, world_real(), &blob, &err));
    return blob;
}

// In every call of the system.
TEST(OPS_9_a_quota_that_is_used_up_is_a_full_disk)
{
    static const int full[] = { ENOSPC, EDQUOT, EFBIG };
    const char *directory = open_place();
    for (size_t i = 0; i < countof(full); i++) {
        struct pawl_error err = {0};
        struct blob blob = must_create(directory);
        system_errno = full[i];
        system_faults = (struct fault_counter){ .fail_at = 1 };
        EXPECT_REFUSED(PAWL_DISK_FULL, blob_write(&blob, "a", 1, &err));
        system_faults = (struct fault_counter){0};
        blob_drop(&blob);
    }
    close_place();
}

static void same_again(void *self, void *bytes, size_t n)
{
    (void)self;
    memset(bytes, 7, n);
}

TEST(OPS_24_a_name_that_is_taken_is_not_written_over)
{
    struct world stuck = *world_real();
    struct blob first = {0}, second = {0};
    struct pawl_error err = {0};
    const char *directory = open_place();
    stuck.random = same_again;
    MUST(blob_create(directory, &stuck, &first, &err));
    MUST(blob_write(&first, "first", 5, &err));
    EXPECT_REFUSED(PAWL_STORE, blob_create(directory, &stuck, &second, &err));
    EXPECT(strstr(err.message, "cannot make a file") != NULL);
    EXPECT(!second.open);
    MUST(blob_settle(&first, &err));
    MUST(blob_check(directory, str_of(first.name), 5, str_of(first.sha256), &err));
    blob_drop(&first);
    close_place();
}

static const char *cleared;  // the directory in which it is

// Whoever clears up has it between its open and its lock: the second call after the directory's.
static void clear_up(struct fault_counter *faults)
{
    SCOPED(arena) struct arena arena = {0};
    struct blob_names names;
    struct pawl_error err = {0};
    if (faults->calls != 3)
        return;
    faults->about_to = NULL;
    MUST(blobs_list(cleared, &arena, &names, &err));
    EXPECT_INT(names.count, 1);
    MUST(blob_remove(cleared, names.at[0], &err));
}

TEST(OPS_24_a_file_that_is_cleared_up_before_it_is_locked_is_made_again)
{
    struct blob blob = {0};
    struct blob_names names;
    struct pawl_error err = {0};
    cleared = open_place();
    system_faults = (struct fault_counter){ .about_to = clear_up };
    MUST(blob_create(cleared, world_real(), &blob, &err));
    EXPECT(system_faults.about_to == NULL);
    MUST(blobs_list(cleared, test_arena(), &names, &err));
    EXPECT_INT(names.count, 1);
    expect_str(names.at[0], str_of(blob.name), PLACE("the name"));
    blob_drop(&blob);
    close_place();
}

TEST(OPS_24_what_is_no_name_of_a_file_is_neither_read_nor_removed)
{
    static const char *const bad[] = { NO_NAME, "../x", "", SOME_NAME "0" };
    struct pawl_error err = {0};
    int fd = -1;
    const char *directory = open_place();
    struct blob blob = must_create(directory);
    FILE *file = fopen(scratch_file(&scratch, "artifacts/" NO_NAME), "w");
    EXPECT(file && fclose(file) == 0);
    for (size_t i = 0; i < countof(bad); i++) {
        EXPECT_REFUSED(PAWL_NOT_FOUND, blob_open(directory, str_of(bad[i]), 0, &fd, &err));
        MUST(blob_remove(directory, str_of(bad[i]), &err));
    }
    EXPECT(file_there(scratch_file(&scratch, "artifacts/" NO_NAME)));
    blob_drop(&blob);
    close_place();
}

TEST(OPS_24_a_file_that_is_gone_is_removed_and_not_forsaken)
{
    struct pawl_error err = {0};
    int fd = -1;
    const char *directory = open_place();
    MUST(blob_remove(directory, S(SOME_NAME), &err));
    EXPECT(!blob_forsaken(directory, S(SOME_NAME), &fd));
    close_place();
}

TEST(OPS_24_a_url_that_leads_nowhere_has_no_files)
{
    EXPECT(blobs_path(S("sqlite:/nowhere/at/all.db")) == NULL);
    EXPECT(blobs_path(S("postgres://host/db?schema=no-name")) == NULL);
}
