// The same error has the same fingerprint, whatever it was about; another error has another.
#include "test.h"

#include <string.h>

#include "base/json.h"
#include "model/fingerprint.h"
#include "model/payload_diff.h"

TEST(OPS_8_what_differs_between_two_occurrences_is_taken_out_of_a_message)
{
    static const struct {
        const char *message, *pattern;
    } cases[] = {
        { "", "" },
        { " ", "" },
        { "connection refused", "connection refused" },
        { "order 41 failed", "order <n> failed" },
        { "order-41 failed after 12.5 s", "order-<n> failed after <n> s" },
        { "1,000 rows, 3 bad.", "<n> rows, <n> bad." },
        { "at 10:22:01", "at <n>" },
        { "2026-11-16T08:05:21.123Z", "<n>-<n>-<n>T<n>Z" },
        { "no user 'bob'", "no user <text>" },
        { "no `x` in \"a 'b' c\"!", "no <text> in <text>!" },
        { "can't open it, won't try", "can't open it, won't try" },
        { "an open 'quote", "an open 'quote" },
        { "'", "'" },
        { "job 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44 is gone", "job <id> is gone" },
        { "commit 9f3a01c2b7de", "commit <id>" },
        { "request 3kTbX9QmZaPq81Lm", "request <id>" },
        { "deadbeef cafe", "deadbeef cafe" },  // words, not digits
        { "utf8 to sha256", "utf<n> to sha<n>" },
        { "connect to 10.0.0.7:5432", "connect to <n>" },
        { "line one\n\tline   two\r\n", "line one line two" },
        { "caf\xc3\xa9 7", "caf\xc3\xa9 <n>" },
        { "</a/b/c.py>, line 12", "</a/b/c.py>, line <n>" },
    };
    for (size_t i = 0; i < countof(cases); i++)
        expect_str(error_pattern(test_arena(), str_of(cases[i].message)),
                   str_of(cases[i].pattern), PLACE(cases[i].message));
}

TEST(OPS_8_a_pattern_is_bounded_and_ends_with_a_whole_character)
{
    struct buf text = buf_new(test_arena(), SIZE_MAX);
    buf_add_char(&text, 'a');
    for (int i = 0; i < 4000; i++)
        buf_add(&text, S("\xc3\xa9"));
    struct str pattern = error_pattern(test_arena(), buf_str(&text));
    EXPECT(pattern.n <= PATTERN_BYTES_MAX && pattern.n > PATTERN_BYTES_MAX - 4);
    EXPECT(utf8_valid(pattern));
}

TEST(OPS_8_no_message_keeps_a_number_or_a_line_break)
{
    static const char *const pieces[] = { "'", "\"", "`", "a", "7", "-", "_", ".", ",", " ", "\n",
                                          "\xc3\xa9", "deadbeef", "0198c7a2", "<n>", "\xff" };
    uint64_t dice = 1;
    for (int round = 0; round < 20000; round++) {
        SCOPED(arena) struct arena arena = {0};
        struct buf text = buf_new(&arena, 4096);
        for (int i = 0; i < 12; i++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            buf_add(&text, str_of(pieces[(dice >> 33) % countof(pieces)]));
        }
        struct str pattern = error_pattern(&arena, buf_str(&text));
        EXPECT(!pattern.n || !memchr(pattern.s, '7', pattern.n));
        EXPECT(!pattern.n || !memchr(pattern.s, '\n', pattern.n));
    }
}

TEST(OPS_8_a_fingerprint_is_of_type_kind_and_pattern_and_stays_the_same_for_ever)
{
    struct arena *a = test_arena();
    struct str one = fingerprint(a, S("report.export"), S("transient"), S("order <n> failed"));
    EXPECT_STR(one, "7d6673372021");
    EXPECT(fingerprint_valid(one));
    EXPECT(str_eq(one, fingerprint(a, S("report.export"), S("transient"), S("order <n> failed"))));
    EXPECT(!str_eq(one, fingerprint(a, S("report"), S("transient"), S("order <n> failed"))));
    EXPECT(!str_eq(one, fingerprint(a, S("report.export"), S("timeout"), S("order <n> failed"))));
    EXPECT(!str_eq(one, fingerprint(a, S("report.export"), S("transient"), S("order failed"))));
    EXPECT(!str_eq(fingerprint(a, S("a"), S("b\nc"), S("d")),
                   fingerprint(a, S("a"), S("b"), S("d\nc"))));
    EXPECT(!fingerprint_valid(S("")) && !fingerprint_valid(S("0123456789AB"))
           && !fingerprint_valid(S("0123456789a")) && !fingerprint_valid(S("0123456789abc")));
}

static struct str diff(const char *before, const char *after)
{
    SCOPED(json) json_t *old = json_of(str_of(before)), *new = json_of(str_of(after));
    SCOPED(json) json_t *changes = payload_diff(test_arena(), old, new);
    return json_text(test_arena(), changes);
}

TEST(OPS_8_a_diff_names_every_place_that_differs)
{
    EXPECT_STR(diff("{}", "{}"), "[]");
    EXPECT_STR(diff("{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}"), "[]");
    EXPECT_STR(diff("{\"a\":1}", "{\"a\":2}"), "[{\"path\":\"/a\",\"before\":1,\"after\":2}]");
    EXPECT_STR(diff("{\"a\":1}", "{}"), "[{\"path\":\"/a\",\"before\":1,\"after\":null}]");
    EXPECT_STR(diff("{}", "{\"a\":{}}"), "[{\"path\":\"/a\",\"before\":null,\"after\":{}}]");
    EXPECT_STR(diff("{\"a\":{\"b\":[1,{\"c\":2}]}}", "{\"a\":{\"b\":[1,{\"c\":3}]}}"),
               "[{\"path\":\"/a/b/1/c\",\"before\":2,\"after\":3}]");
    EXPECT_STR(diff("{\"l\":[1,2,3]}", "{\"l\":[1]}"),
               "[{\"path\":\"/l/1\",\"before\":2,\"after\":null},"
               "{\"path\":\"/l/2\",\"before\":3,\"after\":null}]");
    EXPECT_STR(diff("{\"a/b~c\":1}", "{\"a/b~c\":\"1\"}"),
               "[{\"path\":\"/a~1b~0c\",\"before\":1,\"after\":\"1\"}]");
    EXPECT_STR(diff("{\"a\":{\"b\":1}}", "{\"a\":[1]}"),
               "[{\"path\":\"/a\",\"before\":{\"b\":1},\"after\":[1]}]");
}

TEST(OPS_8_a_diff_of_everything_is_bounded)
{
    struct buf text = buf_new(test_arena(), SIZE_MAX);
    buf_add(&text, S("{\"a\":["));
    for (int i = 0; i < 5000; i++)
        buf_add(&text, i ? S(",1") : S("1"));
    buf_add(&text, S("]}"));
    SCOPED(json) json_t *old = json_of(buf_str(&text)), *new = json_of(S("{\"a\":[]}"));
    SCOPED(json) json_t *changes = payload_diff(test_arena(), old, new);
    EXPECT_INT(json_array_size(changes), CHANGES_MAX);
}
