// How long the record of an idempotency key lives, and what it takes in memory.
#include "keys.h"
#include "store/driver.h"
#include "store/key_index.h"

static void fill_and_end(struct box *box, struct id *ids, int count)
{
    make_keys(box, ids, count);
    for (int i = 0; i < count; i++)
        end_job(box, ids[i]);
}

static int64_t sweep_whole(struct box *box, size_t limit)
{
    struct swept swept = { .more = true };
    int64_t removed = 0;
    for (int i = 0; swept.more; i++) {
        EXPECT(i < 1000);
        OK(sweep(tx, limit, &swept, err));
        EXPECT(swept.keys <= limit);
        removed += (int64_t)swept.keys;
    }
    return removed;
}

TEST_EACH_DB(OPS_5_a_key_used_again_after_its_time_belongs_to_the_newest_job)
{
    struct id ids[4 * FEW];
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    pass(box, DAYS(8));
    for (size_t i = 0; i < countof(ids); i++) {
        struct id again = must_be_new(box, (int)i).id;
        EXPECT(!id_eq(again, ids[i]));
        must_be(box, (int)i, again);
        ids[i] = again;
    }
    box_reopen(box);
    must_be_all(box, ids, countof(ids));
}

TEST_EACH_DB(OPS_5_keys_are_removed_when_their_time_is_over_and_not_before)
{
    struct id ids[4 * FEW];
    struct swept swept;
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    must_be_new(box, 1000);  // the newest generation stays
    EXPECT_INT(generations(box), 5);
    pawl_time first = box_number(box, "SELECT min(created_at) FROM jobs");
    OK(sweep(tx, 10, &swept, err));
    EXPECT(!swept.more && swept.keys == 0);
    EXPECT_INT(swept.next, 0);  // nobody needs to wake up for it
    pass(box, first + DAYS(7) - box->world.wall - 1);
    EXPECT_INT(sweep_whole(box, 3), 0);
    must_be_all(box, ids, countof(ids));
    pass(box, SECONDS(1));
    EXPECT_INT(sweep_whole(box, 3), 4 * FEW);
    EXPECT_INT(generations(box), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM idempotency_keys"), 1);
    for (size_t i = 0; i < countof(ids); i++)
        must_be_new(box, (int)i);
}

TEST_EACH_DB(OPS_5_the_key_of_a_job_that_lives_is_not_removed_with_its_neighbours)
{
    enum { LIVES = FEW + 2 };
    struct id ids[3 * FEW];
    few_keys(box);
    make_keys(box, ids, countof(ids));
    must_be_new(box, 1000);
    for (int i = 0; i < 3 * FEW; i++)
        if (i != LIVES)
            end_job(box, ids[i]);
    pass(box, DAYS(30));
    EXPECT_INT(sweep_whole(box, 5), 3 * FEW - 1);
    EXPECT_INT(generations(box), 2);
    must_be(box, LIVES, ids[LIVES]);
    end_job(box, ids[LIVES]);
    EXPECT_INT(sweep_whole(box, 5), 0);  // the generation was looked at today
    pass(box, DAYS(2));
    EXPECT_INT(sweep_whole(box, 5), 1);
    EXPECT_INT(generations(box), 1);
    must_be_new(box, LIVES);
}

// A key of thirty days keeps its generation, and its neighbours of seven are free all the same.
TEST_EACH_DB(OPS_5_a_generation_waits_for_the_longest_time_in_it)
{
    few_keys(box);
    struct contract contract = contract_with(box, "export", "transfer");
    EXPECT(contract.policy.key_ttl_us == DAYS(30));
    contract.idempotency_key = S("long");
    struct job longer = must_add(box, &contract), again;
    bool deduplicated = false;
    struct id ids[FEW];
    fill_and_end(box, ids, countof(ids));
    end_job(box, longer.id);
    must_be_new(box, 1000);
    pass(box, DAYS(8));
    EXPECT_INT(sweep_whole(box, 5), 0);
    must_be_new(box, 0);
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(deduplicated && id_eq(longer.id, again.id));
    pass(box, DAYS(23));
    EXPECT_INT(sweep_whole(box, 5), FEW);
    OK(job_enqueue(tx, &contract, &again, &deduplicated, err));
    EXPECT(!deduplicated);
}

// Were a generation looked at too early, its records would still be safe.
TEST_EACH_DB(OPS_5_a_key_whose_time_is_not_over_is_not_removed_whenever_it_is_looked_at)
{
    struct id ids[2 * FEW];
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    must_be_new(box, 1000);
    pass(box, DAYS(7) - MINUTES(1));
    box_sql(box, "UPDATE idempotency_generations SET sweep_at = 1 WHERE sweep_at IS NOT NULL");
    EXPECT_INT(sweep_whole(box, 5), 0);
    must_be_all(box, ids, countof(ids));
    pass(box, DAYS(1));
    EXPECT_INT(sweep_whole(box, 5), 2 * FEW);
}

// The holder of a key by the index alone, whether its time is over or not; 0: none.
static int64_t holder(struct tx *tx, struct box *box, int number)
{
    struct pawl_error err = {0};
    struct key_search search;
    struct key_record record;
    struct contract contract = contract_of_key(box, number);
    const struct str parts[] = { contract.org_id, S(""), contract.idempotency_key };
    MUST(key_search_start(tx, parts, countof(parts), &search, &err));
    MUST(key_search_next(tx, &search, &record, &err));
    return record.job;
}

TEST_EACH_DB(OPS_5_a_removal_that_was_rolled_back_did_not_happen)
{
    struct id ids[4 * FEW];
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct swept swept;
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    pass(box, DAYS(8));
    box_reopen(box);
    box_begin(box, &tx);
    MUST(sweep(&tx, 5, &swept, &err));
    EXPECT_INT(swept.keys, 5);
    int64_t found = 0;
    for (size_t i = 0; i < countof(ids); i++)  // reads the generation as it is now
        found += holder(&tx, box, (int)i) != 0;
    EXPECT_INT(found, 4 * FEW - 5);
    tx_end(&tx);
    for (size_t i = 0; i < countof(ids); i++) {
        box_begin(box, &tx);
        EXPECT_INT(holder(&tx, box, (int)i), ids[i].high);
        tx_end(&tx);
    }
}

TEST_EACH_DB(a_part_that_was_taken_back_is_not_counted_and_the_rest_is)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct job job;
    bool deduplicated = false;
    box_begin(box, &tx);
    for (int i = 0; i < 9; i++) {
        struct contract contract = contract_of_key(box, i);
        if (i == 3)
            MUST(tx_mark(&tx, &err));
        if (i == 7)
            MUST(tx_take_back(&tx, &err));
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    }
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT keys FROM idempotency_generations"), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM idempotency_keys"), 5);
}

// As many as another connection adds meanwhile, so that their number alone gives nothing away.
TEST_EACH_DB(OPS_4_keys_that_were_taken_back_are_not_mistaken_for_those_of_others)
{
    enum { KEYS = 5 };
    struct pawl_error err = {0};
    struct job job;
    struct id ids[KEYS];
    bool deduplicated;
    must_be_new(box, 100);
    {
        struct tx tx = {0};
        box_begin(box, &tx);
        for (int i = 0; i < KEYS; i++) {
            struct contract contract = contract_of_key(box, 200 + i);
            MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
        }
        tx_end(&tx);
    }
    struct db *own = box->db, *other = box_second(box, false);
    box->db = other;
    for (int i = 0; i < KEYS; i++)
        ids[i] = must_be_new(box, i).id;
    box->db = own;
    db_close(other);
    must_be_all(box, ids, KEYS);
    for (int i = 0; i < KEYS; i++)
        must_be_new(box, 200 + i);
}

// ----- memory

static size_t filter_memory(struct box *box)
{
    return key_index_bytes(box->db->key_index);
}

TEST_EACH_DB(filters_are_read_only_by_a_connection_that_needs_them)
{
    struct id ids[40 * FEW];
    few_keys(box);
    make_keys(box, ids, countof(ids));
    box->generation_keys = 1000;  // for this one, reading a generation pays later
    box_reopen(box);
    EXPECT_INT(filter_memory(box), 0);
    must_be_new(box, -1);
    size_t list = filter_memory(box);
    EXPECT(list < 2048);
    for (int i = 2; i < 80; i++)
        must_be_new(box, -i);
    size_t loaded = filter_memory(box);
    EXPECT(loaded > 32768);
    must_be_all(box, ids, countof(ids));
    db_forget(box->db);
    EXPECT_INT(filter_memory(box), 0);
    must_be_all(box, ids, countof(ids));
}

TEST_EACH_DB(the_memory_of_removed_generations_is_given_back)
{
    struct id ids[10 * FEW];
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    must_be_all(box, ids, countof(ids));
    size_t full = filter_memory(box);
    pass(box, DAYS(8));
    EXPECT(sweep_whole(box, 100) > 0);
    for (int i = 0; i < 2 * FEW; i++)
        must_be_new(box, 1000 + i);  // begins a generation, and with it a new list
    EXPECT(filter_memory(box) < full);
}

// ----- what a connection has in memory

// Another connection has removed all that this one has listed, and begun anew.
TEST_EACH_DB(OPS_5_generations_that_others_removed_take_no_memory_any_more)
{
    struct id ids[4 * FEW];
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    for (int round = 0; round < 2; round++)
        must_be_all(box, ids, countof(ids));  // by now it has filters
    struct db *own = box->db;
    size_t before = key_index_bytes(own->key_index);
    box->db = box_second(box, false);
    pass(box, DAYS(8));
    for (int i = 1000; generations(box) < 6; i++)
        end_job(box, must_be_new(box, i).id);
    pass(box, DAYS(8));
    EXPECT(sweep_whole(box, 10) / FEW >= 4);
    EXPECT_INT(generations(box), 1);
    db_close(box->db);
    box->db = own;
    must_be_new(box, 0);
    EXPECT(key_index_bytes(own->key_index) < before);
}

// Past the last filter the store is asked, and knows.
SQLITE_ONLY(OPS_4_keys_are_found_where_there_are_more_generations_than_filters,
            "two million look-ups, each a round trip; the index is the same")
TEST_EACH_DB(OPS_4_keys_are_found_where_there_are_more_generations_than_filters)
{
    enum { FILTERS = 64, LANES = 32, KEYS = FILTERS * LANES + 20 };
    struct pawl_error err = {0};
    struct tx tx = {0};
    bool deduplicated = false;
    struct id *ids = arena_new(test_arena(), struct id, KEYS);
    box->generation_keys = 1;
    box_reopen(box);
    for (int round = 0; round < 2; round++) {
        box_begin(box, &tx);
        for (int i = KEYS; i-- > 0;) {  // the youngest are looked for first
            struct contract contract = contract_of_key(box, round ? KEYS - 1 - i : i);
            struct job job;
            MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
            EXPECT(deduplicated == (round == 1));
            int number = round ? KEYS - 1 - i : i;
            EXPECT(!deduplicated || id_eq(job.id, ids[number]));
            ids[number] = job.id;
        }
        box_commit(&tx);
    }
    for (int i = 0; i < 3; i++) {  // nor is there a filter for what comes
        struct id id = must_be_new(box, KEYS + i).id;
        must_be(box, KEYS + i, id);
    }
}

// A look-up has asked a generation that has no filter, and would read one: by now it is gone.
TEST_EACH_DB(OPS_5_a_generation_that_is_gone_before_its_filter_is_read_is_not_missed)
{
    struct id ids[FEW + 1];
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    box_reopen(box);
    must_be(box, 0, ids[0]);  // asked without a filter
    pass(box, DAYS(8));
    EXPECT(sweep_whole(box, 100) > 0);
    for (int i = 0; i < 2 * FEW; i++)
        must_be_new(box, 1000 + i);
}

TEST_EACH_DB(OPS_5_where_every_generation_is_gone_no_filter_is_read)
{
    struct id ids[FEW + 1];
    few_keys(box);
    fill_and_end(box, ids, countof(ids));
    box_reopen(box);
    must_be(box, 0, ids[0]);  // asked without a filter
    struct db *own = box->db;
    box->db = box_second(box, false);
    for (int i = 0; i < 2; i++) {  // the newest is sealed, and gone too
        pass(box, DAYS(8));
        EXPECT(sweep_whole(box, 100) > 0);
        if (i == 0)
            fill_and_end(box, ids, countof(ids));
    }
    EXPECT_INT(generations(box), 1);
    db_close(box->db);
    box->db = own;
    must_be_new(box, 1);
}

TEST_EACH_DB(OPS_4_a_store_without_generations_is_damaged_and_takes_no_key)
{
    box->damaged = true;
    box_sql(box, "DELETE FROM idempotency_generations");
    struct contract contract = contract_of_key(box, 1);
    struct job job;
    bool known;
    REFUSED(PAWL_STORE, job_enqueue(tx, &contract, &job, &known, err));
}
