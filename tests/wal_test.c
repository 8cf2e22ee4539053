// The log of an SQLite store: how long it may get, and who copies it back.
#include "fixture.h"

#include <sqlite3.h>
#include <string.h>

enum { LOG_MAX = 4 << 20, LARGE = 100 << 10, MANY = 100 };

static struct db *must_open(struct box *box)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct db_options options = {
        .url = box->url,
        .world = &box->world.world,
        .wal_bytes_max = LOG_MAX,
        .busy_us = MILLISECONDS(20),
        .checkpoint_by_hand = true,
    };
    MUST(db_open(&db, &options, &err));
    return db;
}

static bool store_large(struct box *box, struct db *db, struct pawl_error *err)
{
    static char payload[LARGE];
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    memset(payload, 'x', sizeof payload);
    memcpy(payload, "{\"x\":\"", 6);
    memcpy(payload + sizeof payload - 2, "\"}", 2);
    contract.payload = (struct str){ payload, sizeof payload };
    if (!tx_begin(db, TX_WRITE, &arena, &tx, err))
        return false;
    tx.caller = &box->caller;
    return job_enqueue(&tx, &contract, &job, &known, err) && tx_commit(&tx, err);
}

static sqlite3 *read_from_now_on(struct box *box)
{
    sqlite3 *reader = NULL;
    EXPECT(sqlite3_open(box->url.s + strlen("sqlite:"), &reader) == SQLITE_OK);
    EXPECT(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM jobs", NULL, NULL, NULL) == SQLITE_OK);
    return reader;
}

TEST_EACH_DB(OPS_9_a_log_that_nobody_reads_starts_over_long_before_it_is_full)
{
    NEEDS_EVERY_ANSWER("it has its own commits");
    struct pawl_error err = {0};
    struct db *db = must_open(box);
    for (int i = 0; i < MANY; i++) {
        MUST(store_large(box, db, &err));
        EXPECT(db_wal_bytes(db) < LOG_MAX / 4);
    }
    db_close(db);
}

TEST_EACH_DB(OPS_9_a_reader_that_holds_on_to_the_log_stops_writing_until_it_ends)
{
    NEEDS_EVERY_ANSWER("it has its own commits");
    struct pawl_error err = {0};
    struct db *db = must_open(box);
    int stored = 0;
    MUST(store_large(box, db, &err));
    sqlite3 *reader = read_from_now_on(box);
    while (stored < MANY && store_large(box, db, &err))
        stored++;
    EXPECT(stored > 10 && stored < MANY);
    EXPECT_INT(err.code, PAWL_FULL);
    struct db *next = must_open(box);  // which cannot copy it back either
    EXPECT(db_wal_bytes(next) > LOG_MAX / 2);
    EXPECT_REFUSED(PAWL_FULL, store_large(box, next, &err));
    sqlite3_close(reader);
    MUST(store_large(box, next, &err));
    MUST(store_large(box, db, &err));
    db_close(next);
    db_close(db);
}

TEST_EACH_DB(OPS_9_who_cannot_have_the_lock_copies_nothing_back)
{
    struct pawl_error err = {0};
    struct tx tx = {0};
    struct db *db = must_open(box);
    for (int i = 0; i < 4; i++)
        MUST(store_large(box, box->db, &err));
    box_begin(box, &tx);  // and has the lock
    EXPECT_REFUSED(PAWL_BUSY, db_scrub(db, false, &err));
    EXPECT_REFUSED(PAWL_STORE, db_harden(db, &err));
    tx_end(&tx);
    MUST(db_scrub(db, false, &err));
    MUST(db_harden(db, &err));
    db_close(db);
}

// It is whole first, and emptied when there is time.
TEST_EACH_DB(OPS_25_a_log_that_is_to_be_emptied_is_brought_to_the_disk_like_any_other)
{
    NEEDS_EVERY_ANSWER("it has its own commits");
    struct pawl_error err = {0};
    struct tx tx = {0};
    must_enqueue(box, "report");
    box_begin(box, &tx);
    MUST(tx_overwrite(&tx, &err) && tx_execute(&tx, "DELETE FROM count_deltas WHERE 0", &err)
         && tx_commit(&tx, &err));
    EXPECT(db_log_to_empty(box->db));
    MUST(db_harden(box->db, &err));
    EXPECT(db_log_to_empty(box->db));
    EXPECT(db_checkpoint(box->db));
    EXPECT(!db_log_to_empty(box->db));
}
