// A commit whose sync failed, and what becomes of it while somebody else has the store open.
#include "faulty_vfs.h"
#include "fixture.h"

static void fail_to_commit(struct box *box)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct job job;
    bool deduplicated = false;
    struct contract contract = contract_for(box, "report");
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    faulty_vfs.fail_syncs = 1;
    EXPECT_REFUSED(PAWL_IN_DOUBT, tx_commit(&tx, &err));
    tx_end(&tx);
    EXPECT_INT(faulty_vfs.fail_syncs, 0);
}

static void look(struct db *db)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    MUST(tx_begin(db, TX_READ, test_arena(), &tx, &err));
    tx_end(&tx);
}

TEST(OPS_9_what_was_looked_up_and_had_not_happened_does_not_happen_later)
{
    struct box box;
    struct pawl_error err = {0};
    faulty_vfs_install();
    box_open(&box);
    must_enqueue(&box, "report");
    struct db *other = box_second(&box, true);
    look(other);  // from here on the index of the log outlives the one who writes
    fail_to_commit(&box);
    box_reopen(&box);
    MUST(db_harden(box.db, &err));
    int64_t seen = box_number(&box, "SELECT count(*) FROM jobs");
    db_close(other);
    box_reopen(&box);  // nobody has it open any more: the log is read anew
    EXPECT_INT(box_number(&box, "SELECT count(*) FROM jobs"), seen);
    box_close(&box);
    faulty_vfs_remove();
}
