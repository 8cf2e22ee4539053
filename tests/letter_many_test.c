// More dead letters than are read at once, or told in one answer.
#include <string.h>

#include "engine/letter.h"
#include "fixture.h"

enum { LETTERS = 550 };  // 500 are read at once, and 200 groups told

static struct str type_of(int number)
{
    return str_format(test_arena(), "type-%d", number);
}

static void add_all(struct box *box)
{
    SCOPED(tx) struct tx tx = {0};
    struct pawl_error err = {0};
    struct job job;
    bool known;
    box_begin(box, &tx);
    for (int i = 0; i < LETTERS; i++) {
        struct contract contract = contract_for(box, type_of(i).s);
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    }
    box_commit(&tx);
}

// The newest letter is that of the highest number: each has a type of its own.
static void make_letters(struct box *box)
{
    struct claimed *claimed = NULL;
    struct worker worker = worker_named("A");
    struct work_error error = { .class = ERROR_VALIDATION, .message = S("no") };
    struct execution e;
    struct pawl_error err = {0};
    add_all(box);
    struct claim claim = {
        .worker = worker,
        .every_queue = true,
        .limit = CLAIM_MAX,
        .start = true,
    };
    size_t count = 0;
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(execution_claim(&tx, &claim, &claimed, &count, &err));
    EXPECT_INT(count, LETTERS);
    for (size_t i = 0; i < count; i++) {
        struct lease lease = lease_of(&claimed[i].execution, &worker);
        MUST(execution_fail(&tx, &lease, &error, &e, &err));
    }
    box_commit(&tx);
}

// Whether the letters of the newest type were answered, with the n-th allocation failing.
static bool finds_newest(struct box *box, int64_t n)
{
    struct letter_filter filter = { .job_type = type_of(LETTERS - 1), .limit = 10 };
    struct letter_list list = {0};
    struct pawl_error err = {0};
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    MUST(tx_begin(box->db, TX_READ, &arena, &tx, &err));
    tx.caller = &box->caller;
    rehearsal_arenas(n);
    bool done = letters_find(&tx, &filter, &list, &err);
    EXPECT(rehearsal_calm() || n == 0);
    EXPECT(done || err.code == PAWL_NO_MEMORY);
    EXPECT(!done || list.count == 1);
    return done;
}

// A piece that could not be read was forgotten over the next one, and its letters were left out.
TEST_EACH_DB(OPS_8_letters_that_could_not_be_read_are_not_left_out)
{
    make_letters(box);
    EXPECT(finds_newest(box, 0));
    for (int64_t n = 1; n <= 40; n++)
        EXPECT(!finds_newest(box, n));
}

TEST_EACH_DB(OPS_8_more_groups_than_are_told)
{
    struct letter_groups groups;
    struct letter_sweep sweep = { .filter = { .limit = INT64_MAX }, .dry_run = true };
    make_letters(box);
    OK(letters_group(tx, &(struct letter_filter){0}, &groups, err));
    EXPECT_INT(groups.count, 200);
    EXPECT(groups.more);
    OK_FROM(sweep, letters_close(tx, &sweep, err));
    EXPECT_INT(sweep.count, LETTERS_CLOSED_MAX);
    EXPECT(sweep.more);
}

static void large_letter(struct box *box)
{
    enum { BYTES = 900 << 10 };
    char *text = arena_new(test_arena(), char, BYTES);
    EXPECT(text != NULL);
    memset(text, 'x', BYTES);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + BYTES - 2, "\"}", 2);
    struct contract contract = contract_for(box, "large");
    contract.payload = (struct str){ text, BYTES };
    must_add(box, &contract);
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_VALIDATION);
}

TEST_EACH_DB(OPS_8_letters_with_large_payloads_come_in_pages)
{
    enum { LARGE = 7 };
    struct letter_filter filter = { .limit = 100 };
    size_t pages = 0, seen = 0;
    for (int i = 0; i < LARGE; i++)
        large_letter(box);
    do {
        struct letter_list list;
        OK(letters_find(tx, &filter, &list, err));
        filter.before = list.next;
        seen += list.count;
        pages++;
    } while (filter.before);
    EXPECT_INT(seen, LARGE);
    EXPECT_INT(pages, 2);
}

TEST_EACH_DB(OPS_8_of_very_many_letters_the_newest_are_grouped_and_it_says_so)
{
    enum { TIMES = 10 };  // 5000 letters are looked at
    struct letter_groups groups;
    struct letter_filter filter = { .job_type = type_of(0) };
    struct pawl_error err = {0};
    for (int i = 0; i < TIMES; i++)
        make_letters(box);
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    MUST(letters_group(&tx, &filter, &groups, &err));
    EXPECT_INT(groups.count, 1);
    EXPECT_INT(groups.groups[0].count, TIMES - 1);
    EXPECT(groups.more);
}
