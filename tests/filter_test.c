// The filter never denies what was added, and seldom claims what was not.
#include "base/filter.h"
#include "test.h"

enum { NUMBERS = 32768, STRANGERS = 100000 };

// Different numbers for different lanes; `stranger` is none of them.
static uint64_t number_of(unsigned lane, uint64_t i)
{
    return (uint64_t)lane << 32 | i;
}

static struct filter *full_filter(void)
{
    struct filter *filter = filter_new(NUMBERS);
    EXPECT(filter != NULL);
    for (unsigned lane = 0; lane < FILTER_LANES; lane++)
        for (uint64_t i = 0; i < NUMBERS; i++)
            filter_add(filter, lane, number_of(lane, i));
    return filter;
}

static int64_t claims(const struct filter *filter, unsigned from)
{
    int64_t claims = 0;
    for (uint64_t i = 0; i < STRANGERS; i++)
        claims += __builtin_popcount(filter_lanes(filter, number_of(from, i)));
    return claims;
}

TEST(a_filter_never_denies_what_was_added)
{
    struct filter *filter = full_filter();
    int64_t denied = 0;
    for (unsigned lane = 0; lane < FILTER_LANES; lane++)
        for (uint64_t i = 0; i < NUMBERS; i++)
            denied += !(filter_lanes(filter, number_of(lane, i)) >> lane & 1);
    EXPECT_INT(denied, 0);
    filter_free(filter);
}

// By the theory of such filters it is 1 in 15,000; three times that would still be good enough.
TEST(a_full_filter_seldom_claims_what_was_not_added)
{
    struct filter *filter = full_filter();
    int64_t claimed = claims(filter, FILTER_LANES + 1), asked = (int64_t)STRANGERS * FILTER_LANES;
    if (claimed > asked / 5000)
        print_error("%lld of %lld\n", (long long)claimed, (long long)asked);
    EXPECT(claimed <= asked / 5000);
    EXPECT(claimed > 0);  // else it was not asked
    filter_free(filter);
}

TEST(an_empty_filter_claims_nothing)
{
    struct filter *filter = filter_new(NUMBERS);
    EXPECT(filter != NULL);
    EXPECT_INT(claims(filter, 0), 0);
    filter_free(filter);
}

TEST(a_lane_is_cleared_without_its_neighbours)
{
    struct filter *filter = full_filter();
    int64_t claimed = 0, denied = 0;
    filter_clear(filter, 7);
    for (uint64_t i = 0; i < NUMBERS; i++) {
        claimed += filter_lanes(filter, number_of(7, i)) >> 7 & 1;
        denied += !(filter_lanes(filter, number_of(6, i)) >> 6 & 1);
        denied += !(filter_lanes(filter, number_of(8, i)) >> 8 & 1);
    }
    EXPECT_INT(claimed, 0);
    EXPECT_INT(denied, 0);
    filter_free(filter);
}

TEST(a_filter_takes_three_bytes_for_each_number)
{
    struct filter *filter = filter_new(NUMBERS);
    EXPECT(filter != NULL);
    int64_t for_numbers = (int64_t)3 * NUMBERS * FILTER_LANES;
    EXPECT((int64_t)filter_bytes(filter) <= for_numbers + 4096);
    filter_free(filter);
}

TEST(a_filter_for_which_there_is_no_memory_is_none)
{
    EXPECT(filter_new((size_t)1 << 52) == NULL);
}

TEST(a_filter_for_few_numbers_works_too)
{
    for (size_t numbers = 0; numbers < 40; numbers++) {
        struct filter *filter = filter_new(numbers);
        EXPECT(filter != NULL);
        for (uint64_t i = 0; i < numbers + 20; i++)  // more than it was made for
            filter_add(filter, 31, i);
        for (uint64_t i = 0; i < numbers + 20; i++)
            EXPECT(filter_lanes(filter, i) >> 31 & 1);
        filter_free(filter);
    }
}
