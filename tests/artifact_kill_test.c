// Whoever stores an artifact and is killed at any point leaves it whole or not at all.
#include <stdio.h>
#include <string.h>

#include "engine/artifact.h"
#include "engine/verify.h"
#include "process.h"
#include "store/blob.h"

static const struct {
    const char *name, *point;
    int64_t stored;  // when it dies there for the second time
} points[] = {
    { "the file is made", "created", 1 },
    { "half of it is written", "half", 1 },
    { "all of it is on disk", "settled", 1 },
    { "the transaction begins", "BEGIN IMMEDIATE", 0 },
    { "the row is inserted", "INSERT INTO artifacts", 1 },
    { "the event is inserted", "INSERT INTO audit_events", 0 },
    { "the row is committed", "COMMIT", 0 },
    { "it is committed", "committed", 2 },
};

static int64_t stored_before_death(const struct scratch *scratch, const char *point)
{
    struct process uploader = process_start("uploader", scratch_store(scratch), "5", point, "2");
    EXPECT(process_end(&uploader) != 0);
    return scratch_number(scratch, "SELECT count(*) FROM artifacts");
}

// After a start there is a file for each row, with its bytes, and no other.
static void check(const struct scratch *scratch, int64_t rows)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct verified verified = {0};
    struct blob_names names;
    size_t removed = 0;
    MUST(db_open(&db, &(struct db_options){ .url = str_of(scratch_store(scratch)) }, &err));
    MUST(artifacts_tidy(db, &removed, &err));
    MUST(verify(db, &(struct verify_options){ .artifacts = true }, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    MUST(blobs_list(db_files(db), test_arena(), &names, &err));
    EXPECT_INT(names.count, rows);
    for (size_t i = 0; i < names.count; i++)
        MUST(blob_remove(db_files(db), names.at[i], &err));
    db_close(db);
}

TEST(OPS_24_an_upload_killed_at_any_point_is_whole_or_not_there)
{
    for (size_t i = 0; i < countof(points); i++) {
        struct scratch scratch = scratch_open();
        int64_t rows = stored_before_death(&scratch, points[i].point);
        if (points[i].stored && rows != points[i].stored)
            print_error("%s: %lld rows\n", points[i].name, (long long)rows);
        EXPECT(points[i].stored == 0 || rows == points[i].stored);
        check(&scratch, rows);
        scratch_close(&scratch);
    }
}

static const struct {
    const char *name, *point;
    int64_t stored;  // when it dies there for the second time
} removals[] = {
    { "the row is deleted", "DELETE FROM artifacts", 1 },
    { "the row is gone", "forgotten", 0 },
    { "the file is gone", "removed", 0 },
};

TEST(OPS_24_a_removal_killed_at_any_point_leaves_all_of_it_or_nothing)
{
    for (size_t i = 0; i < countof(removals); i++) {
        struct scratch scratch = scratch_open();
        struct process remover = process_start("uploader", scratch_store(&scratch), "5",
                                               removals[i].point, "2", "remove");
        EXPECT(process_end(&remover) != 0);
        int64_t rows = scratch_number(&scratch, "SELECT count(*) FROM artifacts");
        if (rows != removals[i].stored)
            print_error("%s: %lld rows\n", removals[i].name, (long long)rows);
        EXPECT_INT(rows, removals[i].stored);
        EXPECT_INT(scratch_number(&scratch, "SELECT count(*) FROM pawl_audit WHERE event ="
                                            " 'artifact.removed'"),
                   2 - rows);
        check(&scratch, rows);
        scratch_close(&scratch);
    }
}
