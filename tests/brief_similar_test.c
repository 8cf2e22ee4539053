// Which articles tell of the same event: words, and the decision.
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "daily-brief/similar.h"

static const struct similar_terms terms = { .threshold = 0.2, .window_s = 129600 };

static struct str token(const char *word)
{
    char out[64];
    token_fold(word, out, sizeof(out));
    return str_dup(test_arena(), str_of(out));
}

TEST(SLOT_12_words_are_folded)
{
    EXPECT_STR(token("Caf\u00e9"), "caf");
    EXPECT_STR(token("\u00c5\u00c4\u00d6\u0141\u017e"), "aaolz");
    EXPECT_STR(token("\u039c\u03bf"), "\u03bc\u03bf");
    EXPECT_STR(token("\u041c\u0418\u0420"), "\u043c\u0438\u0440");
    EXPECT_STR(token("city's"), "city");
    EXPECT_STR(token("\u201cquoted\u201d"), "quot");
}

TEST(SLOT_12_endings_are_cut_off)
{
    static const char *const same[][2] = {
        { "strike", "strikes" }, { "flooded", "floods" }, { "stopped", "stopping" },
        { "cities", "city" }, { "whales", "whale" }, { "charges", "charging" },
        { "stations", "station" },
    };
    for (size_t i = 0; i < countof(same); i++)
        expect_str(token(same[i][0]), token(same[i][1]), PLACE(same[i][0]));
    EXPECT_STR(token("bus"), "bus");
    EXPECT_STR(token("class"), "class");
}

TEST(SLOT_12_words_of_every_text_say_nothing)
{
    static const char *const words[] = { "The", "said", "about", "amid", "among", "hundreds", "its",
                                         "officials", "than", "THAT", "years", "your", "x", "..." };
    for (size_t i = 0; i < countof(words); i++)
        expect_str(token(words[i]), S(""), PLACE(words[i]));
    EXPECT_STR(token("aground"), "aground");
    EXPECT_STR(token("zebra"), "zebra");
}

TEST(SLOT_12_a_bag_is_sorted_and_bounded)
{
    struct bag bag = {0};
    char text[32];
    for (int i = 0; i < 2 * BAG_TERMS_MAX; i++) {
        snprintf(text, sizeof(text), "zebra%d zebra0", i);
        bag_add(&bag, text, 1);
    }
    EXPECT_INT(bag.count, BAG_TERMS_MAX);
    for (size_t i = 1; i < bag.count; i++)
        EXPECT(bag.terms[i - 1].id < bag.terms[i].id);
}

// ----- the decision

enum { STORIES = 6 };

static struct story story(int64_t id, int64_t hour, const char *text)
{
    struct story story = { .id = id, .at = 1773446400 + hour * 3600 };
    bag_add(&story.bag, text, 1);
    return story;
}

static const char *const texts[STORIES] = {
    "ferry Solveig runs aground off Calder Bay",
    "river Tarle floods Wexcombe",
    "passengers saved from grounded ferry Solveig at Calder Bay",
    "Wexcombe shelters families after Tarle flood",
    "sodium battery charges quickly",
    "inquiry into ferry Solveig aground at Calder Bay",
};

static void make(struct story *stories)
{
    for (int i = 0; i < STORIES; i++)
        stories[i] = story(i + 1, i, texts[i]);
}

TEST(SLOT_12_reports_of_one_event_come_together)
{
    static const int64_t seeds[STORIES] = { 1, 2, 1, 2, 5, 1 };
    struct story stories[STORIES];
    make(stories);
    EXPECT(similar_assign(stories, STORIES, &terms));
    for (int i = 0; i < STORIES; i++) {
        EXPECT_INT(stories[i].seed, seeds[i]);
        EXPECT_INT(stories[i].cluster, 0);
    }
}

TEST(SLOT_12_an_article_keeps_its_event)
{
    struct story stories[STORIES];
    make(stories);
    stories[0].cluster = 70;
    stories[2].cluster = 90;  // wrong, but decided
    EXPECT(similar_assign(stories, STORIES, &terms));
    EXPECT_INT(stories[0].cluster, 70);
    EXPECT_INT(stories[2].cluster, 90);
    EXPECT(stories[5].cluster == 70 || stories[5].cluster == 90);
    EXPECT_INT(stories[5].seed, 0);
    EXPECT_INT(stories[3].seed, 2);
}

TEST(SLOT_12_the_same_words_much_later_are_another_event)
{
    struct story stories[2] = { story(1, 0, texts[0]), story(2, 37, texts[0]) };
    EXPECT(similar_assign(stories, 2, &terms));
    EXPECT_INT(stories[1].seed, 2);
    struct story near[2] = { story(1, 0, texts[0]), story(2, 35, texts[0]) };
    EXPECT(similar_assign(near, 2, &terms));
    EXPECT_INT(near[1].seed, 1);
}

TEST(SLOT_12_the_same_input_gives_the_same_answer)
{
    struct story first[STORIES], second[STORIES];
    make(first);
    make(second);
    EXPECT(similar_assign(first, STORIES, &terms) && similar_assign(second, STORIES, &terms));
    for (int i = 0; i < STORIES; i++)
        EXPECT(first[i].seed == second[i].seed);
}

TEST(SLOT_12_articles_without_words_are_events_of_their_own)
{
    struct story stories[3] = { story(1, 0, ""), story(2, 0, "the of and"), story(3, 0, "") };
    EXPECT(similar_assign(stories, 3, &terms));
    for (int i = 0; i < 3; i++)
        EXPECT_INT(stories[i].seed, i + 1);
    EXPECT(similar_assign(NULL, 0, &terms));
}
