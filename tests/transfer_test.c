// What `pawl copy` refuses, between files. What it copies, and how it goes on: postgres/copy_test.
#include "engine/transfer.h"

#include <string.h>
#include <unistd.h>

#include "fixture.h"

// The message of the refusal; empty: it was not refused.
static const char *copied(struct box *box, struct str from, struct str to, bool force)
{
    struct pawl_error err = {0};
    struct transfer_report report;
    struct transfer transfer = {
        .from = from,
        .to = to,
        .force = force,
        .world = &box->world.world,
    };
    bool made = transfer_make(&transfer, &report, &err);
    return made ? "" : str_dup(test_arena(), str_of(err.message)).s;
}

static struct str other(struct box *box)
{
    return str_format(test_arena(), "sqlite:%s/other.db", box->directory);
}

static const char *copy_box(struct box *box, bool force)
{
    db_close(box->db);
    const char *message = copied(box, box->url, other(box), force);
    box->db = box_second(box, false);
    return message;
}

static void remove_other(struct box *box)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock" };
    for (size_t i = 0; i < countof(ends); i++)
        unlink(str_format(test_arena(), "%s/other.db%s", box->directory, ends[i]).s);
}

// The statement on a store, between two copies.
static void run_on(struct str url, const char *sql)
{
    EXPECT(outside_run(url, sql, NULL, NULL));
}

TEST_EACH_DB(COPY_a_source_of_another_version_is_refused)
{
    struct str url = other(box);
    EXPECT_STR(str_of(copy_box(box, false)), "");
    struct str third = str_format(test_arena(), "sqlite:%s/third.db", box->directory);
    run_on(url, "INSERT INTO schema_migrations (version, name, applied_at) VALUES (9999, 'x', 1)");
    EXPECT(strstr(copied(box, url, third, false), "use a newer pawl") != NULL);
    run_on(url, "DELETE FROM schema_migrations WHERE version > 5");
    EXPECT(strstr(copied(box, url, third, false), "pawl migrate") != NULL);
    run_on(url, "INSERT INTO schema_migrations (version, name, applied_at)"
                " VALUES (1000000, 'unfinished copy', 1)");
    EXPECT(strstr(copied(box, url, third, false), "not done itself") != NULL);
}

// One that was begun, as somebody else left it.
TEST_EACH_DB(COPY_is_gone_on_with_by_the_same_version_from_the_same_source)
{
    static const char unfinished[] =
        "INSERT INTO schema_migrations (version, name, applied_at)"
        " VALUES (1000000, 'unfinished copy', 1); UPDATE store_copy SET finished_at = NULL";
    struct str url = other(box);
    must_enqueue(box, "report");
    EXPECT_STR(str_of(copy_box(box, false)), "");
    run_on(url, unfinished);
    EXPECT_STR(str_of(copy_box(box, false)), "");
    run_on(url, unfinished);
    run_on(url, "UPDATE store_copy SET source = 'another'");
    EXPECT(strstr(copy_box(box, false), "of another store") != NULL);
    run_on(url, "DELETE FROM store_copy");
    EXPECT(strstr(copy_box(box, false), "of another store") != NULL);
    run_on(url, "INSERT INTO schema_migrations (version, name, applied_at) VALUES (9999, 'x', 1)");
    EXPECT(strstr(copy_box(box, false), "another version of Pawl began") != NULL);
}

TEST_EACH_DB(COPY_of_a_store_on_which_somebody_lived_a_moment_ago_waits)
{
    struct instance instance = { S("one"), S("boot") };
    OK(instance_enter(tx, &instance, false, err));  // its name is held by nothing
    EXPECT(strstr(copy_box(box, false), "alive a moment ago") != NULL);
    OK(instance_leave(tx, &instance, err));
    remove_other(box);
    EXPECT_STR(str_of(copy_box(box, false)), "");
}

TEST_EACH_DB(COPY_of_a_store_that_contradicts_itself_is_kept_by_force)
{
    must_enqueue(box, "report");
    box_sql(box, "DELETE FROM ready");
    box->damaged = true;
    EXPECT(strstr(copy_box(box, false), "contradict each other") != NULL);
    EXPECT_STR(str_of(copy_box(box, true)), "");
}

// Rows are read in pieces of a few megabytes and written in transactions of a few more.
TEST_EACH_DB(COPY_of_large_rows_is_made_in_smaller_pieces)
{
    enum { BYTES = 40 << 10, JOBS = 600 };
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct job job;
    bool known;
    char *text = arena_new(test_arena(), char, BYTES);
    EXPECT(text != NULL);
    memset(text, 'x', BYTES);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + BYTES - 2, "\"}", 2);
    struct contract contract = contract_for(box, "report");
    contract.payload = (struct str){ text, BYTES };
    box_begin(box, &tx);
    for (int i = 0; i < JOBS; i++)
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    box_commit(&tx);
    EXPECT_STR(str_of(copy_box(box, false)), "");
}

TEST_EACH_DB(COPY_that_somebody_changed_is_found_out)
{
    static const char *const changes[] = {
        "UPDATE queues SET name = 'q:other' WHERE name = 'q:default'",
        "UPDATE parked SET due_at = due_at + 1",
        "UPDATE queues SET paused_at = 1",
    };
    struct contract contract = contract_for(box, "report");
    contract.scheduled_for = box->world.wall + HOURS(1);
    must_add(box, &contract);
    for (size_t i = 0; i < countof(changes); i++) {
        EXPECT_STR(str_of(copy_box(box, false)), "");
        run_on(other(box), "INSERT INTO schema_migrations (version, name, applied_at)"
                           " VALUES (1000000, 'unfinished copy', 1);"
                           "UPDATE store_copy SET finished_at = NULL");
        run_on(other(box), changes[i]);
        EXPECT(strstr(copy_box(box, false), "not the same rows") != NULL);
        remove_other(box);
    }
}
