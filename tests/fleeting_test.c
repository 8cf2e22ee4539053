// Renewals are not waited for: a commit that has nothing else is written and not synced. Nothing
// that anybody is answered from may come to the disk that way.
#include "fixture.h"

#include "engine/sweep.h"
#include "faulty_vfs.h"

static const struct instance here = { { "here", 4 }, { "boot", 4 } };

static void enter(struct box *box)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    faulty_vfs_install();
    box_reopen(box);
    box_begin(box, &tx);
    MUST(instance_enter(&tx, &here, true, &err) && tx_commit(&tx, &err));
}

static void leave(struct box *box)
{
    faulty_vfs_remove();
    box_reopen(box);
}

static bool renew_only(struct box *box, struct tx *tx, struct pawl_error *err)
{
    (void)box;
    return instance_alive(tx, &here, err);
}

static bool enqueue_only(struct box *box, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    return job_enqueue(tx, &contract, &job, &known, err);
}

static bool renew_and_enqueue(struct box *box, struct tx *tx, struct pawl_error *err)
{
    return instance_alive(tx, &here, err) && enqueue_only(box, tx, err);
}

static bool renew_and_change_schema(struct box *box, struct tx *tx, struct pawl_error *err)
{
    (void)box;
    return instance_alive(tx, &here, err)
        && tx_execute(tx, "CREATE TABLE IF NOT EXISTS mine (a)", err);
}

// Syncs of a transaction that does this.
static int syncs_of(struct box *box, bool (*deed)(struct box *, struct tx *, struct pawl_error *))
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    world_pass(&box->world, SECONDS(5));  // or there would be nothing to write
    box_begin(box, &tx);
    MUST(deed(box, &tx, &err));
    faulty_vfs.syncs = 0;
    MUST(tx_commit(&tx, &err));
    return faulty_vfs.syncs;
}

TEST_EACH_DB(OPS_9_a_renewal_alone_is_not_waited_for)
{
    enter(box);
    int64_t before = box_number(box, "SELECT alive_until FROM instances");
    EXPECT_INT(syncs_of(box, renew_only), 0);
    box_reopen(box);  // it outlives the process, and is there for others
    EXPECT_INT(box_number(box, "SELECT alive_until FROM instances"), before + SECONDS(5));
    leave(box);
}

TEST_EACH_DB(OPS_9_whatever_comes_with_a_renewal_is_on_disk_when_it_is_answered)
{
    enter(box);
    EXPECT_INT(syncs_of(box, renew_and_enqueue), 1);
    EXPECT_INT(syncs_of(box, renew_and_change_schema), 1);
    EXPECT_INT(syncs_of(box, renew_only), 0);
    EXPECT_INT(syncs_of(box, enqueue_only), 1);
    leave(box);
}

// What is left of the old log must not pass for the continuation of the new one.
TEST_EACH_DB(OPS_9_a_renewal_that_starts_the_log_over_syncs_its_header)
{
    struct pawl_error err = {0};
    enter(box);
    EXPECT_INT(syncs_of(box, renew_and_enqueue), 1);
    MUST(db_scrub(box->db, false, &err));
    EXPECT_INT(syncs_of(box, renew_only), 1);
    EXPECT_INT(syncs_of(box, renew_only), 0);
    leave(box);
}

// Commits that were not synced are written again before the log ends: if not even that can be done,
// they may be lost with the power, as they may be anyway.
TEST_EACH_DB(OPS_9_a_disk_that_takes_nothing_leaves_what_was_answered)
{
    NEEDS_EVERY_ANSWER("it has its own commits");
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box);
    EXPECT_INT(syncs_of(box, enqueue_only), 1);
    EXPECT_INT(syncs_of(box, renew_only), 0);
    box_begin(box, &tx);
    MUST(enqueue_only(box, &tx, &err));
    faulty_vfs.fail_syncs = 1;
    faulty_vfs.fail_write = 2;  // the first is the commit's own
    EXPECT_REFUSED(PAWL_IN_DOUBT, tx_commit(&tx, &err));
    EXPECT_INT(faulty_vfs.fail_write, 0);
    EXPECT(!db_checkpoint(box->db));
    tx_end(&tx);
    leave(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
}

TEST_EACH_DB(OPS_9_a_renewal_that_is_refused_is_none)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    enter(box);
    box_sql(box, "CREATE TRIGGER never BEFORE UPDATE ON instances BEGIN"
                 " SELECT RAISE(ABORT, 'not now'); END");
    world_pass(&box->world, SECONDS(5));
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, renew_only(box, &tx, &err));
    tx_end(&tx);
    box_sql(box, "DROP TRIGGER never");
    EXPECT_INT(syncs_of(box, renew_only), 0);
    leave(box);
}
