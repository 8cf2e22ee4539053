// The statement port: what is held back, wrapped up or remembered, and statements that fail then.
#include "fixture.h"

#include <string.h>

#include "faults.h"
#include "store/counts.h"
#include "store/driver.h"
#include "store/names.h"

// ----- calls of the store that fail

static bool enqueue(struct box *box, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    contract.idempotency_key = S("a key");
    return job_enqueue(tx, &contract, &job, &known, err);
}

// Rows are added up with the last of these.
static bool enqueue_and_count(struct box *box, struct tx *tx, struct pawl_error *err)
{
    int64_t org = 0, queue = 0;
    bool done = name_intern(tx, NAME_ORG, box->caller.org_id, &org, err)
             && name_intern(tx, NAME_QUEUE, S("q:default"), &queue, err);
    for (int i = 1; i < 64 && done; i++) {
        tx_count(tx, org, queue, PLACE_READY, i % 2 ? 1 : -1);
        done = counts_settle(tx, err);
    }
    tx_count(tx, org, queue, PLACE_READY, -1);
    return done && enqueue(box, tx, err);
}

static bool execute(struct tx *tx, struct pawl_error *err)
{
    return tx_execute(tx, "DELETE FROM count_deltas WHERE id < 0", err);
}

static const struct {
    bool (*before)(struct box *box, struct tx *tx, struct pawl_error *err);
    bool (*deed)(struct tx *tx, struct pawl_error *err);
} deeds[] = {
    { enqueue, tx_wrap_up },
    { enqueue_and_count, tx_wrap_up },
    { enqueue, execute },
    { enqueue, tx_overwrite },
};

// One of what was held back is among the calls.
TEST_EACH_DB(OPS_9_whatever_fails_of_what_is_written_last_is_told)
{
    for (size_t i = 0; i < countof(deeds); i++) {
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            SCOPED(tx) struct tx tx = {0};
            struct pawl_error err = {0};
            box_begin(box, &tx);
            MUST(deeds[i].before(box, &tx, &err));
            store_faults_begin(box->db, NULL);
            store_faults = (struct fault_counter){ .fail_at = n };
            bool done = deeds[i].deed(&tx, &err);
            reached = store_faults.failed > 0;
            store_faults = (struct fault_counter){0};
            store_faults_end(box->db);
            EXPECT(done == !reached);
            EXPECT(done || (err.code == PAWL_STORE && err.message[0]));
        }
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
}

// ----- names

// Both tables are small and by number, or by a hash.
TEST_EACH_DB(OPS_1_names_that_share_a_place_in_memory_are_told_apart)
{
    static const struct {
        enum name_kind kind;
        int64_t id;
        const char *name;
    } names[] = {
        { NAME_JOB_TYPE, 5, "five" },        { NAME_JOB_TYPE, 5 + 8192, "far" },
        { NAME_JOB_TYPE, 5 + 2 * 8192, "farther" },
    };
    struct tx tx = {0};
    struct pawl_error err = {0};
    for (size_t i = 0; i < countof(names); i++)
        box_sql(box, str_format(test_arena(), "INSERT INTO job_types (id, name, created_at) VALUES "
                                              "(%lld, '%s', 1)",
                                (long long)names[i].id, names[i].name)
                         .s);
    // Five kinds, 8192 places: 5 * 5 + 1 is the same as 5 * 4920 + 2.
    box_sql(box, "INSERT INTO queues (id, name, created_at) VALUES (4920, 'q:other', 1)");
    box_begin(box, &tx);
    for (int round = 0; round < 2; round++) {
        struct str text;
        for (size_t i = 0; i < countof(names); i++) {
            MUST(name_text(&tx, names[i].kind, names[i].id, &text, &err));
            expect_str(text, str_of(names[i].name), PLACE("a name"));
        }
        MUST(name_text(&tx, NAME_QUEUE, 4920, &text, &err));
        EXPECT_STR(text, "q:other");
    }
    tx_end(&tx);
}

// One is looked up that somebody has sent: it is not there, wherever its place would be.
TEST_EACH_DB(OPS_1_a_name_too_long_to_be_remembered_is_not_found)
{
    enum { NAMES = 12000, LONG = 700 };
    static char longest[LONG];
    struct tx tx = {0};
    struct pawl_error err = {0};
    int64_t id = 0;
    memset(longest, 'x', sizeof longest);
    box_begin(box, &tx);
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "q:%d", i);
        MUST(name_intern(&tx, NAME_QUEUE, str_of(name), &id, &err));
        EXPECT(id > 0);
    }
    for (size_t n = LONG - 64; n <= LONG; n++) {
        MUST(name_find(&tx, NAME_QUEUE, (struct str){ longest, n }, &id, &err));
        EXPECT_INT(id, 0);
    }
    tx_end(&tx);
}

TEST_EACH_DB(a_policy_without_a_number_is_missing)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct policy policy;
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_STORE, policy_load(&tx, 0, &policy, &err));
    EXPECT(strstr(err.message, "policy 0 is missing") != NULL);
    tx_end(&tx);
}

// ----- counts

TEST_EACH_DB(OPS_20_waiting_jobs_are_known_of_more_queues_than_are_remembered)
{
    enum { QUEUES = 12 };
    struct tx tx = {0};
    struct pawl_error err = {0};
    int64_t org, waiting, queues[QUEUES];
    box_begin(box, &tx);
    MUST(name_intern(&tx, NAME_ORG, box->caller.org_id, &org, &err));
    for (int64_t i = 0; i < QUEUES; i++) {
        struct str name = str_format(test_arena(), "q:%lld", (long long)i);
        MUST(name_intern(&tx, NAME_QUEUE, name, &queues[i], &err));
        tx_count(&tx, org, queues[i], PLACE_READY, i);
    }
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < QUEUES; i++) {
            MUST(count_waiting(&tx, queues[i], &waiting, &err));
            EXPECT_INT(waiting, i + round);
        }
        for (int64_t i = 0; i < QUEUES; i++)
            tx_count(&tx, org, queues[i], PLACE_READY, 1);
    }
    tx_end(&tx);
}
