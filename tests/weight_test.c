// Whose turn it is, as a pure function: exact shares, exact order, nobody starves.
#include "test.h"

#include "model/weight.h"

enum { CRITICAL = 1, DEFAULT, NOTIFICATIONS, PLANNING, EXPORTS, MAINTENANCE };

static void everybody(struct contender *all)
{
    static const int64_t weights[] = { 9, 4, 4, 2, 2, 1 };
    for (size_t i = 0; i < countof(weights); i++)
        all[i] = (struct contender){
            .queue = (int64_t)i + 1,
            .weight = weights[i],
            .critical = i == 0,
        };
}

static int64_t take(struct turns *turns, const struct contender *all, size_t count)
{
    size_t next = turns_next(turns, all, count);
    if (next == count)
        return 0;
    turns_took(turns, all, count, next);
    return all[next].queue;
}

TEST(OPS_3_nine_of_ten_are_critical_while_others_wait)
{
    struct contender all[6];
    struct turns turns = {0};
    int64_t taken[7] = {0};
    everybody(all);
    for (int i = 0; i < 13000; i++) {
        int64_t queue = take(&turns, all, 6);
        EXPECT((queue == CRITICAL) == (i % 10 != 9));
        taken[queue]++;
    }
    EXPECT_INT(taken[CRITICAL], 11700);
    EXPECT_INT(taken[DEFAULT], 400);
    EXPECT_INT(taken[NOTIFICATIONS], 400);
    EXPECT_INT(taken[PLANNING], 200);
    EXPECT_INT(taken[EXPORTS], 200);
    EXPECT_INT(taken[MAINTENANCE], 100);
}

TEST(OPS_3_critical_alone_gets_everything_and_owes_nothing_for_it)
{
    struct contender all[6];
    struct turns turns = {0};
    everybody(all);
    for (size_t i = 1; i < 6; i++)
        all[i].empty = true;
    for (int i = 0; i < 100; i++)
        EXPECT_INT(take(&turns, all, 6), CRITICAL);
    all[1].empty = false;
    for (int i = 0; i < 9; i++)
        EXPECT_INT(take(&turns, all, 6), CRITICAL);
    EXPECT_INT(take(&turns, all, 6), DEFAULT);
}

TEST(OPS_3_shares_come_in_even_steps)
{
    struct contender all[6];
    struct turns turns = {0};
    everybody(all);
    all[0].empty = true;
    int64_t taken[7] = {0};
    for (int i = 1; i <= 1300; i++) {
        taken[take(&turns, all, 6)]++;
        for (size_t q = 1; q < 6; q++) {  // never more than one job ahead of or behind its share
            int64_t off = taken[all[q].queue] * 13 - all[q].weight * i;
            EXPECT(off > INT64_C(-26) && off < INT64_C(26));
        }
    }
}

// A queue that was empty for long does not make up for it.
TEST(OPS_3_who_was_away_starts_where_the_others_are)
{
    struct contender all[] = { { .queue = 2, .weight = 4 },
                               { .queue = 3, .weight = 4, .empty = true } };
    struct turns turns = {0};
    for (int i = 0; i < 1000; i++)
        EXPECT_INT(take(&turns, all, 2), 2);
    all[1].empty = false;
    int64_t returned = 0;
    for (int i = 0; i < 10; i++)
        returned += take(&turns, all, 2) == 3;
    EXPECT(returned >= 5 && returned <= 6);
}

// Two who ask for different queues by turns: neither pattern keeps a queue from being served.
TEST(OPS_3_two_claimers_with_different_queues_starve_nobody)
{
    struct contender both[] = { { .queue = 1, .weight = 9, .critical = true },
                                { .queue = 2, .weight = 4 } };
    struct contender other[] = { { .queue = 1, .weight = 9, .critical = true },
                                 { .queue = 5, .weight = 2 } };
    struct contender alone[] = { { .queue = 6, .weight = 1 } };
    struct turns turns = {0};
    int64_t taken = 0, taken_other = 0;
    for (int i = 0; i < 100; i++) {
        taken += take(&turns, both, 2) == 2;
        taken_other += take(&turns, other, 2) == 5;
        EXPECT_INT(take(&turns, alone, 1), 6);
    }
    EXPECT_INT(taken, 10);
    EXPECT_INT(taken_other, 10);
}

TEST(OPS_3_a_thousand_queues_all_get_their_turn)
{
    enum { QUEUES = 1000 };
    static struct contender all[QUEUES];
    static int taken[QUEUES + 1];
    struct turns turns = {0};
    for (int i = 0; i < QUEUES; i++)
        all[i] = (struct contender){ .queue = i + 1, .weight = 4 };
    for (int i = 0; i < 20 * QUEUES; i++)
        taken[take(&turns, all, QUEUES)]++;
    for (int i = 1; i <= QUEUES; i++)
        EXPECT(taken[i] >= 18 && taken[i] <= 22);
}

TEST(OPS_3_nobody_is_next_when_all_are_empty)
{
    struct contender all[] = { { .queue = 1, .weight = 9, .critical = true, .empty = true },
                               { .queue = 2, .weight = 4, .empty = true } };
    struct turns turns = {0};
    EXPECT_INT(turns_next(&turns, all, 2), 2);
    EXPECT_INT(turns_next(&turns, all, 0), 0);
}

TEST(SHARE_a_turn_is_a_part_of_a_large_claim)
{
    EXPECT_INT(share_run(1), SHARE_RUN);
    EXPECT_INT(share_run((size_t)SHARE_RUN * SHARES_A_CLAIM), SHARE_RUN);
    EXPECT_INT(share_run(1000), 1000 / SHARES_A_CLAIM);
}

TEST(OPS_20_the_critical_queue_has_a_limit_and_given_terms_come_first)
{
    EXPECT_INT(queue_term_of(NULL, S("q:critical")).depth_max, 1000);
    EXPECT_INT(queue_term_of(NULL, S("q:default")).depth_max, 0);
    EXPECT_INT(queue_term_of(NULL, S("mine")).weight, WEIGHT_OTHER);
    EXPECT(!queue_term_known(NULL, S("mine")));
    const struct queue_term rows[] = { { S("mine"), 7, 50 }, { S("q:critical"), 1, 5 } };
    const struct queue_terms given = { rows, countof(rows) };
    EXPECT_INT(queue_term_of(&given, S("mine")).depth_max, 50);
    EXPECT_INT(queue_term_of(&given, S("q:critical")).depth_max, 5);
    EXPECT_INT(queue_term_of(&given, S("q:exports")).weight, 2);
    EXPECT(queue_term_known(&given, S("mine")) && queue_term_known(&given, S("q:exports")));
}
