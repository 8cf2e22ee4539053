// Transactions that do not begin, or do not commit, and who is told.
#include "fixture.h"

#include <string.h>

// Whoever does not want to know why says NULL.
TEST_EACH_DB(a_refusal_needs_nobody_who_hears_why)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    SCOPED(arena) struct arena arena = {0};
    struct tx tx = {0};
    MUST(tx_begin(box->db, TX_WRITE, &arena, &tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    arena.failed = true;
    EXPECT(!tx_commit(&tx, NULL));
    tx_end(&tx);
    arena_reset(&arena);
    MUST(tx_begin(box->db, TX_WRITE, &arena, &tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    EXPECT(tx_commit(&tx, NULL));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
}

static bool refuse_to_begin(void *self, enum fault_point point, struct pawl_error *err)
{
    return point != FAULT_BEGIN || fail(err, PAWL_STORE, "%s", (const char *)self);
}

// A connection that is kept stays open when a transaction is refused for another reason.
TEST_EACH_DB(what_cannot_be_opened_or_begun_for_reading_is_told)
{
    struct pawl_error err = {0};
    struct db *db = NULL;
    struct tx tx = {0};
    struct db_options nowhere = { .url = S("sqlite:/nowhere/pawl.db"), .read_only = true };
    EXPECT_REFUSED(PAWL_NOT_FOUND, db_begin_read(&db, &nowhere, test_arena(), &tx, &err));
    EXPECT(db == NULL);
    char why[] = "not now";
    struct faults faults = { why, refuse_to_begin };
    struct db_options options = { .url = box->url, .world = &box->world.world, .faults = &faults };
    MUST(db_open(&db, &options, &err));
    struct db *before = db;
    EXPECT_REFUSED(PAWL_STORE, db_begin_read(&db, &options, test_arena(), &tx, &err));
    EXPECT(db == before && strstr(err.message, "not now") != NULL);
    db_close(db);
}
